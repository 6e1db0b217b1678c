"""What `appell.identify` is told beside the recording, checked and named before any work is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from appell.errors import ArgumentError
from appell.identification.transmission import Transmission

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from appell.robot.robot import Robot


def refuse_split(hold_out: Any, block: Any) -> None:
    """Blocks of time of some length, of which every so-many-th is held out, but not all."""
    if not _number(hold_out) or int(hold_out) != hold_out or hold_out < 0 or hold_out == 1:
        raise ArgumentError(
            f"hold_out is {hold_out!r}, expected 0 (fit everything) or a whole number from 2: every so-many-th block of time "
            "is left out of the fit."
        )
    refuse_unless_positive("block", block, "the length of the blocks of time [s]")


def refuse_unless_positive(name: str, value: Any, meaning: str) -> None:
    if not _number(value) or value <= 0:
        raise ArgumentError(f"{name} is {value!r}, expected a positive number: {meaning}.")


def refuse_other_structure(robot: Robot, prior: Any) -> None:
    """A prior whose links are not those of the robot, one for one."""
    own, other = (_links(each) for each in (robot, prior))
    if own == other:
        return
    if other is None:
        raise ArgumentError(f"prior is of type {type(prior).__name__}, expected a plain robot as {robot.name!r} is.")
    differs = next((k for k, pair in enumerate(zip(own or (), other, strict=False)) if pair[0] != pair[1]), None)
    where = "" if differs is None else f" They differ from joint {robot.tree.links[differs].name!r} on."
    raise ArgumentError(
        f"prior {prior.name!r} is not of the same structure as {robot.name!r}: {len(other)} moving links, expected "
        f"{len(own or ())} with the same kinds of joints and the same parents.{where}"
    )


def numbers_of_speeds(name: str, values: Any, robot: Robot) -> np.ndarray:
    """A positive number for every speed, (nv,)."""
    found = _array(name, values)
    if found.shape != (robot.nv,) or not (np.isfinite(found) & (found > 0)).all():
        got = f"has shape {found.shape}" if found.shape != (robot.nv,) else f"is {found.tolist()}"
        raise ArgumentError(f"{name} {got}, expected ({robot.nv},) positive numbers, one for each speed, or a name.")
    return found


def drive_gains(gains: ArrayLike, robot: Robot) -> np.ndarray:
    """Gains as a matrix, (nv, nv)."""
    found, n = _array("gains", gains), robot.nv
    if found.shape not in ((), (1,), (n,), (n, n)) or not np.isfinite(found).all():
        got = f"has shape {found.shape}" if np.isfinite(found).all() else f"is {found.tolist()}"
        raise ArgumentError(
            f"gains {got}, expected ({n},) finite numbers, one for each of {', '.join(robot.joint_names)}, or ({n}, {n})."
        )
    return found if found.ndim == 2 else np.diag(np.broadcast_to(found, n))


def refuse_transmission(transmission: Transmission, robot: Robot) -> None:
    """A transmission between other numbers of motors and joints than the robot has, or of other than plain joints."""
    n = len(transmission.matrix)
    if (robot.nq, robot.nv) != (n, n):
        raise ArgumentError(
            f"transmission is of {n} joints, {robot.name!r} has {robot.nq} coordinates and {robot.nv} speeds."
        )


def recorded_rates(name: str, values: ArrayLike | None, robot: Robot, samples: int) -> np.ndarray | None:
    """Speeds or accelerations that were recorded, as numbers (N, nv); None where they were not."""
    if values is None:
        return None
    found = _array(name, values)
    if found.shape != (samples, robot.nv):
        raise ArgumentError(
            f"{name} has shape {found.shape}, expected ({samples}, {robot.nv}): a row for each of the recording's {samples} "
            "samples, as t, q and tau have, and a column for each speed."
        )
    if not np.isfinite(found).all():
        row, column = np.argwhere(~np.isfinite(found))[0]
        raise ArgumentError(f"{name}[{row}, {column}] is {found[row, column]}, expected finite numbers.")
    return found


def _links(robot: Any) -> list[tuple[int, str]] | None:
    """Parent and kind of joint of every moving link; None for what is no plain robot."""
    from appell.robot.robot import Robot

    if not isinstance(robot, Robot):
        return None
    kinds = {joint.name: joint.kind for joint in robot.joints}
    turning = {"continuous": "revolute"}  # the same joint but for its limits
    return [(link.parent, turning.get(kinds[link.name], kinds[link.name])) for link in robot.tree.links]


def _array(name: str, values: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ArgumentError(f"{name} is {values!r}, expected numbers.") from None


def _number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool) and bool(np.isfinite(value))
