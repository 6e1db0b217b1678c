"""Pictures of rollouts."""

from __future__ import annotations

import numpy as np
import pytest

import appell
from appell.rollouts.plot import robot_rows


@pytest.mark.parametrize("count", [3, 40])
def test_every_coordinate_has_a_panel(count: int, tmp_path) -> None:
    arm = appell.compile(appell.load("planar2r"))
    q0 = np.random.default_rng(0).uniform(-1, 1, (count, 2))
    found = appell.rollout(arm, q0, 0 * q0, steps=30, dt=1e-2)
    figure = found.plot(tmp_path / "r.png")
    assert len(figure.axes) == 4
    drawn = figure.axes[0].lines
    assert len(drawn) == (count if count <= 12 else 1)
    assert all("[" in panel.get_ylabel() for panel in figure.axes)
    if count > 12:
        np.testing.assert_allclose(drawn[0].get_ydata(), np.median(found.q[..., 0], axis=0))


def test_columns_are_rows_again() -> None:
    values = np.arange(2 * 5 * 7.0).reshape(7, 5, 2)
    assert np.array_equal(robot_rows(values.transpose(2, 1, 0), columns=True), values)
    assert robot_rows(values[0], columns=False).shape == (1, 5, 2)
