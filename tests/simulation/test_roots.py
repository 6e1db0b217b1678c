"""First times at which gaps close, on gaps with known roots."""

from __future__ import annotations

import math

import numpy as np
import pytest

from appell.simulation.roots import GRAZING_DEPTH, first_crossing, root

ALL = np.array([True])


def gaps_of(*functions):
    """Gaps and rates of functions given as (g, ġ)."""

    def gaps(times):
        g = np.stack([np.broadcast_to(f(times), times.shape) for f, _ in functions], axis=-1)
        return g, np.stack([np.broadcast_to(r(times), times.shape) for _, r in functions], axis=-1)

    return gaps


def parabola(height, low, at):
    """A gap that falls from afar, is lowest (`low`) at time `at`, and rises again."""
    return (lambda t: low + height * (t - at) ** 2, lambda t: 2 * height * (t - at))


def test_a_plain_crossing_is_found_to_1e_12():
    root = 0.437218731
    gap = (lambda t: np.cos(t) - np.cos(root), lambda t: -np.sin(t))
    found = first_crossing(gaps_of(gap), 0.0, 1.0, ALL)
    assert found == pytest.approx(root, abs=1e-12)


@pytest.mark.parametrize("at", [0.03, 0.31, 0.5, 0.77, 0.97])
@pytest.mark.parametrize("low", [-1e-3, -1e-6, -1e-10])
def test_a_gap_that_is_positive_at_both_ends_is_not_missed(at, low):
    found = first_crossing(gaps_of(parabola(3.0, low, at)), 0.0, 1.0, ALL)
    expected = at - np.sqrt(-low / 3.0)
    assert found is not None
    assert found == pytest.approx(max(expected, 0.0), abs=1e-12)


@pytest.mark.parametrize("low", [0.0, 1e-15, -0.4 * GRAZING_DEPTH, 1e-3])
def test_grazing_is_no_crossing(low):
    assert first_crossing(gaps_of(parabola(3.0, low, 0.4)), 0.0, 1.0, ALL) is None


def test_the_first_of_several():
    falling = (lambda t: 0.8 - t, lambda t: -1.0 + 0 * t)
    earlier = (lambda t: 0.3 - t, lambda t: -1.0 + 0 * t)
    assert first_crossing(gaps_of(falling, earlier), 0.0, 1.0, np.array([True, True])) == pytest.approx(0.3, abs=1e-12)
    assert first_crossing(gaps_of(falling, earlier), 0.0, 1.0, np.array([True, False])) == pytest.approx(0.8, abs=1e-12)


def test_only_the_first_of_many_is_searched_for():
    """All close within an eighth of the step, some in a dip; where one closes, those that are open are left out."""
    falling = [(lambda t, z=z: z - t, lambda t: -1.0 + 0.0 * t) for z in (0.07, 0.03, 0.05, 0.09, 0.11)]
    early, late = parabola(3.0, -1e-6, 0.02), parabola(3.0, -1e-6, 0.06)
    counted, several = [], gaps_of(*falling, early, late)

    def gaps(times):
        counted.append(len(times))
        return several(times)

    every = np.full(7, True)
    assert first_crossing(gaps, 0.0, 1.0, every) == pytest.approx(0.02 - np.sqrt(1e-6 / 3.0), abs=1e-12)
    assert first_crossing(gaps_of(*falling, late), 0.0, 1.0, every[:6]) == pytest.approx(0.03, abs=1e-12)
    assert len(counted) < 40  # 93 if all are


@pytest.mark.parametrize("noise", [-3e-16, 0.0, 4.4e-16, 3e-13])
@pytest.mark.parametrize("speed", [0.05, 1.0, 4.9])
def test_a_contact_that_has_just_opened_closes_at_its_next_touch(noise, speed):
    """g = v t - a t²/2 + noise, as after an impact: closed at the start up to rounding, and again at 2 v/a."""
    gap = (lambda t: noise + speed * t - 4.905 * t**2, lambda t: speed - 9.81 * t)
    found = first_crossing(gaps_of(gap), 0.0, 1.0, ALL)
    assert found == pytest.approx((speed + np.sqrt(speed**2 + 2 * 9.81 * noise)) / 9.81, abs=1e-12)


def test_a_contact_that_leaves_for_good():
    gap = (lambda t: -2e-16 + t, lambda t: 1.0 + 0 * t)
    assert first_crossing(gaps_of(gap), 0.0, 1.0, ALL) is None


def test_a_closed_contact_that_sinks_is_an_event_before_it_is_deep():
    gap = (lambda t: -1e-3 * t**2, lambda t: -2e-3 * t)
    found = first_crossing(gaps_of(gap), 0.0, 1.0, ALL)
    assert found is not None
    assert 1e-3 * found**2 == pytest.approx(GRAZING_DEPTH, rel=1e-3)


def test_values_that_are_not_finite_are_beyond_the_root():
    """Forces have no value beyond a pole, where states of a diverging step lie."""
    assert root(lambda t: 0.3 - t if t < 0.4 else math.nan if t < 0.9 else -1.0, 0.0, 1.0) == pytest.approx(0.3)
