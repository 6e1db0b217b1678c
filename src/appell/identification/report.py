"""The page of an identification."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from appell.errors import AppellError
from appell.report import Picture, Report
from appell.table import Table

if TYPE_CHECKING:
    from appell.identification.result import Identification


def report(found: Identification) -> Report:
    """Errors, parameters, links and formulas as tables, forces and uncertainty as pictures."""
    notes = found.notes
    try:
        from appell.identification.plot import parameter_picture

        pictures = (
            Picture.from_figure(found.plot(), "Measured and predicted forces"),
            Picture.from_figure(parameter_picture(found), "Base parameters in units of their standard errors"),
        )
    except AppellError as error:  # matplotlib is not there
        pictures, notes = (), (*notes, f"Pictures are left out: {error}")
    tables = (found.error_table(), replace(found.table(), notes=()), links_table(found), found.base.table())
    return Report(f"{found.source.name}: identified parameters", "", notes, tables, pictures)


def links_table(found: Identification) -> Table:
    """All inertial parameters, a row a link, and whether a body can have them."""
    from appell.identification.naming import TEN

    links = found.source.tree.links
    ten = found.parameters[: 10 * len(links)].reshape(-1, 10)
    rows = tuple(
        (link.body, *map(float, values), "yes" if ok else "no")
        for link, values, ok in zip(links, ten, found.consistent, strict=True)
    )
    note = "At the origin and along the axes of the body [kg, kg m, kg m²]; where motion tells combinations only, the nearest."
    return Table("Links", ("link", *TEN, "can exist"), rows, (note,))
