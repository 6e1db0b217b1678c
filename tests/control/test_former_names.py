"""Former names of controllers and of the open controller work for one release and warn."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.control_rigs import LocalCard, driven

import appell

ARM = appell.load("planar2r")


def test_former_classes():
    with pytest.warns(DeprecationWarning, match="ComputedTorque"):
        assert appell.control.Tracking is appell.control.ComputedTorque
    with pytest.warns(DeprecationWarning, match="ComputedTorqueIntegral"):
        assert appell.control.IntegralTracking is appell.control.ComputedTorqueIntegral
    with pytest.warns(DeprecationWarning, match=r"SafetyLimits\(late=\) is now called lateness="):
        assert appell.control.SafetyLimits(late=0.1).lateness == 0.1  # type: ignore[call-arg]


def test_former_arguments_and_attributes_of_controllers():
    with pytest.warns(DeprecationWarning, match=r"PD\(limit=\) is now called effort_limit=") as caught:
        controller = appell.control.PD(ARM, [0.0, 0.0], kp=1.0, kd=1.0, limit=5.0)  # type: ignore[call-arg]
    assert caught[0].filename == __file__
    with pytest.warns(DeprecationWarning, match="effort_limits"):
        assert controller.limits.tolist() == [5.0, 5.0]
    with pytest.warns(DeprecationWarning, match="initial_memory"):
        assert controller.start(0.0, np.zeros(2), np.zeros(2)).size == 0


def test_former_arguments_and_attributes_of_runs():
    cycles = []
    with pytest.warns(DeprecationWarning, match="callback="):
        run = driven(LocalCard(), watch=cycles.append)
    with pytest.warns(DeprecationWarning, match=r"options=RunOptions\(bandwidth=\)"):
        driven(LocalCard(), bandwidth=150.0)
    with pytest.warns(DeprecationWarning, match="tracking_error"):
        assert (run.following() == run.tracking_error()).all()
    with pytest.warns(DeprecationWarning, match="lateness"):
        assert cycles[0].late == run.lateness[0]
