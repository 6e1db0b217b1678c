"""Bodies that can exist: pseudo-inertias, their coordinates, and fits among them."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from hypothesis import given
from hypothesis import strategies as st

import appell
from appell.identification import physical as pseudo
from appell.identification.base import base_parameters
from appell.identification.physical import PriorParameters, nearest_parameters, physical_fit, prior_parameters
from appell.robot.regressor_terms import Offset, Viscous

numbers = st.floats(-2.0, 2.0)
coordinates = st.lists(numbers, min_size=10, max_size=10).map(np.array)


def cloud(seed: int, points: int = 6) -> np.ndarray:
    """Parameters of some point masses: a body that exists if they do not lie in a plane."""
    rng = np.random.default_rng(seed)
    masses, places = rng.uniform(0.1, 2.0, points), rng.normal(size=(points, 3))
    m, first = masses.sum(), masses @ places
    tensor = sum(
        mass * (place @ place * np.eye(3) - np.outer(place, place)) for mass, place in zip(masses, places, strict=True)
    )
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor
    return np.array([m, *first, xx, xy, yy, xz, yz, zz])


def test_pseudo_inertia_of_point_masses():
    for seed in range(5):
        body = cloud(seed)
        assert pseudo.is_consistent(body)
        assert_close(pseudo.parameters_of(pseudo.pseudo_inertia(body)), body, tolerance=1e-14)
        assert not pseudo.is_consistent(cloud(seed, points=2) - 1e-9 * np.eye(10)[0])


@given(coordinates)
def test_all_coordinates_are_bodies_that_can_exist(theta):
    values, _ = pseudo.from_log_cholesky(theta, pseudo.cholesky_factor(cloud(1)))
    eigenvalues = np.linalg.eigvalsh(pseudo.pseudo_inertia(values))
    assert eigenvalues.min() > -1e-12 * eigenvalues.max()
    assert values[0] > 0


def test_the_places_of_the_coordinates():
    """Logarithms on the diagonal, then the upper triangle row by row."""
    theta = np.arange(1.0, 11.0) / 10.0
    V = np.diag(np.exp(theta[:4]))
    V[np.triu_indices(4, 1)] = theta[4:]
    assert_close(pseudo.from_log_cholesky(theta, np.eye(4))[0], pseudo.parameters_of(V @ V.T), tolerance=1e-13)
    U = pseudo.cholesky_factor(cloud(1))
    assert_close(U @ U.T, pseudo.pseudo_inertia(cloud(1)), tolerance=1e-12)
    assert not np.tril(U, -1).any()


def test_pseudo_inertias_of_many_bodies():
    bodies = np.array([[cloud(3 * i + k) for k in range(3)] for i in range(2)])
    P = pseudo.pseudo_inertia(bodies)
    assert P.shape == (2, 3, 4, 4)
    assert_close(pseudo.parameters_of(P), bodies, tolerance=1e-13)
    bodies[1, 2, 9] = -1.0
    assert pseudo.is_consistent(bodies).tolist() == [[True] * 3, [True, True, False]]
    m, mx, my, mz, xx, xy, yy, xz, yz, zz = cloud(0)
    half = 0.5 * (xx + yy + zz)
    expected = [[half - xx, -xy, -xz, mx], [-xy, half - yy, -yz, my], [-xz, -yz, half - zz, mz], [mx, my, mz, m]]
    assert_close(P[0, 0], np.array(expected), tolerance=1e-13)


def test_a_fit_that_does_not_converge(monkeypatch):
    from scipy import optimize

    real, prior = optimize.least_squares, PriorParameters(cloud(3), 1, np.zeros(0, dtype=bool), np.zeros(0))
    monkeypatch.setattr(optimize, "least_squares", lambda *given, **own: real(*given, **{**own, "max_nfev": 1}))
    with pytest.raises(appell.IdentificationError, match="did not converge in 1 steps"):
        physical_fit(100 * np.eye(10), 100 * cloud(5), np.eye(10), prior, 1.0)


@given(coordinates)
def test_the_jacobian_is_exact(theta):
    U = pseudo.cholesky_factor(cloud(2))
    _, slopes = pseudo.from_log_cholesky(theta, U)
    step = 1e-6
    measured = np.array([
        (pseudo.from_log_cholesky(theta + step * unit, U)[0] - pseudo.from_log_cholesky(theta - step * unit, U)[0]) / (2 * step)
        for unit in np.eye(10)
    ]).T  # fmt: skip
    assert_close(slopes, measured, tolerance=1e-7)


@given(st.integers(0, 1000))
def test_minimum_inertia_keeps_consistent_links(seed):
    body = cloud(seed)
    assert_close(pseudo.with_minimum_inertia(body, 1e-9, 1e-9), body, tolerance=1e-9)
    rod = pseudo.with_minimum_inertia(np.array([2.0, 0, 0, 1.0, 0.5, 0, 0.5, 0, 0, 0.0]), 0.02, 1e-3)
    assert pseudo.is_consistent(rod)
    assert_close(rod[:4], [2.0, 0.0, 0.0, 1.0])
    nothing = pseudo.with_minimum_inertia(np.zeros(10), 0.02, 0.5)
    assert pseudo.is_consistent(nothing)
    assert nothing[0] == 0.5


def test_data_decide_where_there_are_some_and_the_prior_elsewhere():
    """Two bodies; of the second only the mass is seen, which is a function of one coordinate: its centre of mass stays."""
    known, truth = np.concatenate([cloud(3), cloud(4)]), np.concatenate([cloud(5), cloud(6)])
    prior = PriorParameters(known, 2, np.zeros(0, dtype=bool), np.zeros(0))
    B = np.eye(20)[:11]
    found = physical_fit(1e6 * np.eye(11), 1e6 * truth[:11], B, prior, 1.0)
    assert_close(found.parameters[:11], truth[:11], tolerance=1e-5)
    center = found.parameters[11:14] / found.parameters[10]
    assert_close(center, known[11:14] / known[10], tolerance=1e-6)
    assert pseudo.is_consistent(found.parameters.reshape(2, 10)).all()
    close = nearest_parameters(prior, B, truth[:11])
    assert_close(B @ close, truth[:11], tolerance=1e-10)


def test_impossible_data_give_the_nearest_body_that_exists():
    """A negative moment of inertia is asked for, about which the data are sure; masses stay positive."""
    asked = cloud(7)
    asked[9] = -0.5
    prior = PriorParameters(cloud(7), 1, np.zeros(0, dtype=bool), np.zeros(0))
    found = physical_fit(100 * np.eye(10), 100 * asked, np.eye(10), prior, 1.0)
    assert pseudo.is_consistent(found.parameters)
    assert 0 < found.parameters[9] < cloud(7)[9]


def test_the_standard_deviation_of_the_prior_decides_between_prior_and_data():
    """One measured mass, twice the prior's, with noise of the same size as a prior of standard deviation 0.1."""
    known = cloud(3)
    prior = PriorParameters(known, 1, np.zeros(0, dtype=bool), np.zeros(0))
    B = np.eye(10)[:1]
    weight = 1.0 / (0.2 * known[0])  # the mass is e^2θ of the prior's: 0.1 of θ are 0.2 of it
    found = {
        std: physical_fit(weight * np.eye(1), np.array([weight * 2.0 * known[0]]), B, prior, std)
        for std in (1e-3, 0.1, 10.0)
    }
    masses = {std: fit.parameters[0] / known[0] for std, fit in found.items()}
    assert masses[1e-3] < 1.001
    assert 1.3 < masses[0.1] < 1.8
    assert masses[10.0] > 1.999
    assert found[10.0].mass_errors[0] == pytest.approx(0.2 * known[0], rel=0.02)
    assert found[1e-3].mass_errors[0] == pytest.approx(2e-3 * known[0], rel=0.02)


def test_minimum_inertia_raises_mass_and_moments_to_the_bounds():
    """A mass of 0.1 kg becomes 0.5 kg at the origin; moments of Euler's tensor below m r² become m r²."""
    light = pseudo.with_minimum_inertia(np.array([0.1, 0.1, 0, 0, 0.2, 0, 0.2, 0, 0, 0.2]), 0.02, 0.5)
    assert_close(light[:4], [0.5, 0.0, 0.0, 0.0])
    com, mass = np.array([0.1, -0.2, 0.3]), 2.0
    euler = np.diag([0.001, 0.5, 0.0001]) + mass * np.outer(com, com)
    P = np.block([[euler, mass * com[:, None]], [mass * com[None], np.array([[mass]])]])
    found = pseudo.pseudo_inertia(pseudo.with_minimum_inertia(pseudo.parameters_of(P), 0.02, 0.5))
    expected = np.diag([0.001, 0.5, 0.0008]) + mass * np.outer(com, com)
    assert_close(found[:3, :3], expected, tolerance=1e-12)
    assert_close(found[:3, 3], mass * com, tolerance=1e-12)


def test_coordinates_of_terms_are_logarithms_or_multiples():
    known = cloud(3)
    prior = PriorParameters(np.array([*known, 2.0, -3.0]), 1, np.array([True, False]), np.array([2.0, 0.5]))
    theta = np.zeros(12)
    theta[10:] = 0.3, 4.0
    values, slopes = prior.at(theta)
    assert_close(values, np.array([*known, 2.0 * np.exp(0.3), -1.0]), tolerance=1e-13)
    assert_close(slopes[10:, 10:], np.diag([2.0 * np.exp(0.3), 0.5]), tolerance=1e-13)
    assert not slopes[:10, 10:].any()
    assert not slopes[10:, :10].any()


def test_terms_have_a_wide_prior():
    """A parameter of a term with data as sure as its prior, 10 times its value, ends halfway."""
    prior = PriorParameters(np.array([*cloud(3), 1.0]), 1, np.array([False]), np.array([1.0]))
    found = physical_fit(np.array([[0.1]]), np.array([0.1 * 5.0]), np.eye(11)[10:], prior, 1.0)
    assert found.parameters[10] == pytest.approx(3.0, rel=1e-6)
    assert_close(found.parameters[:10], cloud(3), tolerance=1e-9)
    assert found.covariance[0, 0] == pytest.approx(50.0, rel=1e-6)


def test_where_a_prior_begins():
    """Links get a thousandth of the whole mass and 0.02 m; terms fitted values, else nominal ones, some above zero."""
    robot = appell.load("planar2r")
    terms = (Viscous(), Offset())
    base = base_parameters(robot, terms)
    names = list(base.names)
    values = np.zeros(len(base))
    fitted = {"fv[joint1]": 0.7, "fv[joint2]": -0.4, names[-1]: -2.5}
    for k, index in enumerate(base.independent):
        values[k] = fitted.get(names[index], 0.0)
    nominal = np.zeros(len(names))
    nominal[:10] = cloud(3)
    prior = prior_parameters(robot, terms, base, values, nominal)
    mass = cloud(3)[0]
    links = prior.parameters[:20].reshape(2, 10)
    assert_close(links[0], cloud(3), tolerance=1e-9)
    assert links[1][0] == pytest.approx(1e-3 * mass)
    assert_close(pseudo.pseudo_inertia(links[1])[:3, :3], 1e-3 * mass * 4e-4 * np.eye(3), tolerance=1e-9)
    assert_close(prior.parameters[20:], np.array([0.7, 0.7, 0.0, -2.5]))
    assert prior.positive.tolist() == [True, True, False, False]
    assert_close(prior.scale, np.array([0.7, 0.7, 1.0, 2.5]))
    for k, index in enumerate(base.independent):
        values[k] = 0.0 if names[index] == "fv[joint2]" else values[k]
    assert_close(prior_parameters(robot, terms, base, values, nominal).parameters[20:22], np.array([0.7, 0.7]))
    light = prior_parameters(robot, terms, base, values, 0.5 / mass * nominal)
    assert light.parameters[10] == pytest.approx(0.5e-3)
    empty = prior_parameters(robot, terms, base, np.zeros(len(base)), np.zeros(len(names)))
    assert empty.parameters[0] == 1.0
    assert_close(empty.parameters[20:22], np.array([1e-3, 1e-3]))
