"""A real robot: the Stäubli TX40 of the shared data (FIGAROH's recording), against published values."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.recorded_motion import PUBLISHED, PUBLISHED_COUPLING, TX40_TERMS, TX40_TRANSMISSION, tx40, tx40_recording

import appell
from appell.identification import Estimator, Filtering, Holdout
from appell.identification.cleaning import Segment
from appell.identification.physical import pseudo_inertia
from appell.identification.result import Identification
from appell.identification.validation import RelativeError
from appell.robot.regressor_terms import Coulomb, Coupling

ORDINARY = 0.109
"""Total relative error of ordinary least squares with a filter of 100 Hz on held-out blocks, found independently."""


def identified(**options) -> Identification:
    """Decimation by 10, as in the ordinary fit: forces hold everything below 200 Hz."""
    options = {"terms": TX40_TERMS, "filtering": Filtering(40.0, decimation=10), **options}
    return appell.identify(tx40(), *tx40_recording(), transmission=TX40_TRANSMISSION, **options)


@pytest.fixture(scope="module")
def free():
    return identified()


@pytest.fixture(scope="module")
def physical():
    return identified(physical=True)


def test_sixty_one_parameters(free):
    assert len(free.base_parameters) == 61
    assert free.base.certificate.gap > 1e9
    assert free.condition_number < 30


def test_held_out_blocks_are_predicted_better_than_by_ordinary_least_squares(free):
    assert free.relative_error.total < 0.09 < ORDINARY
    joints = list(free.relative_error.joints.values())
    assert np.max(joints) < 0.21
    assert np.max(joints[:3]) < 0.1


def test_friction_and_rotors_as_published(free):
    """Within 10 % where the standard error, as published ones are computed, is below 3 %: about three of these errors."""
    published = {
        f"{kind}[joint_{k + 1}]": value for kind, values in PUBLISHED.items() for k, value in enumerate(values)
    }
    published |= {f"{kind}[joint_5+joint_6]": value for kind, value in PUBLISHED_COUPLING.items()}
    names = [free.base.names[k] for k in free.base.independent]
    compared = 0
    for name, value in published.items():
        if name not in names:  # the rotors of joints 1 and 2 combine with moments of inertia
            continue
        k = names.index(name)
        ours = free.base_parameters[k]
        if free.white_standard_errors[k] < 0.03 * abs(ours):
            compared += 1
            assert abs(ours / value - 1.0) < 0.1, name
        assert abs(ours - value) < 3.0 * free.standard_errors[k] + 0.02 * abs(value), name
    assert compared >= 13


def test_links_that_can_exist_predict_as_well(free, physical):
    assert abs(physical.relative_error.total - free.relative_error.total) < 0.01
    eigenvalues = np.linalg.eigvalsh(pseudo_inertia(physical.parameters[:60].reshape(-1, 10)))
    assert (eigenvalues > 0).all()
    assert physical.consistent.all()
    assert (physical.parameters[60:78] > 0).all()  # rotors, viscous and dry friction
    again = appell.load(physical.to_urdf())
    assert again.joint("joint_1").damping == pytest.approx(7.97, rel=0.02)


def test_the_page_and_the_picture(physical, tmp_path):
    physical.report(tmp_path / "tx40.html")
    page = (tmp_path / "tx40.html").read_text()
    assert page.count("<img") == 5
    assert "fcm[joint_5+joint_6]" in page
    assert "http" not in page.split("<body>")[1].replace("http://www.w3.org", "")


@pytest.mark.slow
def test_every_choice_of_the_fifth_block(free):
    """Not only the blocks that were held out above: each fifth in turn is predicted from the others."""
    from appell.identification.fit import accumulate_qr, fit_base_parameters
    from appell.identification.observations import Observations
    from appell.identification.recorded_motion import filtered_motion

    t, q, tau = tx40_recording()
    q, tau = TX40_TRANSMISSION.joint_coordinates(q), TX40_TRANSMISSION.joint_forces(tau)
    motion = filtered_motion(tx40(), Segment(t, q, tau, None, np.ones(len(t), dtype=bool)), 40.0)
    seen = Observations(tx40(), TX40_TERMS, free.base, (motion,), 10, Holdout())
    number = np.floor((seen.t - motion.t[0]) / 0.5).astype(int)
    predicted, names = np.zeros_like(seen.forces), tx40().joint_names
    for phase in range(5):
        held = number % 5 == phase
        values = fit_base_parameters(
            accumulate_qr(seen.pieces(), free.base.used, held), free.base, "qr", "iterated"
        ).values
        predicted[held] = seen.predict(values)[held]
        assert RelativeError.of(names, seen.forces[held], predicted[held]).total < ORDINARY
    assert RelativeError.of(names, seen.forces, predicted).total < 0.092


@pytest.mark.slow
def test_friction_near_rest_and_the_filter_are_what_helps(free):
    """The ordinary fit in this library: sign of the speed, 100 Hz, equal weights."""
    options = {"filtering": Filtering(100.0, decimation=10), "estimator": Estimator(weights="equal")}
    plain = identified(terms=("rotor", "viscous", Coulomb(), "offset", Coupling(4, 5)), **options)
    smooth = identified(**options)
    assert free.relative_error.total < smooth.relative_error.total < plain.relative_error.total
    assert plain.relative_error.total == pytest.approx(ORDINARY, abs=0.025)
