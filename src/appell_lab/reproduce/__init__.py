"""Tables of the papers, regenerated: `reproduce("mata2002")`. One paper is one file here, listed in PAPERS."""

from __future__ import annotations

from importlib import import_module

from appell.errors import ArgumentError, unknown_name_message
from appell_lab.reproduce.reproduction import Reproduction

PAPERS = ("mata2002", "valera2003", "provenzano2002", "shafei2018", "abedloo2014")
"""Each is a module here with a function `reproduce()`."""


def reproduce(paper: str) -> Reproduction:
    """The tables of a paper, printed and computed values side by side.

    Example:
        >>> from appell_lab.reproduce import reproduce
        >>> [table.title for table in reproduce("provenzano2002").tables][:2]
        ['Table 1. Forward dynamics by its parts', 'Table 2. Forward dynamics, n = 6']
    """
    if paper not in PAPERS:
        raise ArgumentError(unknown_name_message("paper", paper, PAPERS))
    return import_module(f"{__name__}.{paper}").reproduce()


__all__ = ["PAPERS", "Reproduction", "reproduce"]
