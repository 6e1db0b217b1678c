"""Operations of a function in the form in which it is written."""

from __future__ import annotations

from collections import Counter

from appell.compiler.count import Counts
from appell.compiler.forms import Form, StraightLine
from appell.compiler.listing import Listing

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
    assert isinstance(form, StraightLine)
    return Counts(**{kind: count_listing(form.planned.listed)[kind] for kind in Counts._fields})


def count_listing(listed: Listing) -> Counter[str]:
    """Operations by kind."""
    return Counter(KINDS[operation.name] for operation in listed.operations if operation.name in KINDS)
