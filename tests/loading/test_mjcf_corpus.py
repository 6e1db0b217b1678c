"""Public MJCF models: every file is loaded, or raises an error with its reason, and its dynamics are those of MuJoCo."""

from __future__ import annotations

import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import SHARED
from helpers.states import random_states

import appell
from appell.model.joints import KINDS

mujoco = pytest.importorskip("mujoco")

FILES = sorted((SHARED / "corpus" / "mjcf").glob("*.xml"))
TOLERANCE, STATES, SECONDS = 1e-11, 2, 10.0

pytestmark = pytest.mark.skipif(not FILES, reason="shared/corpus is not beside this checkout")


@cache
def loaded(path: Path):
    """The robot, with at most one warning, in time."""
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        robot = appell.load(path)
    assert time.process_time() - start < SECONDS
    assert [warning.category for warning in caught] in ([], [appell.ModelWarning])
    return robot


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_dynamics_agree_with_mujoco(path: Path) -> None:
    """M = G^T M_there G and bias = G^T (bias_there + M_there Ġ qd), with G of couplings and of the axes of a free body."""
    robot = loaded(path)
    tree = robot.spanning_tree
    model = mujoco.MjModel.from_xml_path(str(path))
    data, names = mujoco.MjData(model), [model.joint(k).name or f"joint{k}" for k in range(model.njnt)]
    assert set(tree.joint_names) <= set(names)
    q, qd, _ = random_states(tree, STATES)
    unit = np.eye(tree.nv)
    for k in range(STATES):
        data.qpos[:], data.qvel[:] = tree.to_mujoco(q[k], qd[k], names)
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        G = np.stack([tree.to_mujoco(q[k], column, names)[1] for column in unit], axis=-1)
        turning = turning_rates(tree, names, q[k], qd[k])
        assert_close(tree.mass_matrix(q[k]), G.T @ M @ G, tolerance=TOLERANCE)
        bias = G.T @ (data.qfrc_bias + M @ turning)
        scale = max(np.abs(bias).max(), np.abs(M).max())  # a base that moves in a plane has no bias
        assert_close(tree.bias(q[k], qd[k]), bias, tolerance=TOLERANCE, scale=float(scale))


def turning_rates(tree, names, q, qd) -> np.ndarray:
    """Ġ qd: the velocity of a free body along the world's axes changes with w x v at constant components in the body."""
    rates = []
    for name in names:
        size = KINDS[tree.joint(name).kind].nv
        rates.append(np.zeros(size))
        if tree.joint(name).kind == "floating":
            i, k = tree.first_coordinates[name]
            v, w = qd[k : k + 3], qd[k + 3 : k + 6]
            rates[-1][:3] = rotated(q[i + 3 : i + 7], np.cross(w, v))
    return np.concatenate(rates)


def rotated(e: np.ndarray, v: np.ndarray) -> np.ndarray:
    """v turned by the unit quaternion e, x y z w."""
    return v + 2 * np.cross(e[:3], np.cross(e[:3], v) + e[3] * v)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_actuators_postures_and_loops_are_usable(path: Path) -> None:
    """Names of actuators and keyframes are MuJoCo's; loops close at the reference, where M is regular."""
    robot = loaded(path)
    model = mujoco.MjModel.from_xml_path(str(path))
    names = [actuator.name for actuator in robot.actuators]
    assert names == [model.actuator(a).name or f"actuator{a}" for a in range(model.nu)]
    assert list(robot.postures) == [model.key(i).name or f"key{i}" for i in range(model.nkey)]
    for q in robot.postures.values():
        assert q.shape == (robot.nq,)
    q = robot.neutral_configuration()
    if robot.closures:
        assert robot.solve_loop_closure(q).closed.all()
    assert np.linalg.eigvalsh(robot.mass_matrix(q)).min() > 0.0
