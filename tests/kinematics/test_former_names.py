"""Former names of trajectories and inverse kinematics work for one release and warn."""

from __future__ import annotations

import numpy as np
import pytest

import appell

ARM = appell.load("planar2r")


def test_former_functions_and_classes():
    with pytest.warns(DeprecationWarning, match="via_points"):
        assert appell.trajectories.via is appell.trajectories.via_points
    with pytest.warns(DeprecationWarning, match="joint_via_points"):
        assert appell.trajectories.joint_via is appell.trajectories.joint_via_points
    with pytest.warns(DeprecationWarning, match="require_within_limits"):
        assert appell.trajectories.check_limits is appell.trajectories.require_within_limits
    with pytest.warns(DeprecationWarning, match="TrajectoryError"):
        assert appell.TaskError is appell.errors.TrajectoryError


def test_former_arguments():
    with pytest.warns(DeprecationWarning, match="velocity="):
        move = appell.trajectories.joint_line(ARM, [0, 0], [1, 0], speed=2.0)  # type: ignore[call-arg]
    with pytest.warns(DeprecationWarning, match="orientation="):
        path = appell.trajectories.line([0, 0, 0], [1, 0, 0], attitude=np.eye(3), speed=1.0)  # type: ignore[call-arg]
    with pytest.warns(DeprecationWarning, match=r"LeastSquaresOptions\(restarts=\)"):
        appell.inverse_kinematics(ARM, [1.0, 0.1, 0.0], restarts=1)  # type: ignore[call-arg]
    with pytest.warns(DeprecationWarning, match="dimension"):
        assert path.rows == 6
    violation = appell.trajectories.limit_violations(move, ARM, velocity=1.5)[0]
    with pytest.warns(DeprecationWarning, match="start"):
        assert violation.time == violation.start
    with pytest.warns(DeprecationWarning, match="limit_value"):
        assert violation.limit == violation.limit_value == 1.5
