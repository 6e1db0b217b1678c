"""Derivatives of whole rollouts: differences, and the adjoint against forward sensitivities."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.joint_trees import tree_of
from helpers.loop_robots import built_in, spatial_loop
from helpers.loop_robots import states as loop_states

import appell
from appell.algorithms.laws import LAWS

N, STEPS = 3, 12
CASES = {
    "free": ("planar2r", "torque", "rk4", None, 1, False, "rows"),
    "euler": ("planar2r", "torque", "semi_implicit_euler", 5, 3, True, "rows"),
    "integral": ("planar2r", "integral_tracking", "rk4", 4, 5, True, "rows"),
    "columns": ("planar2r", "computed_torque", "rk4", 4, 2, True, "columns"),
    "floating": ("floating", "torque", "rk4", 4, 2, False, "rows"),
    "spherical": ("spherical", "torque", "semi_implicit_euler", 4, 2, True, "columns"),
}


class Study:
    """A rollout with random arguments, of which some are shared by all robots, and random directions of them all."""

    def __init__(self, name, law, integrator, control_every, save_every, parameters, layout) -> None:
        self.robot = appell.load(name) if name == "planar2r" else tree_of(name)
        self.columns, self.hold, rng = layout == "columns", control_every, np.random.default_rng(3)
        self.dyn = appell.compile(self.robot, layout=layout)
        n, rule = self.robot.nv, LAWS[law]
        times = () if control_every is None else (-(-STEPS // control_every),)
        self.options = {
            "steps": STEPS, "dt": 0.01, "law": law, "control_every": control_every, "save_every": save_every,
            "options": appell.RolloutOptions(integrator),
        }  # fmt: skip
        self.q0 = np.stack([self.robot.random_configuration(rng) for _ in range(N)])
        self.given = {"qd0": rng.normal(size=(1, n))}
        self.given |= {signal: rng.normal(size=(N, *times, n) if times else n) for signal in rule.signals}
        self.given |= {gain: rng.uniform(1, 3, size=(N, n) if gain == "kp" else n) for gain in rule.gains}
        if parameters:
            own = self.robot.parameters
            self.given["parameters"] = own * rng.uniform(0.9, 1.1, size=(N, len(own)))
        self.rule, self.along_q0 = rule, rng.normal(size=(N, n))
        self.along = {name: 0.3 * rng.normal(size=x.shape) * np.abs(x) for name, x in self.given.items()}

    def arranged(self, name: str, x: np.ndarray) -> np.ndarray:
        if not self.columns:
            return x
        return np.moveaxis(x, (-1, -2), (0, 1)) if name in self.rule.signals and self.hold else np.moveaxis(x, -1, 0)

    def arguments(self, q0: np.ndarray, given: dict[str, np.ndarray]) -> tuple[list, dict]:
        given = {name: self.arranged(name, x) for name, x in given.items()}
        gains = {name: given[name] for name in self.rule.gains}
        controls = {name: given[name] for name in self.rule.signals}
        more = {"gains": gains or None, "parameters": given.get("parameters")}
        return [self.arranged("q0", q0), given["qd0"], controls], more

    def motion(self, t: float = 0.0) -> appell.Rollout:
        moved = {name: x + t * self.along[name] for name, x in self.given.items()}
        places, more = self.arguments(self.robot.integrate(self.q0, t * self.along_q0), moved)
        return appell.rollout(self.dyn, *places, **more, **self.options)


@pytest.fixture(params=CASES.values(), ids=CASES, scope="module")
def study(request) -> Study:
    return Study(*request.param)


def test_forward_sensitivity_is_that_of_differences(study: Study) -> None:
    places, more = study.arguments(study.along_q0, study.along)
    found = study.motion().jvp(*places, **more)
    h = 1e-4
    for name in ("q", "qd"):
        near, far = (
            (getattr(study.motion(k * h), name) - getattr(study.motion(-k * h), name)) / (2 * k * h) for k in (1, 2)
        )
        assert_close(getattr(found, name), (4 * near - far) / 3, tolerance=1e-9, what=name)


def test_adjoint_is_the_transpose_of_forward_sensitivity(study: Study) -> None:
    """Σ weights · J δ = Σ (J^T weights) · δ, with gradients of the shapes of the arguments."""
    motion, rng = study.motion(), np.random.default_rng(5)
    places, more = study.arguments(study.along_q0, study.along)
    along = motion.jvp(*places, **more)
    q, qd = rng.normal(size=motion.q.shape), rng.normal(size=motion.qd.shape)
    gradient = motion.vjp(q, qd)
    pairs = [(gradient.q0, places[0]), (gradient.qd0, places[1])]
    pairs += [(gradient.controls[name], places[2][name]) for name in study.rule.signals]
    pairs += [(gradient.gains[name], more["gains"][name]) for name in study.rule.gains]
    pairs += [] if more["parameters"] is None else [(gradient.parameters, more["parameters"])]
    assert all(a.shape == b.shape for a, b in pairs)
    terms = np.array([(a * b).sum() for a, b in pairs])
    expected = (q * along.q).sum() + (qd * along.qd).sum()
    assert_close(terms.sum(), expected, tolerance=1e-13, scale=float(np.abs(terms).sum()))


def test_one_step_is_linearize() -> None:
    robot = appell.load("puma560")
    rng = np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, 6))
    A, B = robot.linearize(q, qd, tau, dt=0.01, passive_forces=True)
    motion = appell.rollout(appell.compile(robot), q, qd, tau, steps=1, dt=0.01)
    rows = [motion.vjp(q=row[None, :6], qd=row[None, 6:]) for row in np.eye(12)]
    assert_close(np.array([[*g.q0, *g.qd0] for g in rows]), A, tolerance=1e-12)
    assert_close(np.array([g.controls["tau"] for g in rows]), B, tolerance=1e-12)


def test_gradients_reach_a_payload() -> None:
    """The mass of the last link that explains a motion, by Newton's method on the forward sensitivity."""
    robot = appell.load("puma560")
    dyn = appell.compile(robot, parameters="runtime")
    start = np.full(6, 0.2), np.zeros(6), robot.gravity(np.full(6, 0.2))
    schedule = {"steps": 40, "dt": 5e-3}
    direction = np.zeros_like(robot.parameters)
    direction[50:54] = 1.0, 0.0, 0.0, 0.1  # one kilogram at 0.1 m of the last link
    seen = appell.rollout(dyn, *start, parameters=robot.parameters + 0.7 * direction, **schedule)
    mass = 0.0
    for _ in range(6):
        guess = appell.rollout(dyn, *start, parameters=robot.parameters + mass * direction, **schedule)
        slope, error = guess.jvp(parameters=direction).q.ravel(), (seen.q - guess.q).ravel()
        mass += slope @ error / (slope @ slope)
    assert abs(mass - 0.7) < 1e-9


def test_wrong_arguments_are_named() -> None:
    dyn = appell.compile(appell.load("planar2r"))
    motion = appell.rollout(dyn, [0.1, 0.2], [0.0, 0.0], steps=3, dt=0.01)
    with pytest.raises(appell.AppellError, match="parameters"):
        motion.jvp(parameters=np.zeros(20))
    with pytest.raises(appell.AppellError, match=r"weights of q .*\(3, 2\)"):
        motion.vjp(q=np.zeros((2, 2)))
    with pytest.raises(appell.ArgumentError, match=r"weights of q has shape \(\), expected \(3, 2\)"):
        motion.vjp(1.0)
    with pytest.raises(appell.ArgumentError, match="weights of qd is an array of complex128, expected real numbers"):
        motion.vjp(qd=1j * motion.qd)
    with pytest.raises(appell.ArgumentError, match=r"weights of q\[\(0, 1\)\] is nan"):
        motion.vjp(np.where(np.arange(2) == 1, np.nan, motion.q))
    with pytest.raises(appell.ArgumentError, match=r"tangent of qd0\[1\] is nan"):
        motion.jvp(qd0=[0.0, np.nan])
    for wrong in (np.ones(5), np.ones((4, 2))):
        with pytest.raises(appell.ArgumentError, match=r"tangent of q0 has shape .* expected \(2,\)"):
            motion.jvp(wrong)
    with pytest.raises(appell.ArgumentError, match="gains is 3, expected directions by name"):
        motion.jvp(gains=3)
    with pytest.raises(appell.ArgumentError, match=r"tangent of tau is .*expected real numbers"):
        motion.jvp(controls={"tau": {"joint1": 1.0}})
    copied = pickle.loads(pickle.dumps(motion))
    assert_close(copied.q, motion.q, tolerance=0.0)
    with pytest.raises(appell.AppellError, match=r"Use the result of appell\.rollout"):
        copied.vjp()


def test_directions_by_name() -> None:
    motion = appell.rollout(appell.compile(appell.load("planar2r")), [0.1, 0.2], [0.0, 0.0], steps=3, dt=0.01)
    found = motion.jvp({"joint2": 1.0}, {"joint1": 2.0})
    assert_close(found.q, motion.jvp([0.0, 1.0], [2.0, 0.0]).q, tolerance=0.0)


@pytest.mark.parametrize("layout", ["rows", "columns"])
@pytest.mark.parametrize("robots", [2, 3])
def test_one_direction_for_all_robots(layout: str, robots: int) -> None:
    dyn, rng = appell.compile(appell.load("planar2r"), layout=layout), np.random.default_rng(0)
    start = rng.normal(size=(2, robots) if layout == "columns" else (robots, 2))
    motion = appell.rollout(dyn, start, start, steps=3, dt=0.01)
    one = np.array([1.0, 2.0])
    each = np.broadcast_to(one[:, None] if layout == "columns" else one, start.shape)
    assert_close(motion.jvp(one).q, motion.jvp(each).q, tolerance=0.0)
    with pytest.raises(appell.ArgumentError, match="tangent of q0 has shape"):
        motion.jvp(np.ones(5))


def test_unchecked_rollouts_pass_nan_on() -> None:
    dyn, options = appell.compile(appell.load("planar2r")), appell.RolloutOptions(check=False)
    motion = appell.rollout(dyn, [0.1, 0.2], [0.0, 0.0], steps=3, dt=0.01, options=options)
    assert np.isnan(motion.vjp(np.full((3, 2), np.nan)).q0).all()
    assert np.isnan(motion.jvp([np.nan, 0.0]).q).any()


@pytest.mark.parametrize("check", [True, False])
def test_derivatives_beyond_the_range_of_numbers(check: bool) -> None:
    dyn, options = appell.compile(appell.load("planar2r"), dtype="float32"), appell.RolloutOptions(check=check)
    motion = appell.rollout(dyn, [0.1, 0.2], [0.0, 0.0], steps=9, dt=0.1, options=options)
    large = np.full((9, 2), 1e38)
    if not check:
        assert not np.isfinite(motion.vjp(large).q0).all()
        return
    with pytest.raises(appell.SimulationError, match=r"gradient of the rollout is not finite at t = 0\.\d s.*float64"):
        motion.vjp(large)
    with pytest.raises(appell.SimulationError, match=r"forward sensitivity .* grow beyond the range of float32"):
        motion.jvp(parameters=None, qd0=[0.0, 0.0], controls=[3e38, -3e38])


def test_arrays_may_be_changed_after_the_rollout() -> None:
    dyn = appell.compile(appell.load("planar2r"))
    given = {"q0": np.array([0.1, 0.2]), "qd0": np.array([0.3, 0.4]), "tau": np.ones((2, 2)), "kp": np.ones(2)}
    motion = appell.rollout(
        dyn, given["q0"], given["qd0"], {"q": given["tau"], "qd": given["tau"]}, steps=4, dt=0.1, law="pd",
        gains={"kp": given["kp"], "kd": 1.0}, control_every=2,
    )  # fmt: skip
    before, along = motion.vjp(motion.q), motion.jvp([1.0, 0.0])
    for array in given.values():
        array[:] = 7.0
    after = motion.vjp(motion.q)
    for found, expected in ((after.q0, before.q0), (after.gains["kp"], before.gains["kp"])):
        assert_close(found, expected, tolerance=0.0)
    assert_close(motion.jvp([1.0, 0.0]).q, along.q, tolerance=0.0)


LOOPS = {"delta": partial(built_in, "delta"), "more_actuators": partial(spatial_loop, "point")}
MADE_BY = {**LOOPS, "floating": partial(tree_of, "floating"), "agile_wrist": partial(appell.load, "agile_wrist")}


@pytest.mark.parametrize("name", MADE_BY)
def test_derivatives_of_forward_dynamics_by_parameters(name: str) -> None:
    robot, rng = MADE_BY[name](), np.random.default_rng(2)
    q = loop_states(robot, 1).q[0] if name in LOOPS else robot.random_configuration(rng)
    qd, tau = rng.normal(size=robot.nv), rng.normal(size=len(robot.actuator_names))
    forces = {robot.body_names[-1]: rng.normal(size=6)}
    found = robot.forward_dynamics_parameter_derivatives(q, qd, tau, external_forces=forces)
    along, h = rng.normal(size=len(robot.parameters)) * np.abs(robot.parameters), 1e-4

    def qdd(step: float) -> np.ndarray:
        moved = robot.parameters + step * along
        return robot.forward_dynamics(q, qd, tau, parameters=moved, external_forces=forces)

    near, far = ((qdd(k * h) - qdd(-k * h)) / (2 * k * h) for k in (1, 2))
    assert_close(found @ along, (4 * near - far) / 3, tolerance=1e-8)


@pytest.mark.parametrize("layout", ["rows", "columns"])
def test_derivatives_by_parameters_of_batches(layout: str) -> None:
    """-M⁻¹ K, also in `out`, with gravity and parameters that differ from state to state."""
    robot, rng = appell.compile(appell.load("planar2r"), layout=layout), np.random.default_rng(0)
    q, qd, tau = rng.normal(size=(3, 2, 4, 2))
    gravity, parameters = rng.normal(size=(4, 3)), robot.parameters * rng.uniform(0.9, 1.1, size=(4, 20))

    def arranged(x: np.ndarray) -> np.ndarray:
        return np.moveaxis(x, -1, 0) if layout == "columns" else x

    given = {"gravity": arranged(gravity), "parameters": arranged(parameters)}
    out = np.empty((2, 20, 2, 4) if layout == "columns" else (2, 4, 2, 20))
    found = robot.forward_dynamics_parameter_derivatives(*map(arranged, (q, qd, tau)), **given, out=out)
    assert found is out
    plain = appell.load("planar2r")
    qdd = plain.forward_dynamics(q, qd, tau, gravity=gravity, parameters=parameters)
    M = plain.functions["mass_matrix", None]((q,), None, None, parameters)
    expected = -np.linalg.solve(M, plain.regressor(q, qd, qdd, gravity=gravity))
    found = np.moveaxis(found, (0, 1), (-2, -1)) if layout == "columns" else found
    assert_close(found, expected, tolerance=1e-13)


def test_derivatives_by_parameters_of_a_file(tmp_path) -> None:
    """They are the product of functions that the file holds."""
    dyn, state = appell.compile(appell.load("planar2r")), ([0.3, 0.2], [1.0, -1.0], [0.5, 0.1])
    functions = ["forward_dynamics", "forward_dynamics_derivatives", "regressor"]
    dyn.save(tmp_path / "arm.appell", functions=functions)
    found = appell.load_compiled(tmp_path / "arm.appell").forward_dynamics_parameter_derivatives(*state)
    assert_close(found, dyn.forward_dynamics_parameter_derivatives(*state), tolerance=1e-13)


def test_rollouts_of_a_file_have_the_derivatives_of_the_robot(tmp_path) -> None:
    """The rate in the file is differentiated operation by operation, also in inertial parameters."""
    dyn = appell.compile(appell.load("puma560"), parameters="runtime")
    dyn.save(tmp_path / "puma.appell", functions=["inverse_dynamics"], rollouts=["pd"])
    loaded = appell.load_compiled(tmp_path / "puma.appell")
    rng = np.random.default_rng(1)
    q0, qd0 = rng.normal(size=(2, 3, 6))
    given = {"steps": 7, "dt": 1e-3, "law": "pd", "gains": {"kp": 20.0, "kd": 3.0}}
    own, other = (appell.rollout(each, q0, qd0, {"q": np.ones(6)}, **given) for each in (dyn, loaded))
    weights = rng.normal(size=own.q.shape)
    found, expected = other.vjp(weights, weights), own.vjp(weights, weights)
    assert_close(found.parameters, expected.parameters, tolerance=1e-12)
    assert_close(found.gains["kp"], expected.gains["kp"], tolerance=1e-12)
    assert_close(other.jvp(qd0=qd0).q, own.jvp(qd0=qd0).q, tolerance=1e-12)
