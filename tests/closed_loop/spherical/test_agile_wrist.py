"""The agile wrist against reference values that were made without this library."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import reference
from helpers.spherical_robots import wrist

TOLERANCE = 1e-11


@pytest.fixture(scope="module")
def samples() -> dict[str, np.ndarray]:
    found = reference("agile_wrist")["cases"]["rho_ee_0|plus"]["samples"]
    return {key: np.array([sample[key] for sample in found]) for key in found[0]}


@pytest.mark.parametrize(("link", "key"), [(0, "arc1"), (1, "arc2")])
def test_arcs_are_those_of_the_reference(link, key):
    expected, body = reference("agile_wrist")[key], wrist().legs[0].bodies[link]
    about = wrist().system.legs[0].inertias[link].at_origin.full()
    assert_close(np.array([body.mass, *body.com]), np.array([expected["m"], *expected["com"]]), tolerance=TOLERANCE)
    assert_close(np.array(list(about)).reshape(3, 3), np.array(expected["I_centre"]), tolerance=TOLERANCE)


def test_joint_angles_rates_and_accelerations(samples):
    q, qd, qdd = samples["q"], samples["qd"], samples["qdd"]
    found = {
        "": wrist().joint_angles(q), "d": wrist().joint_velocities(q, qd), "dd": wrist().joint_accelerations(q, qd, qdd),
    }  # fmt: skip
    for dots, values in found.items():
        theta, psi, _ = np.moveaxis(values.reshape(-1, 3, 3), -1, 0)
        assert_close(theta, samples[f"theta{dots}"], tolerance=TOLERANCE, what=f"theta{dots}")
        assert_close(psi, samples[f"psi{dots}"], tolerance=TOLERANCE, what=f"psi{dots}")


@pytest.mark.parametrize("method", ["gibbs", "abedloo2014"])
def test_torques(samples, method):
    tau = wrist().inverse_dynamics(samples["q"], samples["qd"], samples["qdd"], method=method)
    assert_close(tau, samples["tau"], tolerance=TOLERANCE)
    qdd = wrist().forward_dynamics(samples["q"], samples["qd"], samples["tau"])
    assert_close(qdd, samples["qdd"], tolerance=TOLERANCE)


def test_matrices(samples):
    q, qd = samples["q"], samples["qd"]
    assert_close(wrist().mass_matrix(q), samples["M"], tolerance=TOLERANCE)
    assert_close(wrist().gravity(q), samples["G"], tolerance=TOLERANCE)
    assert_close(wrist().actuator_jacobian(q), samples["Jact"], tolerance=TOLERANCE)
    assert_close(wrist().bias(q, qd), samples["Cqd"] + samples["G"], tolerance=TOLERANCE)
    for method in ("christoffel", "abedloo2014"):
        Cqd = np.einsum("nij,nj->ni", wrist().coriolis_matrix(q, qd, method=method), qd)
        assert_close(Cqd, samples["Cqd"], tolerance=TOLERANCE, what=method)
