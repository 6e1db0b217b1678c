"""Which speeds of a joint turn its child, and which only slide it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appell.model.joints import KINDS

if TYPE_CHECKING:
    from appell.model.joint import Joint


def turns(joint: Joint) -> tuple[bool, ...]:
    """For each speed of a joint, whether it turns (rad) or slides (m).

    Example:
        >>> from appell.model.joint import Joint
        >>> turns(Joint("knee", "universal", "a", "b")), turns(Joint("slide", "prismatic", "a", "b"))
        ((True, True), (False,))
    """
    parts = KINDS[joint.kind].parts(joint)
    return tuple(any(float(x) != 0.0 for x in twist.angular) for part, _ in parts for twist in part.motion_subspace())
