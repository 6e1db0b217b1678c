"""Closed loops at surfaces: the impact law, energy, momentum, stops; trivial loops as trees."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.loop_robots import built_in

import appell
from appell import ContactOptions, Integration, LoopClosure, Point, Pose
from appell.simulation.contact.surfaces import Plane

MOREAU = Integration("moreau", dt=5e-4)
PRECISE = Integration("DOP853", rtol=1e-11)


@cache
def arm(closed: bool):
    """Two links in the x-z plane; closed, the second one is two equal halves on the same axis, welded together."""
    builder = appell.RobotBuilder("arm", gravity=(0.0, 0.0, -9.81)).body("base")
    builder.body("upper", mass=1.0, com=(0.25, 0, 0), inertia=(1e-3, 0.02, 0.02))
    builder.revolute("shoulder", parent="base", child="upper", axis="y", damping=0.1)
    share = 0.5 if closed else 1.0
    for name in ("lower", "other")[: 2 if closed else 1]:
        limits = (-3.0, 3.0) if closed and name == "lower" else (-2.0, 2.0)
        builder.body(name, mass=share, com=(0.2, 0, 0), inertia=(1e-3 * share, 0.015 * share, 0.015 * share))
        builder.revolute(
            f"{name}_elbow", parent="upper", child=name, axis="y", xyz=(0.5, 0, 0), limits=limits,
            damping=0.2 * share, stiffness=3.0 * share, springref=0.3,
        )  # fmt: skip
    builder.fixed("mark", parent="lower", child="tip", xyz=(0.4, 0, 0))
    tree = builder.build()
    if not closed:
        return tree
    weld = LoopClosure("weld", "weld", "lower", "other", Pose(), Pose())
    return appell.close_loops(tree, [weld], actuated=["shoulder", "lower_elbow"])


@pytest.mark.parametrize("method", [PRECISE, MOREAU, Integration("rk4", dt=5e-4)])
@pytest.mark.parametrize(("mu", "e"), [(0.0, 0.6), (0.7, 0.0)])
def test_a_trivial_loop_moves_as_its_tree(method, mu, e):
    floor = Plane(point=(0, 0, -0.6), friction=mu)
    motions = []
    for closed in (False, True):
        q = np.array([0.2, 0.4, 0.4][: 2 + closed])
        contact = ContactOptions(points=["upper", "lower", "tip"], restitution=e)
        tau = lambda t, q, qd: [0.5, -0.2 * qd[1]]  # noqa: E731
        motions.append(
            appell.simulate(
                arm(closed), q, [0.0, 0.0], 0.8, tau=tau, surfaces=floor, contact=contact, method=method, t_eval=0.01
            )
        )
    tree, loop = motions
    assert tree.impacts
    assert [i.points for i in tree.impacts] == [i.points for i in loop.impacts]
    assert_close(loop.q[:, :2], tree.q, tolerance=1e-8, scale=1.0)
    assert_close(loop.q[:, 2], loop.q[:, 1], tolerance=1e-12, scale=1.0)
    assert_close(loop.qd, tree.qd, tolerance=1e-6, scale=1.0)
    assert loop.contact_forces.keys() == tree.contact_forces.keys()
    for name, force in tree.contact_forces.items():
        assert_close(loop.contact_forces[name], force, tolerance=1e-5, scale=10.0)
    for name in ("actuators", "passive", "contact"):
        assert_close(getattr(loop.work, name), getattr(tree.work, name), tolerance=1e-8, scale=1.0)


@pytest.mark.parametrize("method", [PRECISE, MOREAU])
def test_a_stop_of_a_dependent_joint_acts_as_that_of_the_tree(method):
    """The second half of the link meets its stop; the first, independent one follows it."""
    stops = []
    for closed in (False, True):
        q = np.array([0.0, 1.9, 1.9][: 2 + closed])
        robot = arm(closed)
        stops.append(appell.simulate(robot, q, [0.0, 6.0], 0.3, limits="stop", method=method, t_eval=0.01))
    assert_close(stops[1].q[:, :2], stops[0].q, tolerance=1e-7, scale=1.0)
    assert 1.99 < stops[1].q[:, 1:].max() < 2.0 + (2e-6 if method is MOREAU else 1e-9)


def drop(name: str, e: float, mu: float, method, duration: float = 1.0):
    """A mechanism that falls on a floor, with an actuator that brakes."""
    robot = built_in(name)
    point, height = {"four_bar": ("coupler_link", 0.15), "five_bar": ("tip", 0.12), "delta": ("platform", -1.4)}[name]
    axis = np.array(robot.gravity_vector) / -9.81
    floor = Plane(axis, point=height * axis, friction=mu)
    tau = lambda t, q, qd: -0.05 * (robot.actuator_jacobian(q) @ qd)  # noqa: E731
    contact = ContactOptions(points=[point], restitution=e)
    q = np.array(robot.reference_configuration)
    motion = appell.simulate(
        robot, q, np.zeros(robot.nv), duration, tau=tau, surfaces=floor, contact=contact, method=method
    )
    return robot, floor, point, motion


@pytest.mark.parametrize(
    ("name", "e", "mu"), [("four_bar", 0.5, 0.4), ("five_bar", 0.5, 0.3), ("five_bar", 0.0, 0.8), ("delta", 0.3, 0.5)]
)
@pytest.mark.parametrize("method", [PRECISE, MOREAU], ids=["events", "moreau"])
def test_mechanisms_fall_on_a_floor(name, e, mu, method):
    robot, floor, point, motion = drop(name, e, mu, method)
    assert (motion.status, motion.problems) == ("finished", ())
    assert motion.impacts
    assert np.abs(motion.balance).max() < 1e-9
    gaps = floor.gap(robot.pose(motion.q, point)[:, :3, 3])
    assert gaps.min() > (-1e-6 if method is MOREAU else -1e-9)
    assert robot.closure_error(motion.q).max() < 1e-10
    for impact in motion.impacts:
        M, J = robot.mass_matrix(impact.q), robot.jacobian(impact.q, point)[:3]
        n = np.array(floor.normal)
        momentum = M @ (impact.qd_after - impact.qd_before)
        impulse = J.T @ (impact.impulses[0] * n + impact.friction_impulses[0])
        assert_close(momentum, impulse, tolerance=1e-12, scale=np.abs(M @ impact.qd_before).max())
        before, after = n @ J @ impact.qd_before, n @ J @ impact.qd_after
        assert after >= -1e-12
        assert after == pytest.approx(-e * before, abs=1e-9) or after == pytest.approx(
            0.0, abs=1e-9
        )  # small rebounds end
        assert np.linalg.norm(impact.friction_impulses[0]) <= mu * impact.impulses[0] * (1 + 1e-9)


def test_contact_forces_of_a_mechanism_at_rest_balance_its_weight():
    """Virtual work: G^T of gravity and of the contact force cancel."""
    for method in (PRECISE, MOREAU):
        robot, _, point, motion = drop("five_bar", 0.0, 0.8, method, 1.5)
        assert np.abs(motion.qd[-1]).max() < 1e-6
        force = motion.contact_forces[point][-1]
        J = robot.jacobian(motion.q[-1], point)[:3]
        assert_close(J.T @ force, robot.gravity(motion.q[-1]), tolerance=1e-6, scale=0.1)


@cache
def floating_four_bar():
    """The four-bar on a base that flies."""
    rod = {"mass": 0.5, "com": (0.2, 0, 0), "inertia": (1e-3, 0.01, 0.01)}
    builder = appell.RobotBuilder("frame").body("world").body("frame", mass=2.0, inertia=(0.05, 0.05, 0.05))
    builder.joint("floating", "free", parent="world", child="frame")
    for name in ("crank", "coupler", "rocker"):
        builder.body(f"{name}_link", **rod)
    builder.continuous("crank", parent="frame", child="crank_link", axis="y", xyz=(-0.2, 0, 0), damping=0.01)
    builder.continuous("coupler", parent="crank_link", child="coupler_link", axis="y", xyz=(0.3, 0, 0))
    builder.continuous("rocker", parent="frame", child="rocker_link", axis="y", xyz=(0.2, 0, 0), damping=0.02)
    end = LoopClosure(
        "knee", "revolute", "coupler_link", "rocker_link", Pose((0.45, 0, 0)), Pose((0.3, 0, 0)), axis=(0, 1, 0)
    )
    q = [0, 0, 0.6, 0.1, 0.05, 0, np.sqrt(1 - 0.0125), 1.2, -1.0, 1.3]
    return appell.close_loops(builder.build(), [end], actuated=["crank"], q=q)


@pytest.mark.parametrize("method", [PRECISE, MOREAU], ids=["events", "moreau"])
def test_a_flying_mechanism_lands_on_its_frame(method):
    robot = floating_four_bar()
    feet = [Point("frame", (x, y, -0.05), 0.01) for x in (-0.3, 0.3) for y in (-0.1, 0.1)]
    tips = [Point("crank_link", (0.3, 0, 0)), Point("rocker_link", (0.3, 0, 0))]
    floor = Plane(friction=0.6)
    q = np.array(robot.reference_configuration)
    motion = appell.simulate(
        robot, q, np.zeros(robot.nv), 1.0, surfaces=floor, contact=ContactOptions(points=feet + tips, restitution=0.3),
        method=method,
    )  # fmt: skip
    assert motion.status == "finished"
    assert motion.problems == ()
    assert len(motion.impacts) > 3
    assert np.abs(motion.balance).max() < 1e-6
    assert np.diff(motion.energy).max() < 1e-7
    lowest = min((robot.pose(motion.q, p.body) @ [*p.offset, 1.0])[:, 2].min() - p.radius for p in feet + tips)
    assert lowest > (-1e-6 if method is MOREAU else -1e-9)
    named, n = {str(p): p for p in feet + tips}, np.array([0.0, 0.0, 1.0])
    for impact in motion.impacts:
        momentum = robot.mass_matrix(impact.q) @ (impact.qd_after - impact.qd_before)
        given = np.zeros(robot.nv)
        for name, normal, friction in zip(impact.points, impact.impulses, impact.friction_impulses, strict=True):
            p = named[name]
            J, arm = robot.jacobian(impact.q, p.body), robot.pose(impact.q, p.body)[:3, :3] @ p.offset - p.radius * n
            given += (J[:3] - np.cross(arm, J[3:], axis=0)).T @ (normal * n + friction)
        assert_close(momentum, given, tolerance=1e-12, scale=max(np.abs(momentum).max(), 1.0))


@pytest.mark.parametrize(("name", "tau"), [("frame", [0.3]), ("delta", [0.4, -0.2, 0.1])])
def test_a_surface_far_away_changes_nothing(name, tau):
    """Compiled equations of contact, with actuators and damping in all joints, against those of a run without surfaces."""
    robot = floating_four_bar() if name == "frame" else built_in(name)
    q, qd = np.array(robot.reference_configuration), 0.3 * np.random.default_rng(1).normal(size=robot.nv)
    below = Plane(point=(0, 0, -20.0))
    free = appell.simulate(robot, q, qd, 0.3, tau=tau, method=PRECISE, t_eval=0.1)
    for method, tolerance in ((PRECISE, 1e-9), (MOREAU, 3e-6)):
        motion = appell.simulate(robot, q, qd, 0.3, tau=tau, surfaces=below, method=method, t_eval=0.1)
        assert_close(motion.q, free.q, tolerance=tolerance, scale=1.0)
        assert_close(motion.qd, free.qd, tolerance=10 * tolerance, scale=1.0)
        assert_close(motion.work.actuators, free.work.actuators, tolerance=10 * tolerance, scale=1.0)
        assert_close(motion.work.passive, free.work.passive, tolerance=10 * tolerance, scale=1.0)


def test_default_points_are_those_that_move_with_closed_loops():
    """The end of the rocker is the closing hinge, which moves; the rocker's own origin does not."""
    robot = built_in("four_bar")
    floor = Plane((0, 1, 0), point=(0, -0.1, 0))
    motion = appell.simulate(robot, robot.reference_configuration, [0.0], 1.2, surfaces=floor)
    assert {name for impact in motion.impacts for name in impact.points} == {"coupler_link"}


@pytest.mark.parametrize("method", ["DOP853", "moreau"])
def test_a_run_into_a_singular_configuration_names_it(method):
    """The arms of the five-bar stretch under its weight: with both motors held its elbows could move there."""
    robot = built_in("five_bar")
    q = robot.random_configurations(1, np.random.default_rng(0))[0]
    below = Plane((0, 1, 0), point=(0, -1, 0))
    with pytest.raises(appell.SimulationError, match=r"singular speeds: with left_motor, right_motor held") as error:
        appell.simulate(robot, q, [0.0, 0.0], 1.0, surfaces=below, method=method)
    assert error.value.time == pytest.approx(0.1505, abs=1e-3)


@pytest.mark.parametrize("method", ["DOP853", "moreau"])
def test_spherical_robots_touch_surfaces_as_closed_loops(method):
    wrist, q = appell.load("agile_wrist"), [0.1, 0.1, 0.1]
    loops, x = wrist.as_closed_loop(q), wrist.closed_loop_configuration(q)
    corner = Point(wrist.platform.name, (0.1, 0.05, 0.1))
    height = lambda x: (loops.pose(x, corner.body) @ [*corner.offset, 1.0])[..., 2]  # noqa: E731
    floor, contact = Plane(point=(0, 0, height(x) - 0.003)), ContactOptions(points=[corner], restitution=0.4)
    with pytest.raises(appell.errors.ArgumentError, match="as_closed_loop"):
        appell.simulate(wrist, q, np.zeros(3), 0.1, surfaces=floor, contact=contact, method=method)
    motion = appell.simulate(loops, x, np.zeros(3), 0.2, surfaces=floor, contact=contact, method=method)
    assert motion.impacts
    assert np.abs(motion.balance).max() < 1e-8
    assert (height(motion.q) - floor.point[2]).min() > (-1e-6 if method == "moreau" else -1e-9)


LINKAGE = """
<mujoco><option gravity="0 -9.81 0" timestep="0.0005"/><default><geom contype="0" conaffinity="0"/></default><worldbody>
  <geom type="plane" zaxis="0 1 0" pos="0 -0.05 0" size="5 5 0.1" friction="0.6 0 0" contype="1" conaffinity="1"/>
  <body name="crank"><joint name="a" axis="0 0 1" damping="0.5"/><geom type="capsule" fromto="0 0 0 1 0 0" size="0.02"/>
    <geom type="sphere" pos="1 0 0" size="0.05" mass="0.1" friction="0.6 0 0" contype="1" conaffinity="1"/>
    <body name="coupler" pos="1 0 0"><joint name="b" axis="0 0 1"/><geom type="capsule" fromto="0 0 0 1.6 0 0" size="0.02"/>
  </body></body>
  <body name="rocker" pos="1.5 -0.4 0"><joint name="c" axis="0 0 1" damping="0.3"/>
    <geom type="capsule" fromto="0 0 0 1.1 0.4 0" size="0.02"/></body>
</worldbody>
<equality><connect name="knee" body1="coupler" body2="rocker" anchor="1.6 0 0" solimp="0.9999 0.9999 0.001" solref="0.002 1"/>
</equality><actuator><motor joint="a"/></actuator></mujoco>
"""


@pytest.mark.parametrize("method", ["DOP853", "moreau"])
def test_a_linkage_falls_and_rests_as_in_mujoco(method):
    """Before the impact within 1.5 mrad (soft loops), at rest within 0.1 mrad, the contact force within 1 %."""
    mujoco = pytest.importorskip("mujoco")
    robot = appell.load(LINKAGE)
    q = robot.solve_loop_closure({"a": 0.3}).q
    model = mujoco.MjModel.from_xml_string(LINKAGE)
    data = mujoco.MjData(model)
    data.qpos[:] = q
    path = [q]
    for _ in range(2000):
        mujoco.mj_step(model, data)
        path.append(data.qpos.copy())
    motion = appell.simulate(
        robot, q, [0.0], 1.0, surfaces=Plane((0, 1, 0), point=(0, -0.05, 0), friction=0.6),
        contact=ContactOptions(restitution=0.0), method=method, t_eval=0.1,
    )  # fmt: skip
    assert len(motion.impacts) == 1
    assert 0.2 < motion.impacts[0].time < 0.22
    expected = np.array(path[::200])
    assert_close(motion.q[:3], expected[:3], tolerance=1.5e-3, scale=1.0)
    assert_close(motion.q[-1], expected[-1], tolerance=1e-4, scale=1.0)
    force = np.zeros(6)
    mujoco.mj_contactForce(model, data, 0, force)
    (name,) = motion.contact_forces
    assert motion.contact_forces[name][-1, 1] == pytest.approx(force[0], rel=1e-2)
