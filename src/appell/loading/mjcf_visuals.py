"""Shapes of a compiled MuJoCo model."""

from __future__ import annotations

from typing import Any

from appell.loading.quaternion import rotation
from appell.model.body import Visual
from appell.model.pose import Pose

_SIZES = {
    2: ("sphere", lambda s: (s[0],)),
    3: ("capsule", lambda s: (s[0], 2 * s[1])),
    5: ("cylinder", lambda s: (s[0], 2 * s[1])),
    6: ("box", lambda s: (2 * s[0], 2 * s[1], 2 * s[2])),
}  # mjtGeom; MuJoCo gives half lengths
_MESH = 7


def visuals_of(model: Any, body: int) -> tuple[Visual, ...]:
    """The drawable geoms of a body. Planes, height fields and ellipsoids have no counterpart and are left out."""
    geoms = range(model.body_geomadr[body], model.body_geomadr[body] + model.body_geomnum[body])
    return tuple(visual for g in geoms if (visual := _visual(model, g)) is not None)


def _visual(model: Any, g: int) -> Visual | None:
    kind = int(model.geom_type[g])
    place, turn = model.geom_pos[g], rotation(model.geom_quat[g])
    r, g_, b, a = (float(value) for value in model.geom_rgba[g])
    if kind in _SIZES:
        name, size = _SIZES[kind]
        return Visual(name, size(model.geom_size[g].tolist()), Pose.from_matrix(place, turn), rgba=(r, g_, b, a))
    if kind != _MESH:
        return None
    # MuJoCo moves a mesh to its mass centre and principal axes; this is the way back to the frame of its file.
    mesh = int(model.geom_dataid[g])
    turn = turn @ rotation(model.mesh_quat[mesh]).T
    pose = Pose.from_matrix(place - turn @ model.mesh_pos[mesh], turn)
    return Visual("mesh", tuple(model.mesh_scale[mesh].tolist()), pose, _file(model, mesh), (r, g_, b, a))


def _file(model: Any, mesh: int) -> str:
    start = int(model.mesh_pathadr[mesh])
    return model.paths[start:].split(b"\0")[0].decode() if start >= 0 else model.mesh(mesh).name
