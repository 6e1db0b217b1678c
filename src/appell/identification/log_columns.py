"""Columns of logs by their labels, where these are not this library's: Universal Robots, Franka, and others.

A label is split into words and an index: `actual_q_0`, `state.tau_J[0]`, `/joint_states/elbow_joint/position`, `field.effort0`.
The words give the quantity, a joint's name or the index gives the joint. Indices count from 0 or 1, as the lowest one shows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

QUANTITIES = {
    "q": ("q", "position", "positions", "pos", "actual_q", "q_m", "angle"),
    "qd": ("qd", "dq", "velocity", "velocities", "vel", "actual_qd", "v"),
    "tau": (
        "tau",
        "effort",
        "efforts",
        "torque",
        "torques",
        "tau_j",
        "measured_torque",
        "joint_torque",
        "tau_measured",
    ),
    "current": ("current", "currents", "actual_current", "i", "i_actual", "motor_current"),
}
"""Words for each quantity; the whole label without the joint is compared first, then its last word."""

COMMANDED = re.compile(r"(^|[_./ ])(target|desired|des|cmd|command|ref|reference|d|ext|dtau|filtered|error)([_./ ]|$)")
"""Labels of commanded, external or derived signals; they are not measurements of the joints."""

UNIT = re.compile(r"\[[^\]\d]*\]|\([^)\d]*\)")
TIMES = ("t", "time", "timestamp", "stamp", "%time", "__time", "times", "sec", "seconds", "duration", "rosbagtimestamp")
TIME_UNITS = {"ns": 1e-9, "nsec": 1e-9, "us": 1e-6, "ms": 1e-3, "msec": 1e-3, "s": 1.0, "sec": 1.0}


@dataclass(frozen=True)
class LogColumns:
    """Indices of columns: of the time, and for each quantity of the joints found, {quantity: {joint: column}}."""

    time: int | None
    time_unit: float | None
    quantities: dict[str, dict[int, int]] = field(default_factory=dict)


def find_columns(header: Sequence[str], joints: Sequence[str]) -> LogColumns:
    """The columns of a log, for joints in the order of the robot.

    Example:
        >>> found = find_columns(["timestamp", "actual_q_0", "actual_q_1", "actual_current_0", "actual_current_1"], ["a", "b"])
        >>> found.time, found.quantities
        (0, {'q': {0: 1, 1: 2}, 'current': {0: 3, 1: 4}})
    """
    named: dict[str, dict[int, int]] = {}
    numbered: dict[str, dict[str, dict[int, int]]] = {}  # quantity -> words -> index -> column
    for column, label in enumerate(header):
        joint, rest = _joint_of(label, joints)
        if joint is not None:
            quantity = _quantity(rest)
            if quantity:
                named.setdefault(quantity, {}).setdefault(joint, column)
            continue
        match = re.fullmatch(r"(.*?)[\[_]?(\d+)\]?(\D*)", UNIT.sub("", label).strip())
        words = f"{match[1]} {match[3]}" if match else ""
        quantity = _quantity(words)
        if match and quantity:
            numbered.setdefault(quantity, {}).setdefault(words.lower(), {}).setdefault(int(match[2]), column)
    quantities = {}
    for quantity in QUANTITIES:
        own = named.get(quantity, {})
        groups = numbered.get(quantity, {}).values()
        best = max(groups, key=len, default={})
        first = 0 if 0 in best or (len(joints) == 1 and not best) else 1
        shown = {k - first: column for k, column in best.items() if 0 <= k - first < len(joints)}
        if {**shown, **own}:
            quantities[quantity] = dict(sorted({**shown, **own}.items()))
    return LogColumns(*_time(header), quantities)


def _joint_of(label: str, joints: Sequence[str]) -> tuple[int | None, str]:
    """The joint that a label names, the longest name first, and the label without it."""
    for k in sorted(range(len(joints)), key=lambda k: -len(joints[k])):
        former = joints[k].replace("[", ".").removesuffix("]")  # joint[k] was joint.k in version 0.1
        for name in {joints[k], former}:
            match = re.search(rf"(^|[^A-Za-z0-9]){re.escape(name)}($|[^A-Za-z0-9\[])", label)
            if match:
                return k, f"{label[: match.start()]}{match[1]} {match[2]}{label[match.end() :]}"
    return None, label


def _quantity(label: str) -> str | None:
    """The measured quantity that a label names, without the joint."""
    text = UNIT.sub(" ", label.lower())
    if COMMANDED.search(text):
        return None
    words = [word.strip("_") for word in re.split(r"[/.\s]+", text) if word.strip("_")]
    for word in reversed([*(word.rsplit("_", 1)[-1] for word in words), *words]):
        for quantity, known in QUANTITIES.items():
            if word in known:
                return quantity
    return None


def _time(header: Sequence[str]) -> tuple[int | None, float | None]:
    """Column and unit [s] of the time; None for a unit that the label does not show."""
    for column, label in enumerate(header):
        text = label.strip().lower()
        unit = re.search(r"[\[(_ ](ns|nsec|us|ms|msec|s|sec)[\])]?$", text)
        word = text[: unit.start()] if unit else text
        if word.strip("_ /") in TIMES or text in TIMES or word.rsplit(".", 1)[-1] in ("stamp", "timestamp"):
            known = 1e-9 if text == "%time" else None
            return column, TIME_UNITS[unit[1]] if unit else known
    return None, None
