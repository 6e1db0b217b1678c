"""Checks of a fit: what each finds just beyond its bound, and not within."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import appell
from appell.identification import sanity
from appell.identification.base import base_parameters
from appell.identification.cleaning import Segment
from appell.identification.fit import accumulate_qr, fit_base_parameters
from appell.identification.observations import Rows
from appell.robot.regressor_terms import Coulomb, Offset, Rotor, Viscous


@pytest.fixture(scope="module")
def base():
    return base_parameters(appell.load("planar2r"), (Rotor(), Viscous(), Coulomb(0.01), Offset()))


@pytest.mark.parametrize(("size", "found"), [(-2.9, False), (-3.1, True), (3.1, False)])
def test_friction_and_rotors_below_zero(base, size, found, monkeypatch):
    """By three standard errors; an offset may be negative, and what the motion does not determine may be anything."""
    values, errors = np.ones(len(base)), np.full(len(base), 0.5)
    for k, index in enumerate(base.independent):
        if base.names[index] in ("fv[joint2]", "fc[joint1]", "fc[joint2]", "offset[joint1]"):
            values[k] = 0.5 * size
    unknown: list[int] = []
    monkeypatch.setattr(sanity, "unexcited_parameters", lambda data: (unknown, []))
    findings = list(sanity.check_values(base, values, errors, None))  # type: ignore[arg-type]
    expected = (
        [("negative viscous friction", "joint2"), ("negative Coulomb friction", "joint1, joint2")] if found else []
    )
    assert [(each.kind, each.where) for each in findings] == expected
    if found:
        assert findings[0].evidence == f"fv[joint2] = {0.5 * size:.4g} +- 0.5"
        unknown += [k for k, index in enumerate(base.independent) if base.names[index].startswith("f")]
        assert not list(sanity.check_values(base, values, errors, None))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mass", "error", "found"),
    [
        (5.9, 0.1, False),
        (6.1, 0.1, True),
        (0.68, 0.1, False),
        (0.65, 0.1, True),
        (6.1, 1.4, False),
        (6.1, 1.3, True),
        (-1.0, 0.5, True),
    ],
)
def test_masses_far_from_the_description(mass, error, found):
    """A third or three times of 2 kg, and three standard errors away."""
    arguments = (["a", "b"], np.array([mass, 9.0]), np.array([error, 0.1]), np.array([2.0, 0.0]))
    assert [each.where for each in sanity.check_masses(*arguments)] == (["a"] if found else [])
    small = ([each] for each in ("a", 0.1 * mass, 0.1 * error, 0.2))
    assert bool(list(sanity.check_masses(*small))) == found  # type: ignore[arg-type]


def test_torque_constants():
    names = ("a", "b")
    assert not list(sanity.check_torque_constants(None, names))
    assert not list(sanity.check_torque_constants(0.5, names))
    assert not list(sanity.check_torque_constants([[1.0, -1.0], [-1.0, 1.0]], names))
    (finding,) = sanity.check_torque_constants([[1.0, 1.0], [1.0, -2.0]], names)
    assert (finding.where, finding.evidence) == ("b", "-2")
    (finding,) = sanity.check_torque_constants([0.0, 1.0], names)
    assert (finding.where, finding.evidence) == ("a", "0")
    (finding,) = sanity.check_torque_constants(-1.0, names)
    assert finding.where == "a, b"


def test_currents_without_constants():
    recordings = [SimpleNamespace(name="one", currents=True), SimpleNamespace(name="two", currents=False)]
    (finding,) = sanity.check_currents(recordings, None)  # type: ignore[arg-type]
    assert finding.where == "one"
    assert not list(sanity.check_currents(recordings, 1.0))  # type: ignore[arg-type]
    assert not list(sanity.check_currents(recordings[1:], None))  # type: ignore[arg-type]


@pytest.mark.parametrize(("least", "found"), [(0.35, True), (0.37, False)])
def test_exchanged_columns_need_a_product_of_errors_of_0_36(least, found):
    ratios = {(0, 1): 0.9, (0, 2): least, (1, 2): 0.5}
    findings = list(sanity._exchanged(lambda pair: 2.0 * ratios[pair] if pair else 2.0, "abc", "forces"))
    assert [each.where for each in findings] == (["a and c"] if found else [])
    assert not found or f"is {least:.2g} of this" in findings[0].evidence
    assert not list(sanity._exchanged(lambda pair: 1.0, "a", "forces"))


def test_the_product_of_relative_errors():
    """Of the forces that have power."""
    data = SimpleNamespace(
        base_columns=None,
        powers=lambda rhs: np.tile(np.array([0.04, 0.0, 0.09])[list(rhs)], (2, 1)),
        residuals=lambda active, rhs, cross: np.array([[0.01, 0.005, 0.005], [0.01, 0.005, 0.0]]) + cross,
    )
    assert sanity._error_product(data, [0, 1, 2]) == pytest.approx(np.sqrt(2.0 / 8.0 * 0.5 / 18.0))  # type: ignore[arg-type]
    data.residuals = lambda active, rhs, cross: np.zeros((2, 3))
    assert 1e18 * sanity._error_product(data, [0, 2, 2]) == pytest.approx(1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("spread", "error", "found"), [(0.09, 0.0, False), (0.11, 0.0, True), (0.11, 0.06, False), (0.13, 0.06, True)]
)
def test_uncertain_predictions_elsewhere(base, spread, error, found):
    """A tenth of the forces, or twice the error of the fit: one parameter of value 2 with standard deviation 2 spread."""
    b = len(base)
    K, values, covariance = np.zeros((7, 2, b)), np.zeros(b), np.zeros((b, b))
    K[:, 0, 3] = 5.0
    values[3] = 2.0
    covariance[3, 3] = (2.0 * spread) ** 2
    covariance[1, 1] = 100.0  # has no effect
    robot, fastest = SimpleNamespace(actuator_names=("a", "b")), np.array([1.5, 2.5])
    findings = list(sanity.check_excitation(robot, base, K, values, covariance, 70, error, fastest))  # type: ignore[arg-type]
    assert bool(findings) == found
    if found:
        assert findings[0].where.startswith(base.base_names[3] + ", ")
        assert len(findings[0].where.split(", ")) == 5
        assert f"is {100 * spread:.3g} % of the forces" in findings[0].evidence
        assert "70 samples were fitted, velocities up to 1.5, 2.5 rad/s" in findings[0].evidence
        assert "a, b move farther" in findings[0].remedy


@pytest.mark.parametrize(("ratio", "found"), [(0.58, True), (0.62, False)])
def test_an_opposite_sign_needs_a_product_of_residuals_of_0_6(monkeypatch, base, ratio, found):
    """The residuals are squares: their product with the sign of the second force changed is the square of the ratio."""
    factors = tuple(SimpleNamespaceFactor(float(k + 1)) for k in range(2))
    data = Residuals(factors, ratio)
    monkeypatch.setattr(sanity, "replace", lambda old, **new: old.changed(**new))
    monkeypatch.setattr(sanity, "fit_base_parameters", lambda *given: SimpleNamespace(values=None))
    findings = list(sanity.check_signs(data, SimpleNamespace(values=None), base, ("a", "b")))  # type: ignore[arg-type]
    assert [each.where for each in findings] == (["b"] if found else [])
    assert not found or f"is {ratio:.2g} of this" in findings[0].evidence


class SimpleNamespaceFactor:
    def __init__(self, z):
        self.z = z

    def changed(self, z):
        return SimpleNamespaceFactor(z)


class Residuals:
    def __init__(self, factors, ratio):
        self.factors, self.ratio = factors, ratio

    def changed(self, factors):
        return Residuals(factors, self.ratio)

    def residuals(self, values):
        flipped = [factor.z < 0 for factor in self.factors]
        if flipped == [False, True]:
            return np.array([4.0 * self.ratio, 9.0 * self.ratio])
        return np.array([4.0, 9.0])


def test_parameters_without_effect_or_in_combinations_are_named(monkeypatch, base):
    names = base.base_names
    for alone, mixed in (([0, 2], [1]), ([], [3]), ([], [])):
        monkeypatch.setattr(sanity, "unexcited_parameters", lambda data, found=(alone, mixed): found)
        findings = list(sanity.check_unexcited(None, base))  # type: ignore[arg-type]
        assert [each.where for each in findings] == [", ".join(names[k] for k in own) for own in (alone, mixed) if own]
        expected = ["they have no effect on the recorded motion"] * bool(alone)
        expected += ["they appear in combinations only on the recorded motion"] * bool(mixed)
        assert [each.evidence for each in findings] == expected


def test_forces_as_recorded_are_the_last_right_hand_sides(monkeypatch):
    """Two are exchanged at a time."""
    orders = []
    monkeypatch.setattr(sanity, "_error_product", lambda data, order: orders.append(list(order)) or 1.0)
    data = SimpleNamespace(p=np.zeros((5, 3, 16)))
    assert not list(sanity.check_columns(data, ("a", "b", "c")))  # type: ignore[arg-type]
    assert orders == [[13, 14, 15], [14, 13, 15], [15, 14, 13], [13, 15, 14]]


def test_positions_are_exchanged_in_every_part_that_is_long_enough(monkeypatch):
    robot = appell.load("planar2r")
    t = 0.01 * np.arange(60)
    q = np.stack([np.sin(t), np.cos(t)], axis=1)
    parts = [Segment(t[:n], q[:n], q[:n], None, np.ones(n, dtype=bool)) for n in (60, 12)]
    seen = []
    monkeypatch.setattr(sanity, "filtered_motion", lambda robot, part, cutoff: seen.append(part.q) or part)
    monkeypatch.setattr(sanity, "products", lambda robot, base, terms, others, motions: len(seen))
    monkeypatch.setattr(sanity, "_error_product", lambda data, rhs: (assert_range(rhs), 1.0 / data**3)[1])
    (finding,) = sanity.check_positions(robot, parts, None, (), None)  # type: ignore[arg-type]
    assert finding.where == "joint1 and joint2"
    assert "is 0.12 of this" in finding.evidence
    assert len(seen) == 2
    assert (seen[0] == q).all()
    assert (seen[1] == q[:, ::-1]).all()


def assert_range(rhs):
    assert list(rhs) == [0, 1]


def test_the_worst_parameters_and_joints_are_named(base):
    """Five parameters by their share of the variance, three joints by their relative uncertainty, with their speeds."""
    b, n = len(base), 4
    K = np.zeros((1, n, b))
    for j in range(n):
        K[0, j, j] = 1.0
    K[0, 0, 4:6] = 0.5, 1.0
    values = np.array([1.0] * n + [0.0] * (b - n))
    covariance = np.diag([4.0, 1.0, 9.0, 16.0, 0.12, 0.02, *([0.0] * (b - 6))])
    robot = SimpleNamespace(actuator_names=("a", "b", "c", "d"))
    fastest = np.array([1.5, 2.5, 3.5, 4.5])
    (finding,) = sanity.check_excitation(robot, base, K, values, covariance, 70, 0.0, fastest)  # type: ignore[arg-type]
    assert finding.where == ", ".join(base.base_names[k] for k in (3, 2, 0, 1, 4))
    assert "d, c, a move farther" in finding.remedy
    assert "velocities up to 4.5, 3.5, 1.5 rad/s" in finding.evidence
    total = np.sqrt(30.05 / 4.0)
    assert f"{100 * total:.3g} % of the forces" in finding.evidence
    (other,) = sanity.check_excitation(robot, base, K, values, covariance, 70, 0.0, fastest[:3])  # type: ignore[arg-type]
    assert "velocities up to 3.5 rad/s" in other.evidence


def test_the_opposite_sign_of_a_force_fits_the_other():
    """Two forces of one parameter: with one sign changed nothing is left, so that the sign is named."""
    rng = np.random.default_rng(0)
    K = rng.normal(size=(40, 2, 1))
    tau = 3.0 * K[..., 0] * [1.0, -1.0] + 0.1 * rng.normal(size=(40, 2)) * [1.0, 1.0]
    tau[:, 0] += 0.05 * K[:, 1, 0]
    data = accumulate_qr([Rows(0, K, tau)], np.ones((2, 1), dtype=bool), np.zeros(40, dtype=bool))
    fit = fit_base_parameters(data, None, "svd", "iterated", None)  # type: ignore[arg-type]
    (finding,) = sanity.check_signs(data, fit, None, ("a", "b"))  # type: ignore[arg-type]
    flipped = [tau * [-1.0, 1.0], tau * [1.0, -1.0]]
    products = []
    for forces in (tau, *flipped):
        other = accumulate_qr([Rows(0, K, forces)], np.ones((2, 1), dtype=bool), np.zeros(40, dtype=bool))
        values = fit_base_parameters(other, None, "svd", "iterated", None).values  # type: ignore[arg-type]
        products.append(np.sqrt(((forces - K @ values) ** 2).sum(axis=0).prod()))
    assert finding.where == "ab"[int(np.argmin(products[1:]))]
    assert f"is {min(products[1:]) / products[0]:.2g} of this" in finding.evidence
