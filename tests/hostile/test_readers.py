"""Inputs from others: every reader gives a result or an error of the library, with the file, the place and a remedy."""

from __future__ import annotations

import contextlib
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hostile.fuzz_readers import LOOPS, MJCF, URDF, readers, run

import appell
from appell.cli import main
from appell.errors import ArgumentError, IdentificationError, ModelError
from appell.identification.recording import read_recording
from appell.sweeps import read_states

ROBOT = appell.load("planar2r")
MERGE = b"%c: &%c {<<: [*%c, *%c]}\n"
CORPUS = Path(__file__).parent / "corpus"

pytestmark = pytest.mark.filterwarnings("ignore::appell.errors.ModelWarning")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory")
@pytest.mark.parametrize("count", [600, pytest.param(20_000, marks=pytest.mark.slow)])
def test_mutated_inputs(count):
    result = run(0, count, None, None)
    assert result["failures"] == []
    accepted = {name for name in readers() if result["outcomes"].get(f"{name}, accepted")}
    assert len(accepted) >= len(readers()) - 1  # hardly any change of compressed text is accepted
    assert sum(result["outcomes"].values()) == count


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*")), ids=lambda path: path.name)
def test_inputs_that_failed_once(path):
    """`<reader>_<number>.<suffix>`, kept by the fuzzer."""
    name = path.name.split(".")[0].rpartition("_")[0].replace("_", " ")
    with contextlib.suppress(appell.errors.AppellError):
        readers()[name].read(path)


# --- robot descriptions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'multiplier="0.5"',
            'multiplier="1e200"',
            r"joint 'elbow' \(line \d+\): the inertia that it moves is no finite",
        ),
        ('<origin xyz="0.1 0 0"', '<origin xyz="1e200 0 0"', r"joint 'shoulder' .* is no finite number"),
        (
            '<axis xyz="0 1 0"/>',
            '<axis xyz="1 0"/>',
            r"joint 'elbow' \(line \d+\): xyz='1 0' of <axis>, expected 3 numbers",
        ),
        ('type="continuous"', 'type="wobbly"', "unknown joint type 'wobbly'"),
    ],
)
def test_urdf(old, new, message):
    text = URDF.decode().replace("</robot>", '<appell q="0 0"/></robot>')
    assert appell.load(text).nq == 2
    with pytest.raises(ModelError, match=message):
        appell.load(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('<axis xyz="0 1 0"/>', "<axis/>", "<axis> has no attribute 'xyz'; its default, x, is used"),
        ('<axis xyz="0 1 0"/>', '<axis xyz=" "/>', "xyz=' ' of <axis> is blank; its default is used"),
        ('ixy="0.001"', 'ixy=""', "mass properties cannot be read: ixy='' of <inertia>, expected one number"),
    ],
)
@pytest.mark.filterwarnings("default::appell.errors.ModelWarning")
def test_urdf_with_a_warning(old, new, message):
    with pytest.warns(appell.ModelWarning, match=message):
        appell.load(URDF.decode().replace(old, new, 1))


@pytest.mark.parametrize(
    "old", ['euler="0 0.1 0"', 'quat="1 0 0 0"', 'diaginertia="0.1 0.1 0.1"', 'gravity="0 0 -9.81"']
)
def test_mjcf_with_a_number_that_is_none(old, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)  # where MuJoCo would write a log
    name = old.split("=")[0]
    with pytest.raises(ModelError, match=rf"\(line \d+\): {name}='0 nan 0' of <\w+> is not a number"):
        appell.load(MJCF.decode().replace(old, f'{name}="0 nan 0"'))
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


def test_mjcf_with_an_empty_attribute_of_a_constraint():
    equality = '<equality><connect body1="none" body2="world" anchor=""/></equality></mujoco>'
    text = f'<mujoco><worldbody><body><joint/><geom size="0.1"/></body></worldbody>{equality}'
    with pytest.raises(ModelError, match="anchor='' of <connect> is empty"):
        appell.load(text)


def test_mjcf_with_an_included_number_that_is_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "part.xml").write_text(
        '<mujoco><worldbody><body><joint/><geom size="0.1" pos="nan 0 0"/></body></worldbody></mujoco>'
    )
    (tmp_path / "robot.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
    with pytest.raises(ModelError, match="not finite"):
        appell.load(tmp_path / "robot.xml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"[" * 100_000, "20 nested brackets"),
        (b"- " * 40_000, "recursion"),
        (b"a: &a [1]\nb: *a", "aliases"),
        (b"a: &a {b: 1}\n" + b"".join(MERGE % (k + 1, k + 1, k, k) for k in range(97, 117)), "aliases"),
        (b"#" * 200_000, "more than 100000 characters"),
        (b"when: 2001-99-99", "month must be in"),
        (LOOPS.replace(b"1.5", b"1" + b"0" * 400), "configuration of 'crank'"),
        (LOOPS.decode().encode("utf-16"), "not UTF-8"),
        (b"!!python/object/apply:os.system ['true']", "could not determine a constructor"),
    ],
)  # fmt: skip
def test_loops(tmp_path, text, message):
    path = tmp_path / "robot.yaml"
    path.write_bytes(text)
    with pytest.raises(ModelError, match=rf"{path}.*{message}"):
        appell.load(appell.load("four_bar").spanning_tree.to_urdf(), loops=path)


@pytest.mark.parametrize(
    "wrong",
    [{"alpha": [0, [1]]}, {"inertia": [[1, 2], [3]]}, {"gravity": [1, 2]}, {"gravity": "abc"}, {"a": [0, 10**400]}],
)
def test_denavit_hartenberg_tables(wrong):
    with pytest.raises(ArgumentError, match=next(iter(wrong))):
        appell.Robot.from_dh(**{"alpha": [0, 0], "a": [0, 1], "d": [0, 0], **wrong})


def test_dictionaries():
    with pytest.raises(ModelError, match=r"robot.gravity_vector\[0\] is larger than any float"):
        appell.Robot.from_dict({**ROBOT.to_dict(), "gravity_vector": [10**400, 0, 0]})


# --- tables and arrays ----------------------------------------------------------------------------------------------------


def test_tables_that_are_not_utf8(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("t,q1,q2,tau1,tau2\n0,1,2,3,4\n", encoding="utf-16")
    with pytest.raises(ArgumentError, match=rf"{path} is not UTF-8 text: .* at byte 0. Save it as UTF-8"):
        read_states(ROBOT, path)
    with pytest.raises(IdentificationError, match=r"table\.csv: not a text file in UTF-8"):
        read_recording(path, ROBOT)
    path.write_bytes(b"t,q1,q2,tau1,tau2\n0,1,2,3,4\n1,1,2,3,\xff\n")
    with pytest.raises(IdentificationError, match=r"table\.csv: not a text file in UTF-8"):
        read_recording(path, ROBOT)


def test_tables_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("t,q1,q2,tau1,tau2\n0,1,2,3,4\n1,1,2,3,5\n", encoding="utf-8-sig")
    assert read_recording(path, ROBOT).tau.tolist() == [[3, 4], [3, 5]]
    path.write_text("1,2,3,4\n", encoding="utf-8-sig")
    assert read_states(ROBOT, path).qd.tolist() == [[3, 4]]


def huge_header(path: Path) -> None:
    """An array of 10 TB, of which 24 bytes are there."""
    np.savez(path, q=np.zeros(3), t=np.zeros(3))
    path.write_bytes(path.read_bytes().replace(b"(3,), }" + b" " * 13, b"(1234567890123,), }" + b" " * 1))


def object_array(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive, archive.open("q.npy", "w") as file:
        np.lib.format.write_array(file, np.array([{}]), allow_pickle=True)


NO_ARRAYS = {
    "empty": lambda path: path.write_bytes(b""),
    "no archive": lambda path: path.write_bytes(b"PK\x03\x04" + bytes(50)),
    "one array": lambda path: np.save(path.open("wb"), np.zeros(3)),
    "no arrays": lambda path: zipfile.ZipFile(path, "w").writestr("q.npy", "text"),
    "cut": lambda path: (np.savez(path, q=np.zeros(3)), path.write_bytes(path.read_bytes()[:100])),
    "a huge header": huge_header,
    "an object": object_array,
}


@pytest.mark.parametrize("make", NO_ARRAYS.values(), ids=NO_ARRAYS)
def test_archives_that_are_none(tmp_path, make):
    path = tmp_path / "file.npz"
    make(path)
    readers = (
        lambda: read_states(ROBOT, path),
        lambda: read_recording(path, ROBOT),
        lambda: appell.Trajectory.load(path),
    )
    for read, error in zip(readers, (ArgumentError, IdentificationError, ArgumentError), strict=True):
        with pytest.raises(error, match=rf"{path} is not an archive of NumPy arrays: .*\. Write one with np\.savez"):
            read()


@pytest.mark.parametrize(
    "array", [np.zeros((2, 2), complex), np.full((2, 2), "x"), np.zeros((2, 3)), np.zeros((2, 2, 2))]
)
def test_states_that_are_none(tmp_path, array):
    np.savez(tmp_path / "states.npz", q=array)
    with pytest.raises(ArgumentError, match=r"(?s)states\.npz: q .* expected"):
        read_states(ROBOT, tmp_path / "states.npz")


def test_a_trajectory_with_other_fields(tmp_path):
    path = tmp_path / "motion.npz"
    appell.simulate(ROBOT, [0.1, 0.2], [0, 0], 0.05).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    rest = json.loads(str(arrays["rest"]))
    wrong = [
        {"t": arrays["t"][:-1]}, {"q": arrays["q"].astype(str)}, {"energy": arrays["energy"] > 0}, {"work": arrays["t"]},
        *({"rest": np.array(json.dumps(each))} for each in (
            [], {**rest, "q_names": 3}, {**rest, "impacts": [3]}, {**rest, "contacts": [{}]}, {**rest, "events": [{"name": "a"}]},
        )),
    ]  # fmt: skip
    for fields in wrong:
        np.savez(path, **{**arrays, **fields})
        with pytest.raises(ArgumentError, match=rf"{path} is not a trajectory that appell wrote"):
            appell.Trajectory.load(path)


# --- others ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("points", ["0", "1", "-3"])
def test_a_grid_without_points(points, capsys):
    assert main(["sweep", "planar2r", "--functions", "gravity", "--grid", points]) == 1
    assert f"points is {points}, expected an integer >= 2" in capsys.readouterr().err
