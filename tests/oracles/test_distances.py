"""MuJoCo computes the same distances between geoms: of a robot read from MJCF, to an obstacle and to a floor."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell import Pose
from appell.model.body import Geometry

mujoco = pytest.importorskip("mujoco")
pytest.importorskip("coal")

GEOMS = {
    "sphere": "size='.1'",
    "capsule": "size='.05 .2'",
    "cylinder": "size='.1 .2'",
    "box": "size='.1 .15 .2'",
}
MODEL = """<mujoco><worldbody>
  <geom name='floor' type='plane' size='9 9 1'/><geom name='wall' type='box' size='.2 .3 .4' pos='1 0 1' euler='10 20 30'/>
  <body name='body'><freejoint name='base'/><geom name='own' type='{kind}' {size} pos='.1 0 .05' euler='40 50 60'/></body>
</worldbody></mujoco>"""


@pytest.mark.parametrize("kind", GEOMS)
def test_distances_of_geoms(kind: str) -> None:
    text = MODEL.format(kind=kind, size=GEOMS[kind])
    model = mujoco.MjModel.from_xml_string(text)
    data, robot = mujoco.MjData(model), appell.load(text)
    (wall,) = robot.body("world").collisions
    assert isinstance(wall, Geometry)
    assert wall.pose != Pose()
    own, others = model.geom("own").id, [model.geom(name).id for name in ("floor", "wall")]
    rng = np.random.default_rng(3)
    for _ in range(5):
        quaternion = rng.normal(size=4)
        q = np.concatenate([rng.uniform([-1, -1, 0.5], [0.2, 1, 2]), quaternion / np.linalg.norm(quaternion)])
        data.qpos[:] = robot.to_mujoco(q, np.zeros(6))[0]
        mujoco.mj_forward(model, data)
        expected = [mujoco.mj_geomDistance(model, data, own, other, 10.0, None) for other in others]
        found = robot.distances(q, [appell.surfaces.Plane(), wall]).distance[:, 0]
        rim = 0.1 * (1 - np.cos(np.pi / 8)) if kind == "cylinder" else 0.0  # the error of points on a rim
        assert -1e-9 <= found[0] - expected[0] <= rim + 1e-9
        assert_close(found[1], np.array(expected[1]), tolerance=1e-5, scale=1.0)
