"""Derivatives of the Jacobian of a frame in rolled form."""

from __future__ import annotations

from appell.algebra import ZERO, Mat3, Scalar, Twist, Vec3
from appell.algorithms.kinematics import DERIVATIVES, WorldMotion, column_of, moved_frame, moved_link
from appell.compiler.rolled.sweep import AncestorPass, Elements, LinkPass, Program, StepInput, StepOutput
from appell.model.tree import Frame, Tree


def jacobian_derivatives(tree: Tree, frame: Frame, reference: str) -> Program:
    """Columns of the Jacobian, then derivatives of each by every joint (`appell.algorithms.kinematics`)."""
    at_base = WorldMotion(tree.base, ZERO, ZERO, ZERO)
    by_joint_before, by_joint_beyond = DERIVATIVES[reference]

    def outward(visit: StepInput, parent: WorldMotion) -> StepOutput:
        own = moved_link(visit.link, visit.place, parent, [0.0] * visit.link.kind.nv)
        return StepOutput(own, {"motion": own})

    def inward(visit: StepInput, carried: tuple[Scalar, Mat3, Vec3]) -> StepOutput:
        """The frame's placement, and 1, for the joints that move it."""
        if visit.alone:
            end = moved_frame(visit.kept["motion"], frame)
            carried = 1.0, end.R, end.p
        moves, R, p = carried
        own, end = visit.kept["motion"], at_base._replace(R=R, p=p)
        units = own.units(visit.link.kind.motion_subspace())
        columns = [column_of(end, own, unit, reference) for unit in units]
        return StepOutput(carried, {"columns": tuple(each.times(moves) for each in columns), "R": R})

    def entries(derivative: Twist) -> list[Scalar]:
        return [*derivative.linear, *derivative.angular]

    def own(visit: StepInput, degree: int) -> list[list[Scalar]]:
        R, columns = visit.kept["R"], visit.kept["columns"]
        return [entries(by_joint_before(R, column, columns[degree])) for column in columns]

    def meet(visit: StepInput, below: tuple[Mat3, Twist]) -> list[Elements]:
        R, column = below
        both = ((by_joint_beyond(R, own, column), by_joint_before(R, column, own)) for own in visit.kept["columns"])
        return [Elements(entries(row), entries(across)) for row, across in both]

    climb = AncestorPass(
        begin=lambda visit: [(visit.kept["R"], column) for column in visit.kept["columns"]],
        own=own,
        carry=lambda visit, below: below,
        meet=meet,
        matrices=6,
        stacked=True,
    )
    nowhere = 0.0, Mat3(*[0.0] * 9), ZERO
    sweeps = LinkPass(False, at_base, outward), LinkPass(True, nowhere, inward)
    return Program(("q",), sweeps, climb, alone=frame.link)
