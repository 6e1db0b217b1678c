"""The functions that exist in rolled form, made of the steps of their algorithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from appell.algebra import ZERO, Inertia, Mat3, Scalar, Sym3, Twist, Vec3, Wrench, is_zero
from appell.algorithms.common_frame import (
    AT_ORIGIN,
    AT_REST,
    BASE_STATE,
    GroupMomentum,
    LinkState,
    combined,
    crossed,
    first_link,
    next_state,
    own_body,
    power,
)
from appell.algorithms.coriolis_matrix import (
    SubtreeIntegrals,
    element_above,
    element_below,
    subtree_integrals,
    unit_twists_of,
)
from appell.algorithms.derivatives.analytic import MovedSubtree, accelerated, forces_above, forces_below, moved_by
from appell.algorithms.energy import gibbs_function_of, kinetic_energy_of, link_twist
from appell.algorithms.forward_dynamics.articulated import (
    ArticulatedInertia,
    EliminatedDof,
    accelerate,
    eliminate,
    eliminate_forces,
    gyroscopic_wrench,
    propagate_bias_force,
    step_velocity,
)
from appell.algorithms.function_spec import FunctionSpec
from appell.algorithms.inverse_dynamics.mata2002 import (
    LinkMotion,
    at_rest,
    body_force,
    joint_forces,
    step_inward,
    step_outward,
)
from appell.algorithms.mass_matrix.composite import CompositeBody, moments_at, point_at
from appell.algorithms.regressor import in_link, motion_of_body, unit_wrenches
from appell.algorithms.system import find_for
from appell.compiler.rolled.form import Rolled
from appell.compiler.rolled.jacobian_derivatives import jacobian_derivatives
from appell.compiler.rolled.link_parallel import LinkParallel
from appell.compiler.rolled.options import with_options
from appell.compiler.rolled.second_derivatives import second_derivatives
from appell.compiler.rolled.sweep import AncestorPass, Elements, LinkPass, Program, StepInput, StepOutput
from appell.model.parameters import PER_LINK, lumped
from appell.model.tree import Frame, Placement, Tree

NO_WRENCH = Wrench(ZERO, ZERO)
NO_TENSOR = Sym3(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
NO_GROUP = GroupMomentum(Inertia(0.0, ZERO, NO_TENSOR), ZERO, Mat3(*[0.0] * 9))


def inverse_dynamics(tree: Tree, inputs: tuple[str, ...] = ("q", "qd", "qdd")) -> Program:
    """Mata 2002, section 4.1. Speeds and accelerations that are no inputs are zero."""

    def outward(visit: StepInput, parent) -> StepOutput:
        motion = step_outward(visit.link, visit.place, parent, visit.own["qd"], visit.own["qdd"])
        return StepOutput(motion, {"force": visit.less_external(body_force(visit.link, motion))})

    def inward(visit: StepInput, carried: Wrench) -> StepOutput:
        total = visit.kept["force"].plus(carried)
        return StepOutput(step_inward(visit.place, total), result=joint_forces(visit.link, total, visit.own["qdd"]))

    return Program(inputs, (LinkPass(False, at_rest(tree), outward), LinkPass(True, NO_WRENCH, inward)))


def kinetic_energy(tree: Tree) -> Program:
    """Energies of the links, one by one."""

    def outward(visit: StepInput, parent: Twist) -> StepOutput:
        twist = link_twist(visit.link, visit.place, parent, visit.own["qd"])
        return StepOutput(twist, result=[kinetic_energy_of(visit.link, twist, visit.own["qd"])])

    return Program(("q", "qd"), (LinkPass(False, AT_REST, outward),), sums=True)


def gibbs_function(tree: Tree) -> Program:
    """Mata 2002, (3) and (4), link by link."""

    def outward(visit: StepInput, parent: LinkMotion) -> StepOutput:
        (com, inertia), qdd = visit.more, visit.own["qdd"]
        motion = step_outward(visit.link, visit.place, parent, visit.own["qd"], qdd)
        return StepOutput(motion, result=[gibbs_function_of(visit.link, com, inertia, motion, qdd)])

    more = tuple((link.inertia.com, link.inertia.inertia) for link in tree.links)
    return Program(("q", "qd", "qdd"), (LinkPass(False, at_rest(tree), outward),), sums=True, more=more)


def forward_dynamics(tree: Tree) -> Program:
    """Articulated bodies."""

    def velocities(visit: StepInput, before) -> StepOutput:
        omega, drift = step_velocity(visit.link, visit.place, before, visit.own["qd"])
        push = visit.less_external(gyroscopic_wrench(visit.link, omega))
        return StepOutput(omega, {"push": push, "drift": drift})

    def inward(visit: StepInput, carried: tuple[ArticulatedInertia, Wrench]) -> StepOutput:
        inertia, push = carried
        freed, left = eliminate(visit.link, ArticulatedInertia.of(visit.link).plus(inertia))
        residues, push = eliminate_forces(freed, visit.own["tau"], visit.kept["push"].plus(push))
        handed = left.transformed(*visit.place), propagate_bias_force(visit.place, left, push, visit.kept["drift"])
        return StepOutput(
            handed, {"freed": tuple((U, inverse) for _, U, inverse in freed), "residues": tuple(residues)}
        )

    def outward(visit: StepInput, parent: Twist) -> StepOutput:
        units = visit.link.kind.motion_subspace()
        freed = [EliminatedDof(unit, *rest) for unit, rest in zip(units, visit.kept["freed"], strict=True)]
        result, own = accelerate(freed, list(visit.kept["residues"]), visit.place, parent, visit.kept["drift"])
        return StepOutput(own, result=result)

    nothing = ArticulatedInertia(NO_TENSOR, Mat3(*[0.0] * 9), NO_TENSOR), NO_WRENCH
    return Program(
        ("q", "qd", "tau"),
        (
            LinkPass(False, ZERO, velocities),
            LinkPass(True, nothing, inward),
            LinkPass(False, Twist(ZERO, -tree.gravity), outward),
        ),
    )


def mass_matrix(tree: Tree) -> Program:
    """Composite bodies, Walker and Orin."""

    def composites(visit: StepInput, carried: CompositeBody) -> StepOutput:
        body = CompositeBody.of(visit.link).plus(carried)
        handed = point_at(visit.place, body).plus(moments_at(visit.place, body))
        return StepOutput(
            handed, {"wrenches": tuple(body.inertia_force(unit) for unit in visit.link.kind.motion_subspace())}
        )

    def own(visit: StepInput, degree: int) -> list[list[Scalar]]:
        wrench = visit.kept["wrenches"][degree]
        entries = list(visit.link.kind.project(wrench.moment, wrench.force))
        return [[x + visit.link.armature if a == degree else x] for a, x in enumerate(entries)]

    climb = AncestorPass(
        begin=lambda visit: visit.kept["wrenches"],
        own=own,
        carry=lambda visit, wrench: step_inward(visit.place, wrench),
        meet=lambda visit, wrench: [Elements([x], [x]) for x in visit.link.kind.project(wrench.moment, wrench.force)],
    )
    return Program(("q",), (LinkPass(True, CompositeBody(0.0, ZERO, NO_TENSOR), composites),), climb)


def common_link(tree: Tree) -> int | None:
    """The link whose frame is the common one: the first, if its joint can carry it away from the base; else the base is."""
    first = first_link(tree)
    moves = first is not None and any(any(unit.linear) for unit in tree.links[first].kind.motion_subspace())
    return first if moves else None


def place_in_common_frame(visit: StepInput) -> Placement:
    """Of a link in its parent."""
    return AT_ORIGIN if visit.alone else visit.place


def coriolis_matrix(tree: Tree) -> Program:
    """Integrals over subtrees, all in one frame."""

    def outward(visit: StepInput, parent: LinkState) -> StepOutput:
        state = next_state(visit.link, place_in_common_frame(visit), parent, visit.own["qd"])
        return StepOutput(
            state._replace(units=()), {"joint": unit_twists_of(state), "group": own_body(visit.link, state)}
        )

    def inward(visit: StepInput, carried: GroupMomentum) -> StepOutput:
        group = visit.kept["group"].plus(carried)
        return StepOutput(group, {"integrals": tuple(subtree_integrals(unit, group) for unit in visit.kept["joint"])})

    def own(visit: StepInput, degree: int) -> list[list[Scalar]]:
        return [[element_above(unit, visit.kept["integrals"][degree])] for unit in visit.kept["joint"]]

    def meet(visit: StepInput, column: SubtreeIntegrals) -> list[Elements]:
        return [Elements([element_above(unit, column)], [element_below(unit, column)]) for unit in visit.kept["joint"]]

    climb = AncestorPass(
        begin=lambda visit: visit.kept["integrals"], own=own, carry=lambda visit, column: column, meet=meet
    )
    sweeps = LinkPass(False, BASE_STATE, outward), LinkPass(True, NO_GROUP, inward)
    return Program(("q", "qd"), sweeps, climb, alone=common_link(tree))


def regressor(tree: Tree) -> Program:
    """Wrenches of the unit parameters (`appell.algorithms.regressor`), projected on all joints in one frame."""

    def outward(visit: StepInput, parent: tuple[LinkMotion, LinkState]) -> StepOutput:
        link, (R, p) = visit.link, visit.more
        motion = step_outward(link, visit.place, parent[0], visit.own["qd"], visit.own["qdd"])
        state = next_state(link, place_in_common_frame(visit), parent[1], [0.0] * link.kind.nv)
        body = LinkState(state.R.dot(R), state.p + state.R @ p, state.v)
        wrenches = [body.common(each) for each in unit_wrenches(link, motion_of_body(in_link(R, p), motion))]
        columns = tuple(wrenches[:4]), tuple(each.moment for each in wrenches[4:])  # inertia gives moments alone
        rotor = None if is_zero(link.armature) else visit.own["qdd"]
        return StepOutput((motion, state._replace(units=())), {"joint": state.units, "columns": columns}, rotor)

    def rows(visit: StepInput, columns: tuple[tuple[Wrench, ...], tuple[Vec3, ...]]) -> list[list[Scalar]]:
        return [
            [*(power(unit, each) for each in columns[0]), *(unit.angular @ moment for moment in columns[1])]
            for unit in visit.kept["joint"]
        ]

    climb = AncestorPass(
        begin=lambda visit: (visit.kept["columns"],),
        own=lambda visit, _: rows(visit, visit.kept["columns"]),
        carry=lambda visit, columns: columns,
        meet=lambda visit, columns: [Elements(row, []) for row in rows(visit, columns)],
        matrices=PER_LINK,
        by_link=True,
    )
    sweeps = (LinkPass(False, (at_rest(tree), BASE_STATE), outward),)
    bodies = (tree.frames[link.body] for link in tree.links)
    more = tuple((body.R, body.p) for body in bodies)
    return Program(("q", "qd", "qdd"), sweeps, climb, more=more, alone=common_link(tree))


def inverse_dynamics_derivatives(tree: Tree) -> Program:
    """Fields over subtrees (`appell.algorithms.derivatives.analytic`), all in one frame."""

    def outward(visit: StepInput, parent: tuple[LinkState, Twist]) -> StepOutput:
        before, a = parent
        if visit.alone:
            a = Twist(ZERO, visit.place.R.T @ a.linear)
        state = next_state(visit.link, place_in_common_frame(visit), before, visit.own["qd"])
        a, joint = accelerated(state, before.v, a, visit.own["qd"], visit.own["qdd"])
        group = own_body(visit.link, state)
        force = group.force(state.v, a)
        if visit.external is not None:
            force = force.minus(state.common(visit.external))
        return StepOutput((state._replace(units=()), a), {"joint": joint, "group": group, "force": force})

    def inward(visit: StepInput, carried: tuple[GroupMomentum, Wrench]) -> StepOutput:
        group, force = visit.kept["group"].plus(carried[0]), visit.kept["force"].plus(carried[1])
        return StepOutput(
            (group, force), {"moved": tuple(moved_by(unit, group, force) for unit in visit.kept["joint"])}
        )

    def own(visit: StepInput, degree: int) -> list[list[Scalar]]:
        column = visit.kept["moved"][degree]
        rows = [
            [power(unit.S, each) for each in (column.by_q, column.by_qd, column.momentum)]
            for unit in visit.kept["joint"]
        ]
        rows[degree][2] = rows[degree][2] + visit.link.armature
        return rows

    def meet(visit: StepInput, column: MovedSubtree) -> list[Elements]:
        return [
            Elements(list(forces_above(unit, column)), list(forces_below(unit, column))) for unit in visit.kept["joint"]
        ]

    climb = AncestorPass(
        begin=lambda visit: visit.kept["moved"], own=own, carry=lambda visit, column: column, meet=meet, matrices=3
    )
    return Program(
        ("q", "qd", "qdd"),
        (
            LinkPass(False, (BASE_STATE, Twist(ZERO, -tree.gravity)), outward),
            LinkPass(True, (NO_GROUP, NO_WRENCH), inward),
        ),
        climb,
        alone=common_link(tree),
    )


def forward_dynamics_derivatives(tree: Tree) -> Program:
    """Articulated bodies, then derivatives of inverse dynamics at their accelerations, with which M is solved, (11)."""
    dynamics, derivatives = forward_dynamics(tree), inverse_dynamics_derivatives(tree)
    velocities, eliminations, accelerations = dynamics.sweeps
    states, subtrees = derivatives.sweeps

    def outward(visit: StepInput, parent: tuple[Twist, tuple[LinkState, Twist]]) -> StepOutput:
        moved = accelerations.step(visit, parent[0])
        state = states.step(visit._replace(own={**visit.own, "qdd": moved.result}), parent[1])
        return StepOutput((moved.carried, state.carried), state.kept)

    both = LinkPass(False, (accelerations.start, states.start), outward)
    return Program(
        dynamics.inputs,
        (velocities, eliminations, both, subtrees),
        derivatives.climb,
        solves=True,
        alone=derivatives.alone,
    )


def forward_dynamics_derivatives_by_links(tree: Tree) -> Program:
    """(11), with M from the momenta of subtrees; accelerations add δ to the spatial accelerations of links without them."""
    derivatives = inverse_dynamics_derivatives(tree)
    states, pairs = derivatives.sweeps[0], derivatives.climb
    assert pairs is not None

    def outward(visit: StepInput, parent: tuple[LinkState, Twist]) -> StepOutput:
        return states.step(visit._replace(own={**visit.own, "qdd": [0.0]}), parent)

    def inward(visit: StepInput, carried: tuple[GroupMomentum, Wrench]) -> StepOutput:
        group, force = visit.kept["group"].plus(carried[0]), visit.kept["force"].plus(carried[1])
        (unit,) = visit.kept["joint"]
        left = visit.own["tau"][0] - power(unit.S, force)
        kept = {"subtree": group, "force": force, "momentum": group.inertia.momentum(unit.S), "left": left}
        return StepOutput((group, force), kept)

    masses = AncestorPass(
        begin=lambda visit: ((visit.kept["momentum"], visit.kept["left"]),),
        own=lambda visit, _: [[power(visit.kept["joint"][0].S, visit.kept["momentum"]) + visit.link.armature]],
        carry=lambda visit, column: column,
        meet=lambda visit, column: [Elements(*[[power(unit.S, column[0])]] * 2) for unit in visit.kept["joint"]],
    )

    def accelerations(visit: StepInput, parent: Twist) -> StepOutput:
        (unit,) = visit.kept["joint"]
        own = combined(parent, unit.S, visit.own["qdd"][0])
        joint = unit._replace(chi=combined(unit.chi, crossed(parent, unit.S), 1.0))
        return StepOutput(own, {"moving": (joint,), "more": visit.kept["group"].inertia.momentum(own)})

    def forces(visit: StepInput, carried: Wrench) -> StepOutput:
        more = visit.kept["more"].plus(carried)
        moved = moved_by(visit.kept["moving"][0], visit.kept["subtree"], visit.kept["force"].plus(more))
        return StepOutput(more, {"moved": (moved,)})

    def seen(visit: StepInput) -> StepInput:
        return visit._replace(kept={**visit.kept, "joint": visit.kept["moving"]})

    climb = AncestorPass(
        begin=lambda visit: visit.kept["moved"],
        own=lambda visit, degree: [row[:2] for row in pairs.own(seen(visit), degree)],
        carry=lambda visit, column: column,
        meet=lambda visit, column: [Elements(row[:2], across[:2]) for row, across in pairs.meet(seen(visit), column)],
        matrices=2,
    )
    sweeps = (
        LinkPass(False, states.start, outward),
        LinkPass(True, (NO_GROUP, NO_WRENCH), inward),
        LinkPass(False, AT_REST, accelerations),
        LinkPass(True, NO_WRENCH, forces),
    )
    return Program(("q", "qd", "tau"), sweeps, climb, alone=derivatives.alone, masses=masses, solved_after=2)


def pairs_of(tree: Tree) -> int:
    """Pairs of a link and one between it and the base, that one included."""
    return sum(len(tree.ancestors(i)) for i in range(len(tree.links)))


def triples_of(tree: Tree) -> int:
    """Triples of a link and two between it and the base."""
    return sum(len(tree.ancestors(i)) ** 2 for i in range(len(tree.links)))


class RolledCandidate(NamedTuple):
    """A program, and the work of one state [operations] beyond which it is faster than straight-line code.

    Measured on general chains and on floating humanoids, docs/decisions/0005, 0018 and 0020. Robots whose `size`, as a rule the
    number of links, is below `smallest` do not reach it. `by_links` is the program for links side by side, where it is another.
    """

    make: Callable[..., Program]
    limit: int
    smallest: int
    by_links: Callable[[Tree], Program] | None = None
    size: Callable[[Tree], int] = lambda tree: len(tree.links)


PROGRAMS: dict[tuple[str, str], RolledCandidate] = {
    ("inverse_dynamics", "mata2002"): RolledCandidate(inverse_dynamics, 5000, 20),
    ("bias", "mata2002"): RolledCandidate(lambda tree: inverse_dynamics(tree, ("q", "qd")), 5000, 20),
    ("gravity", "mata2002"): RolledCandidate(lambda tree: inverse_dynamics(tree, ("q",)), 2000, 20),
    ("kinetic_energy", "gibbs"): RolledCandidate(kinetic_energy, 2150, 20),
    ("gibbs_function", "gibbs"): RolledCandidate(gibbs_function, 4800, 20),
    ("forward_dynamics", "articulated"): RolledCandidate(forward_dynamics, 14000, 25),
    ("mass_matrix", "composite"): RolledCandidate(mass_matrix, 8000, 12),
    ("coriolis_matrix", "gibbs"): RolledCandidate(coriolis_matrix, 20000, 20),
    ("regressor", "mata2002"): RolledCandidate(regressor, 8000, 9),
    ("inverse_dynamics_derivatives", "analytic"): RolledCandidate(inverse_dynamics_derivatives, 44000, 20),
    ("inverse_dynamics_second_derivatives", "analytic"): RolledCandidate(
        lambda tree: second_derivatives(inverse_dynamics_derivatives(tree)), 0, 450, size=triples_of
    ),
    ("forward_dynamics_derivatives", "analytic"): RolledCandidate(
        forward_dynamics_derivatives, 95000, 20, forward_dynamics_derivatives_by_links
    ),
    ("jacobian_derivatives", "recursive"): RolledCandidate(jacobian_derivatives, 0, 1830, size=pairs_of),
}
"""Function and method of every rolled form."""


ACROSS_COUPLINGS = ("inverse_dynamics", "bias", "gravity", "kinetic_energy", "gibbs_function")
"""Functions whose rolled forms take mimic joints."""


def rolled(tree: Tree, spec: FunctionSpec, stretch: float = 1.0) -> Rolled | None:
    """The rolled form of a spec, or None where straight-line code is faster or there is no such form.

    `stretch` multiplies the limits, for targets that bear longer straight-line code.
    """
    found = _program(tree, spec)
    if found is None or found[0].size(tree) < stretch * found[0].smallest:
        return None
    choice, tree = found
    form = Rolled.of(tree, with_options(lambda tree: choice.make(tree, *frame_of(tree, spec)), tree, spec))
    return form if form.cost > stretch * choice.limit else None


def link_parallel(tree: Tree, spec: FunctionSpec) -> LinkParallel | None:
    """The form of a spec with links side by side, or None where there is none."""
    found = _program(tree, spec)
    if found is None or spec.gravity_input or spec.force_frames:
        return None
    choice, tree = found
    if any(link.kind.nv != 1 for link in tree.links):
        return None
    program = (choice.by_links or choice.make)(tree, *frame_of(tree, spec))
    return LinkParallel.of(Rolled.of(tree, program, by_zeros=False))


def frame_of(tree: Tree, spec: FunctionSpec) -> tuple[Frame, str] | tuple[()]:
    """The frame of a spec and the frame of reference, which an algorithm takes besides the tree, if it takes any."""
    return () if spec.frame is None else (tree.frames[spec.frame], spec.reference)


def _program(tree: Tree, spec: FunctionSpec) -> tuple[RolledCandidate, Tree] | None:
    """What loops over the links are made from, if a spec can be written so."""
    quantity, method, _ = find_for(tree, spec.function, spec.method)
    choice = PROGRAMS.get((quantity.name, method))
    if choice is None or spec.parameter_input:
        return None
    if spec.function not in ACROSS_COUPLINGS and not all(link.is_independent for link in tree.links):
        return None
    return choice, lumped(tree) if method in quantity.lumpable else tree
