"""Every URDF of the corpus: a robot or an error that names the reason, agreement with Pinocchio, exact round trips.

`python tests/loading/test_corpus.py` prints the table of docs/howto/describe.md.
"""

from __future__ import annotations

import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import SHARED

import appell
from appell.algorithms.kinematics import world_motion
from appell.algorithms.system import find_for
from appell.model.tree import BASE
from appell.model.writers.xml_edit import children, parse_document
from appell.robot.robot import Robot

FILES = sorted((SHARED / "corpus" / "urdf").glob("*.urdf")) + sorted((SHARED / "robots").glob("*.urdf"))
pytestmark = pytest.mark.skipif(not FILES, reason="shared/corpus is not beside this checkout")
over_files = pytest.mark.parametrize("path", FILES, ids=[path.stem.replace("__", "-") for path in FILES])


def loaded(path: Path, **options) -> Robot:
    """The robot; a test that needs one is skipped where the file is refused, which `test_every_file_is_answered` covers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        try:
            return appell.load(path, **options)
        except appell.ModelError as error:
            pytest.skip(f"no robot: {sorted({problem.kind for problem in error.problems})}")


def has_mass(robot: Robot) -> bool:
    return not robot.tree.mass_defects


def state(robot: Robot) -> tuple[list[float], list[float], list[float]]:
    rng = np.random.default_rng(7)
    q = robot.integrate(robot.neutral_configuration(), rng.uniform(-2.0, 2.0, robot.nv))
    return q.tolist(), rng.uniform(-2.0, 2.0, robot.nv).tolist(), rng.uniform(-2.0, 2.0, robot.nv).tolist()


@over_files
def test_every_file_is_answered(path):
    """Within seconds, by a robot whose kinematics is finite or by an error with a place and a reason for each defect."""
    start = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            robot = appell.load(path)
        except appell.ModelError as error:
            robot, problems = None, error.problems
    assert len(caught) <= 1
    if robot is None:
        assert problems
        assert all(problem.what and problem.fix and problem.file == path.name for problem in problems)
    else:
        assert np.isfinite([[*motion.p] for motion in world_motion(robot.tree, state(robot)[0])]).all()
        if not has_mass(robot):
            with pytest.raises(appell.ModelError, match="mass_matrix needs mass"):
                robot.mass_matrix(robot.neutral_configuration())
    assert time.process_time() - start < 10.0


@over_files
def test_agrees_with_pinocchio(path):
    """Poses of all bodies and, where the masses allow it, inverse dynamics and mass matrix."""
    pin = pytest.importorskip("pinocchio")
    from helpers.pinocchio_peer import Peer, model_of_robot

    robot = loaded(path)
    tree, (q, qd, qdd) = robot.tree, state(robot)
    try:
        model = pin.buildModelFromUrdf(str(path))
    except (ValueError, RuntimeError):  # what urdfdom refuses: revolute joints without limits, undeclared roots
        model = model_of_robot(robot)
    peer = Peer(robot, model)
    pin.framesForwardKinematics(peer.model, peer.data, peer.configuration(np.array(q)))
    motions = world_motion(tree, q)
    for name, frame in tree.frames.items():
        R, p = (tree.base, (0.0, 0.0, 0.0)) if frame.link == BASE else motions[frame.link][:2]
        R = np.array([*R]).reshape(3, 3)
        here = np.column_stack([R @ np.array([*frame.R]).reshape(3, 3), R @ np.array([*frame.p]) + np.array([*p])])
        there = peer.data.oMf[peer.frame(name)].homogeneous[:3]
        assert_close(here, there, tolerance=1e-11, scale=max(1.0, np.abs(there).max()), what=name)
    if has_mass(robot):
        tau = np.array(find_for(tree, "inverse_dynamics")[2](tree, q, qd, qdd))
        expected = peer.inverse_dynamics(*map(np.array, (q, qd, qdd)))
        assert_close(tau, expected, tolerance=1e-11, scale=np.abs(expected).max(initial=0.0))
        M = np.array(find_for(tree, "mass_matrix", "composite")[2](tree, q)).reshape(robot.nv, robot.nv)
        expected = peer.mass_matrix(np.array(q))
        assert_close(M, expected, tolerance=1e-11, scale=np.abs(expected).max(initial=0.0))
        assert robot.nv == 0 or np.linalg.eigvalsh(M).min() > 0.0


@over_files
def test_round_trips(path):
    """Unchanged, the text itself; with other masses and friction, only those elements differ; without it, the same robot."""
    robot = loaded(path)
    text = robot.to_urdf()
    assert text == path.read_bytes().decode("utf-8-sig")
    bodies = tuple(
        replace(body, mass=1.1 * body.mass, com=(0.1, 0.2, 0.3)) if body.mass else body for body in robot.bodies
    )
    joints = tuple(replace(joint, damping=joint.damping + 0.25) for joint in robot.joints)
    changed = replace(robot, bodies=bodies, joints=joints)
    written = changed.to_urdf()
    assert reread(written) == changed
    assert unread(written) == unread(text)
    fresh = replace(changed, document=None)
    assert reread(fresh.to_urdf()) == changed


def reread(text: str) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        return appell.load(text)


def unread(text: str) -> list:
    """All elements and comments but those that `test_round_trips` changes."""
    root, _ = parse_document(text)
    for node in [node for tag in ("link", "joint") for each in children(root, tag) for node in each]:
        if node.tag in ("inertial", "dynamics"):
            node.getparent().remove(node)
    return [(str(node.tag), sorted(node.attrib.items()), (node.text or "").strip()) for node in root.iter()]


def answer(path: Path) -> str:
    """What `appell.load` makes of a file, in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        try:
            robot = appell.load(path)
        except appell.ModelError as error:
            kinds = dict.fromkeys(problem.kind for problem in error.problems if problem.severity == "error")
            return f"refused: {', '.join(kinds)}"
    return "dynamics" if has_mass(robot) else "kinematics only"


if __name__ == "__main__":
    for words, count in Counter(map(answer, FILES)).most_common():
        print(f"| {words} | {count} |")
