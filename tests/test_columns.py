"""Names of the entries of state vectors, columns of CSV files, and exports of ROS."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

import appell
from appell.columns import column_names, read_columns
from appell.names import as_vector, entry_indices

TIMES, Q, QD, TAU = [0.0, 0.01, 0.02], [0.1, 0.2, 0.3], [1.0, 2.0, 3.0], [4.0, 5.0, 6.0]
START = 1_700_000_000
ROWS = list(zip(TIMES, Q, QD, TAU, strict=True))
ELEMENTS = [f"{name}{{0}}{k}" for name in ("name", "position", "velocity", "effort") for k in range(2)]
CELLS = [f"b,a,{-q},{q},{-v},{v},{-f},{f}" for _, q, v, f in ROWS]
NANOSECONDS = [round(t * 1e9) for t in TIMES]


def rostopic() -> str:
    header = ["%time", "field.header.seq", "field.header.stamp", "field.header.frame_id"]
    header += [f"field.{each.format('')}" for each in ELEMENTS]
    stamps = [START * 10**9 + t for t in NANOSECONDS]
    return "\n".join([",".join(header), *(f"{t + 500},7,{t},base,{row}" for t, row in zip(stamps, CELLS, strict=True))])


def bagpy() -> str:
    header = ["Time", "header.seq", "header.stamp.secs", "header.stamp.nsecs", "header.frame_id"]
    header += [each.format("_") for each in ELEMENTS]
    rows = [f"{START + 0.5},7,{START},{t},,{row}" for t, row in zip(NANOSECONDS, CELLS, strict=True)]
    return "\n".join([",".join(header), *rows])


def plotjuggler() -> str:
    arrays = ("position", "velocity", "effort")
    header = ["__time", *(f"/joint_states/{joint}/{name}" for joint in "ba" for name in arrays)]
    return "\n".join([",".join(header), *(f"{START + t},{-q},{-v},{-f},{q},{v},{f}" for t, q, v, f in ROWS)])


def ros2() -> str:
    return "\n".join(f"{START},{t},,{row}" for t, row in zip(NANOSECONDS, CELLS, strict=True))


def ours() -> str:
    return "\n".join(["t,q.b,q.a,qd.b,qd.a,tau.b,tau.a", *(f"{t},{-q},{q},{-v},{v},{-f},{f}" for t, q, v, f in ROWS)])


@pytest.mark.parametrize("export", [ours, rostopic, bagpy, plotjuggler, ros2])
def test_files_with_the_same_samples_give_the_same_columns(tmp_path, export):
    path = tmp_path / "samples.csv"
    path.write_text(export())
    columns = read_columns(path)
    np.testing.assert_allclose(columns.times(), TIMES, atol=5e-7)  # float64 resolves 2.4e-7 s since 1970
    for quantity, values in (("q", Q), ("qd", QD), ("tau", TAU)):
        assert columns.has(quantity)
        assert columns.block(quantity, ["a", "b"]).tolist() == [[x, -x] for x in values]
    assert not columns.has("qdd")


def test_a_recording_of_ros_is_a_recording(tmp_path):
    path = tmp_path / "bag.csv.gz"
    path.write_bytes(gzip.compress(rostopic().replace(",b,a,", ",joint2,joint1,").encode()))
    from appell.identification.recording import read_recording

    assert read_recording(path, appell.load("planar2r")).q[0].tolist() == [0.1, -0.1]


def test_joints_that_change_places_are_an_error(tmp_path):
    path = tmp_path / "bag.csv"
    lines = rostopic().splitlines()
    path.write_text("\n".join([*lines[:2], lines[2].replace(",b,a,", ",a,b,")]))
    with pytest.raises(
        appell.ArgumentError, match=r"bag.csv:3: joint 'a' in column 5, expected 'b' as in the first row"
    ):
        read_columns(path)


@pytest.mark.parametrize("mark", ["q.{}", "q_{}"])
@pytest.mark.parametrize(
    "spelling", [("base.x", "base.y", "base.angle"), ("base[0]", "base[1]", "base[2]"), ("base.0", "base.1", "base.2")]
)
def test_former_names_of_entries(tmp_path, mark, spelling):
    path = tmp_path / "motion.csv"
    path.write_text(",".join(mark.format(name) for name in spelling) + "\n1,2,3\n")
    columns = read_columns(path)
    assert columns.block("q", ("base.x", "base.y", "base.angle")).tolist() == [[1.0, 2.0, 3.0]]
    with pytest.raises(appell.ArgumentError, match=r"motion.csv: no column 't' in the header"):
        columns.times()


def test_a_trajectory_is_read_back(tmp_path):
    builder = (
        appell.RobotBuilder().floating("root_joint", "world", "trunk").body("trunk", mass=1.0, inertia=(1.0, 2.0, 2.5))
    )
    robot = builder.revolute("hip", "trunk", "leg").body("leg", mass=0.5, inertia=(0.1, 0.1, 0.1)).build()
    motion = appell.simulate(robot, robot.neutral_configuration(), np.zeros(robot.nv), 0.02, t_eval=0.01)
    motion.to_csv(tmp_path / "motion.csv")
    columns = read_columns(tmp_path / "motion.csv")
    assert "q.root_joint.qw" in columns.names
    assert "tau.root_joint.vz" in columns.names
    assert (columns.block("q", robot.q_names) == motion.q).all()
    assert (columns.block("tau", robot.qd_names) == motion.tau).all()
    assert column_names("q", robot.q_names)[-1] == "q.hip"


def test_vectors_by_name():
    names = ("base.x", "base.y", "elbow")
    assert entry_indices(names) == {"base": [0, 1], "base.x": [0], "base.y": [1], "elbow": [2]}
    assert as_vector("q", {"base": [1, 2], "elbow": 3}, names, np.zeros(3)).tolist() == [1.0, 2.0, 3.0]
    assert as_vector("q", {"base.y": 4}, names, np.ones(3)).tolist() == [1.0, 4.0, 1.0]
    for given, message in (
        ({"elbwo": 1.0}, r"q: unknown name 'elbwo'. Did you mean 'elbow'?"),
        ({"base": 1.0}, r"q\['base'\] has shape \(\), expected 2 numbers: base.x, base.y"),
        ({"elbow": "far"}, r"q\['elbow'\] is 'far', expected real numbers"),
    ):
        with pytest.raises(appell.ArgumentError, match=message):
            as_vector("q", given, names, np.zeros(3))
