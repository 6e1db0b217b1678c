"""What can go wrong with the simulated robot, on purpose.

A fault is a name, the joint it strikes where it strikes one, and when: `overheat:2@1.5`, `die@0.8`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from appell.errors import ArgumentError, unknown_name_message

ON_A_JOINT = ("overheat", "encoder")
"""A motor's thermal switch opens; channel A of an encoder breaks."""
ON_ALL = ("die", "hang")
"""The plant's process ends without a word; it stops answering."""


class Fault(NamedTuple):
    """One fault: `joint` counts from 0, `time` is the plant's. [s]"""

    kind: str
    joint: int
    time: float


def parse_fault(text: str, n: int) -> Fault:
    """Read a fault of a robot with n joints; joints count from 1 in words.

    Example:
        >>> parse_fault("overheat:2@1.5", 6)
        Fault(kind='overheat', joint=1, time=1.5)
    """
    found = re.fullmatch(r"(\w+)(?::(\d+))?@(\d+\.?\d*)", text.strip())
    if found is None:
        raise ArgumentError(f"fault {text!r} is not understood, expected such as overheat:2@1.5 or die@0.8.")
    kind, joint, time = found[1], int(found[2] or 0), float(found[3])
    if kind not in (*ON_A_JOINT, *ON_ALL):
        raise ArgumentError(unknown_name_message("fault", kind, (*ON_A_JOINT, *ON_ALL)))
    if kind in ON_A_JOINT and not 1 <= joint <= n:
        raise ArgumentError(f"fault {text!r} strikes joint {joint}, expected 1 to {n}.")
    return Fault(kind, joint - 1, time)
