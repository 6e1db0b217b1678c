"""Operations of a function in the form in which it is written."""

from __future__ import annotations

from collections import Counter

from appell.compiler.count import Counts
from appell.compiler.forms import Form, StraightLine
from appell.compiler.listing import Listing
from appell.compiler.rolled.form import Rolled

KINDS = {
    **dict.fromkeys(("mul", "sq"), "mul"),
    **dict.fromkeys(("add", "sub", "twice"), "add"),
    **dict.fromkeys(("div", "inv", "sqrt"), "div"),
    **dict.fromkeys(("sin", "cos"), "trig"),
}


def count_form(form: Form) -> Counts:
    """Products, sums, divisions (square roots included), sines and cosines of one evaluation.

    Nothing is free here but changes of sign: this is what the processor does, not what a paper counts.
    """
    found = in_loops(form) if isinstance(form, Rolled) else in_straight_line(form)
    return Counts(**{kind: found[kind] for kind in Counts._fields})


def in_straight_line(form: Form) -> Counter[str]:
    return of_listing(form.planned.listed) if isinstance(form, StraightLine) else Counter()


def in_loops(form: Rolled) -> Counter[str]:
    """Steps times the links that take them; sine and cosine are taken once a link."""
    total: Counter[str] = Counter()
    links, slots = form.links, form.branches
    for sweep in form.sweeps:
        counts = [of_listing(step.listed) for step in sweep.steps]
        for i, link in enumerate(links):
            total += counts[link.group]
            if sweep.inward:  # what children hand over is added up where branches meet
                meetings = (i in slots) + (link.parent in slots and link.parent != i - 1)
                total["add"] += meetings * len(sweep.alive)
    climbs = [[of_listing(step.listed) for step in (*climb.begin, climb.carry, climb.meet)] for climb in form.climb]
    for link in links if climbs else ():
        *begins, _, _ = climbs[link.group]
        for begin in begins:
            total += begin
            below = link
            while below.parent >= 0:
                total += climbs[below.group][-2] + climbs[links[below.parent].group][-1]
                below = links[below.parent]
    total["trig"] = 2 * form.angle_count
    return total


def of_listing(listed: Listing) -> Counter[str]:
    """Operations by kind."""
    return Counter(KINDS[operation.name] for operation in listed.operations if operation.name in KINDS)
