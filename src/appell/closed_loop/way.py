"""The way round a loop, joint by joint, seen from the closure's first frame.

From the first frame inwards to the link that both ends hang on, then outwards to the second. What carries the whole loop
does not enter, and a joint next to the first frame keeps its zeros. For joint i with unit twist (w, u) at its origin p_i,
and + on the outward way, - on the inward one, the second frame's origin d and rotation Q change with
    d_i = ± (u + w x (d - p_i))        ω_i = ± w
and, as w and u are fixed in link i, which turns at ω and whose origin moves at ṗ_i, these columns change with
    ḋ_i = ± (ω x u + (ω x w) x (d - p_i) + w x (ḋ - ṗ_i))        ω̇_i = ± ω x w.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from appell.algebra import ZERO, Mat3, Scalar, Vec3
from appell.closed_loop.closures import ClosureKind
from appell.model.joints import Twist
from appell.model.tree import BASE, Frame, Placement, Tree


@dataclass(frozen=True)
class Loop:
    """A closure on a tree.

    Attributes:
        first, second: its frames in the links that carry them; z is its axis.
        inward: links on the way from the first frame to the link that both ends hang on.
        outward: links on the way from there to the second frame.
        axes: rotation of the closure's axes in the frame of the first body, for forces.
    """

    name: str
    kind: ClosureKind
    first: Frame
    second: Frame
    inward: tuple[int, ...]
    outward: tuple[int, ...]
    axes: Mat3

    @classmethod
    def on(cls, tree: Tree, name: str, kind: ClosureKind, first: Frame, second: Frame, axes: Mat3) -> Loop:
        """Find the way between the frames."""
        inward, outward = (tree.ancestors(frame.link) if frame.link != BASE else [] for frame in (first, second))
        shared = set(inward) & set(outward)
        return cls(
            name, kind, first, second,
            tuple(i for i in inward if i not in shared), tuple(i for i in reversed(outward) if i not in shared), axes,
        )  # fmt: skip


class Crossing(NamedTuple):
    """A joint on the way: its link's rotation and origin in the first frame, and how they move there."""

    link: int
    sign: float
    R: Mat3
    p: Vec3
    omega: Vec3
    v: Vec3


class Way(NamedTuple):
    """The joints on the way, and the second frame at its end: origin d, rotation Q, their rates v and omega."""

    crossings: list[Crossing]
    d: Vec3
    Q: Mat3
    v: Vec3
    omega: Vec3

    def column(self, at: Crossing, twist: Twist) -> Twist:
        """What a twist of a joint, in its link's frame, does to the second frame."""
        w, u = at.R @ twist.angular, at.R @ twist.linear
        return Twist(w * at.sign, (u + w.cross(self.d - at.p)) * at.sign)

    def column_rate(self, at: Crossing, twist: Twist) -> Twist:
        """How `column` of a twist that is constant in the link's frame changes."""
        w, u = at.R @ twist.angular, at.R @ twist.linear
        wd = at.omega.cross(w)
        linear = at.omega.cross(u) + wd.cross(self.d - at.p) + w.cross(self.v - at.v)
        return Twist(wd * at.sign, linear * at.sign)


def walk(tree: Tree, places: Sequence[Placement], loop: Loop, qd: Sequence[Scalar] | None = None) -> Way:
    """Follow a loop; at rest where the speeds of the joints are not given."""
    speeds = [0.0] * tree.nv if qd is None else qd
    R, omega, v = loop.first.R.T, ZERO, ZERO
    p = -(R @ loop.first.p)
    crossings = []
    for i in loop.inward:
        link, (turn, s) = tree.links[i], places[i]
        crossings.append(Crossing(i, -1.0, R, p, omega, v))
        joint = link.kind.twist(link.velocities(speeds))
        omega, v = omega - R @ joint.angular, v - R @ joint.linear
        R = turn.rotate_columns(R.T).T  # R_link R^T: from the parent
        arm = R @ s
        p, v = p - arm, v - omega.cross(arm)
    for i in loop.outward:
        link, (turn, s) = tree.links[i], places[i]
        arm = R @ s
        p, v = p + arm, v + omega.cross(arm)
        R = turn.T.rotate_columns(R.T).T  # R_parent R
        joint = link.kind.twist(link.velocities(speeds))
        omega, v = omega + R @ joint.angular, v + R @ joint.linear
        crossings.append(Crossing(i, 1.0, R, p, omega, v))
    arm = R @ loop.second.p
    return Way(crossings, p + arm, R.dot(loop.second.R), v + omega.cross(arm), omega)
