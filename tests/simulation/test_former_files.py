"""Files written by version 0.1 are read."""

from __future__ import annotations

import json

import numpy as np

import appell

FORMER = {
    "actuator_names": "drive_names",
    "limit_violations": "excesses",
    "surfaces": "walls",
    "surface": "wall",
    "worst": "most",
}


def with_former_keys(value):
    if isinstance(value, dict) and "quantity" in value:  # a limit violation
        kept = {"name": value["name"], "start": value["start"], "end": value["end"], "most": value["worst"]}
        return kept | {"limit": "speed" if value["quantity"] == "velocity" else value["bound"]}
    if isinstance(value, dict):
        return {FORMER.get(key, key): with_former_keys(entry) for key, entry in value.items()}
    return [with_former_keys(entry) for entry in value] if isinstance(value, list) else value


def test_trajectories_with_former_keys_are_read(tmp_path):
    builder = appell.RobotBuilder("mass").body("guide")
    builder = builder.body("mass", mass=1.0, inertia=(0.1, 0.1, 0.1))
    falling = builder.joint("prismatic", "z", parent="guide", child="mass", axis="z", limits=(0.0, 0.4, 0.5)).build()
    motion = appell.simulate(falling, [0.5], [0.0], 0.6, surfaces=appell.surfaces.Plane(restitution=0.0))
    assert motion.impacts
    assert motion.contacts
    assert motion.limit_violations
    path = tmp_path / "motion.npz"
    motion.save(path)
    with np.load(path) as file:
        data = dict(file)
    data["rest"] = np.array(json.dumps(with_former_keys(json.loads(str(data["rest"])))))
    assert '"walls"' in str(data["rest"])
    assert '"excesses"' in str(data["rest"])
    np.savez(path, **data)
    read = appell.Trajectory.load(path)
    assert read.contacts == motion.contacts
    assert read.limit_violations == motion.limit_violations
    assert read.actuator_names == motion.actuator_names
    assert [impact.surfaces for impact in read.impacts] == [impact.surfaces for impact in motion.impacts]
    assert read.q.tobytes() == motion.q.tobytes()
