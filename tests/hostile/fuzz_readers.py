"""Mutated inputs for every reader of the library.

    python tests/hostile/fuzz_readers.py --count 10000 [--first 0] [--reader urdf] [--corpus DIR]

Input number i is the same in every run. Readers may succeed or raise an `AppellError`; other exceptions, crashes, more than
5 s of the processor and more than 1 GB are failures. Prints the counts as JSON; inputs that failed are kept in the corpus
folder, one for each kind of failure.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import gzip
import hashlib
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

import appell
from appell.compiler.archive import container
from appell.compiler.archive.container import FORMAT
from appell.compiler.targets.llvm.target import CpuTarget
from appell.control.hardware.record import Run
from appell.control.hardware.record_file import Cycle, RunRecorder
from appell.errors import AppellError
from appell.identification.recording import read_recording
from appell.loading.loops import from_file
from appell.sweeps import read_states

MOST_SECONDS, MOST_BYTES = 5, 2**30

URDF = b"""<?xml version="1.0"?>
<robot name="arm">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.1 0 0" rpy="0 0.2 0"/><mass value="1.5"/>
      <inertia ixx="0.1" ixy="0.001" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
    <visual><origin xyz="0 0 0.1"/><geometry><cylinder radius="0.1" length="0.4"/></geometry><material name="blue"/></visual>
  </link>
  <link name="lower"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>
    <visual><geometry><mesh filename="a.stl" scale="1 1 1"/></geometry></visual>
    <collision name="c"><geometry><box size="1 2 3"/></geometry></collision></link><!-- the finger -->
  <link name="finger"><inertial><mass value="0.1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 1" rpy="0 0 1.5"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" velocity="2" effort="10"/><dynamics damping="0.1" friction="0.2"/></joint>
  <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/><axis xyz="0 1 0"/></joint>
  <joint name="grip" type="prismatic"><parent link="lower"/><child link="finger"/><axis xyz="1 0 0"/>
    <limit lower="0" upper="0.1" velocity="1" effort="5"/><mimic joint="elbow" multiplier="0.5" offset="0.1"/></joint>
  <transmission name="t"><joint name="shoulder"/><actuator name="m"><drake:rotor_inertia value="0.01"/>
    <drake:gear_ratio value="10"/></actuator></transmission>
</robot>
"""
SDF = b"""<?xml version="1.0"?>
<sdf version="1.9"><world name="w"><gravity>0 0 -9.8</gravity>
<model name="arm" canonical_link="base"><pose>0 0 1 0 0 0</pose>
  <frame name="stand"><pose degrees="true">0 0 2 0 0 90</pose></frame>
  <link name="base"><inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial></link>
  <link name="tip"><pose relative_to="stand">1 0 0 0 0.5 0</pose>
    <inertial><pose>0.1 0 0 0 0 0.3</pose><mass>1</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia></inertial>
    <visual name="v"><geometry><cylinder><radius>0.1</radius><length>1</length></cylinder></geometry></visual>
    <collision name="c"><geometry><mesh><uri>model://arm/a.stl</uri><scale>1 1 1</scale></mesh></geometry></collision></link>
  <joint name="elbow" type="revolute"><pose relative_to="tip">0 0.2 0 0 0 0</pose><parent>base</parent><child>tip</child>
    <axis><xyz expressed_in="__model__">0 0 1</xyz><limit><lower>-1</lower><upper>1e16</upper><effort>5</effort></limit>
    <dynamics><damping>0.1</damping><friction>0.2</friction></dynamics></axis></joint>
  <model name="hand"><pose relative_to="tip">0 0 1 0 0 0</pose><link name="palm"/>
    <joint name="spin" type="universal"><parent>palm</parent><child>cap</child><axis><xyz>1 0 0</xyz></axis>
      <axis2><xyz>0 1 0</xyz></axis2></joint>
    <link name="cap"><pose rotation_format="quat_xyzw">0 0 1 0 0 0 1</pose></link></model>
  <joint name="wrist" type="continuous"><parent>tip</parent><child>hand::palm</child></joint>
  <joint name="anchor" type="fixed"><parent>world</parent><child>base</child></joint>
</model></world></sdf>
"""
XACRO = b"""<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default="left_"/>
  <xacro:property name="mass" value="${1.5 + 0.5}"/>
  <xacro:macro name="rod" params="name parent:=base *shape">
    <link name="${name}"><inertial><mass value="${mass}"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
      <visual><xacro:insert_block name="shape"/></visual></link>
    <joint name="${name}_joint" type="continuous"><parent link="${parent}"/><child link="${name}"/></joint>
  </xacro:macro>
  <link name="base"/>
  <xacro:if value="${mass > 1}"><xacro:rod name="$(arg prefix)upper">
    <geometry><sphere radius="${pi}"/></geometry></xacro:rod></xacro:if>
</robot>
"""
MJCF = b"""<mujoco model="arm">
  <compiler angle="radian" autolimits="true"/>
  <option gravity="0 0 -9.81"/>
  <default><geom density="100"/><joint damping="0.1"/></default>
  <worldbody>
    <body name="upper" pos="0 0 1" euler="0 0.1 0"><joint name="shoulder" type="hinge" axis="0 0 1" range="-1 1"/>
      <geom type="capsule" size="0.05 0.2"/>
      <body name="lower" pos="0.3 0 0"><joint name="elbow" axis="0 1 0" armature="0.01"/>
        <inertial pos="0.1 0 0" mass="1" diaginertia="0.1 0.1 0.1"/>
        <body name="ball" quat="1 0 0 0"><joint name="wrist" type="ball"/><geom type="box" size="0.1 0.1 0.1"/></body></body>
    </body>
    <body name="free" pos="1 0 0"><freejoint name="root"/><geom type="sphere" size="0.1"/></body>
  </worldbody>
  <equality><connect name="loop" body1="lower" body2="free" anchor="0.1 0 0"/></equality>
  <actuator><motor joint="shoulder" gear="2"/></actuator>
</mujoco>
"""
LOOPS = b"""actuated: [crank]
independent_velocities: [crank]
configuration: {crank: 1.5, coupler: -0.5, rocker: 1.6}
closures:
  - name: knee
    kind: revolute
    first: {body: coupler_link, xyz: [0.25, 0, 0], rpy: [0, 0, 0]}
    second: {body: rocker_link, xyz: [0.25, 0, 0]}
    axis: [0, 0, 1]
"""
NUMBERS = [
    b"nan", b"inf", b"-inf", b"1e308", b"-1e308", b"1e200", b"1e-320", b"0", b"-1", b"-0.0", b"1e999", b"1" + b"0" * 400, b"",
    b" ", b"x", b"1,5", b"1_0", b"0x10", b"999999999999", b"2147483648", b"3.14", b"1e-9", b"true", b"null", b"[]", b"{}",
    b"\"\"",
]  # fmt: skip
WORDS = [
    b"<", b">", b"&", b"&amp;", b"&#0;", b"&#xD800;", b"]]>", b"<!DOCTYPE a>", b"<!--", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf",
    b"\xed\xa0\x80", b"${a}", b"%s", b"{}", b"[", b"{", b"- ", b": ", b"*a", b"&a ", b"!!python/object ", b"<<: ", b"\n", b"\t",
    b"floating", b"planar", b"spherical", b"fixed", b"universal", b"helical", b"cylindrical", b"<appell q=\"1\"/>",
    b"<appell q=\"x\"/>", b"<axis/>", b"<include file=\"/dev/zero\"/>", b"<limit/>", b"<mimic joint=\"grip\"/>", b"base",
    b"elbow",
]  # fmt: skip
JSON_VALUES = [
    None, True, 0, -1, 1, 7, 10**5, 10**9, 10**18, 10**400, 0.5, -0.0, 1e308, 1e-320, "", "x", "add", "q", "\ud800", "a" * 2000,
    [], {}, [[]], [1, 2, 3], {"kind": "rolled"}, [None] * 50,
]  # fmt: skip
NUMBER = re.compile(rb"-?\d+\.?\d*(?:e-?\d+)?")
WORD = re.compile(rb"[A-Za-z_]{2,}")


class Reader(NamedTuple):
    """How an input is made and read.

    Attributes:
        suffix: of the file.
        make: an input from a source of randomness.
    """

    suffix: str
    make: Callable[[Random], bytes]
    read: Callable[[Path], object]


# --- mutations ------------------------------------------------------------------------------------------------------------


def mutated(random: Random, seed: bytes) -> bytes:
    """Text after a few changes."""
    data = seed
    for _ in range(min(1 + int(random.expovariate(0.7)), 8)):
        data = random.choice(CHANGES)(random, data)
    return data


def place(random: Random, data: bytes, length: int = 40) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(start + 1 + random.randrange(length), len(data))


def flip(random: Random, data: bytes) -> bytes:
    k = random.randrange(len(data) or 1)
    return data[:k] + bytes([random.randrange(256)]) + data[k + 1 :]


def delete(random: Random, data: bytes) -> bytes:
    start, end = place(random, data, 200)
    return data[:start] + data[end:]


def repeat(random: Random, data: bytes) -> bytes:
    start, end = place(random, data, 200)
    return data[:end] + data[start:end] * random.choice((1, 1, 2, 5, 100)) + data[end:]


def insert(random: Random, data: bytes) -> bytes:
    k = random.randrange(len(data) + 1)
    return data[:k] + random.choice(WORDS + NUMBERS) + data[k:]


def move(random: Random, data: bytes) -> bytes:
    start, end = place(random, data, 200)
    part, rest = data[start:end], data[:start] + data[end:]
    k = random.randrange(len(rest) + 1)
    return rest[:k] + part + rest[k:]


def truncate(random: Random, data: bytes) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def replace_match(pattern: re.Pattern[bytes], values: list[bytes]) -> Callable[[Random, bytes], bytes]:
    def change(random: Random, data: bytes) -> bytes:
        found = [match.span() for match in pattern.finditer(data)]
        if not found:
            return data
        start, end = random.choice(found)
        first, last = random.choice(found)
        value = random.choice([*values, data[first:last]])
        return data[:start] + value + data[end:]

    return change


CHANGES = [
    flip, delete, repeat, insert, move, truncate,
    *[replace_match(NUMBER, NUMBERS)] * 4, *[replace_match(WORD, WORDS)] * 3,
]  # fmt: skip


def mutated_tree(random: Random, data: Any) -> Any:
    """Nested data after a change somewhere."""
    if not isinstance(data, (dict, list)) or not data or random.random() < 0.05:
        return random.choice(JSON_VALUES)
    keys = list(data) if isinstance(data, dict) else range(len(data))
    key, copied = random.choice(keys), data.copy()
    action = random.random()
    if action < 0.8:
        copied[key] = mutated_tree(random, data[key])
    elif action < 0.9:
        del copied[key]
    elif isinstance(copied, list):
        copied.insert(key, data[random.choice(keys)])
    else:
        copied[random.choice(("x", "kind", "name", ""))] = data[key]
    return copied


def mutated_json(random: Random, data: Any) -> bytes:
    """The text of nested data, with a few changes."""
    for _ in range(random.choice((1, 1, 2, 3))):
        data = mutated_tree(random, data)
    text = json.dumps(data).encode()
    return mutated(random, text) if random.random() < 0.1 else text


# --- inputs of each reader ------------------------------------------------------------------------------------------------


def saved_robot(contents: list[dict]) -> Callable[[Random], bytes]:
    def make(random: Random) -> bytes:
        packed = gzip.compress(mutated_json(random, random.choice(contents)), compresslevel=1)
        digest = hashlib.sha256(packed).hexdigest()
        whole = f"appell compiled robot, format {FORMAT}, sha256 {digest}\n".encode() + packed
        return mutated(random, whole) if random.random() < 0.05 else whole

    return make


def archive(arrays: dict[str, np.ndarray]) -> Callable[[Random], bytes]:
    """A .npz file with changed arrays, headers, texts or bytes."""

    def make(random: Random) -> bytes:
        changed = dict(arrays)
        for _ in range(random.choice((0, 1, 1, 2))):
            name = random.choice(list(changed) or ["q"])
            changed[name] = changed_array(random, changed.get(name, np.zeros(3)))
            if random.random() < 0.1:
                del changed[name]
        stream = io.BytesIO()
        np.savez(stream, **changed)
        data = stream.getvalue()
        choice = random.random()
        if choice < 0.3:
            return mutated(random, data)
        if choice < 0.5:  # a header with other sizes or types
            values = [b"(999999999999,)", b"(-1,)", b"(3, 0)", b"'|O'", b"'<U9'", b"'<c16'", b"'V8'", b"'|S0'", b"()"]
            return replace_match(re.compile(rb"\([\d, ]*\)|'<[a-z]\d+'"), values)(random, data)
        return data

    return make


def changed_array(random: Random, array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "U" and array.ndim == 0:
        with contextlib.suppress(ValueError):
            return np.array(mutated_json(random, json.loads(str(array))).decode(errors="replace"))
    changes: list[Callable[[], np.ndarray]] = [
        lambda: array[: random.randrange(4)] if array.ndim else array, lambda: array[..., None], lambda: array.T,
        lambda: array.ravel(), lambda: array.astype(str), lambda: array.astype("S3"), lambda: np.array("text"),
        lambda: np.full(array.shape, np.nan), lambda: np.full(array.shape, 1e308), lambda: np.zeros((0, *array.shape[1:])),
        lambda: array.astype(complex), lambda: array.astype("datetime64[s]"), lambda: np.zeros(array.shape, "i8,f4"),
        lambda: array.astype(bool), lambda: array.astype("f2"), lambda: array.astype(">f8"), lambda: np.array([]),
    ]  # fmt: skip
    with contextlib.suppress(ValueError, TypeError, RuntimeError):
        return random.choice(changes)()
    return array


def record(folder: Path) -> Callable[[Random], bytes]:
    """Records of the controller, with changed headers or bytes."""
    header = {
        "law": "pd",
        "nominal_period": 4e-3,
        "real_time": False,
        "resolution": [1e-4, 1e-4],
        "joint_names": ["a", "b"],
    }
    recorder = RunRecorder(folder / "record", header)
    for k in range(5):
        recorder.add(Cycle(4e-3 * k, "follow", *[np.zeros(2)] * 5, 0.1 * k, 0.0, 1e-6, 1e-5))
    recorder.close({"stop": None, "outputs": ([2048, 2048], (False, False)), "shutdown": (True, 1, ""), "homing": None})
    seed = (folder / "record").read_bytes()
    first, rest = seed.split(b"\n", 1)

    def make(random: Random) -> bytes:
        if random.random() < 0.5:
            return mutated(random, seed)
        return mutated_json(random, json.loads(first)) + b"\n" + rest

    return make


def read_run(path: Path) -> object:
    loaded = Run.load(path)
    repr(loaded)
    loaded.timing()
    return loaded.table()


def table_of(random: Random) -> bytes:
    """A Denavit-Hartenberg table as JSON."""
    table = {
        "alpha": [0.0, 1.57, 0.0], "a": [0, 0.3, 0.2], "d": [0.4, 0, 0], "theta": [0, 0, 1], "mass": [1, 1, 1],
        "com": [[0, 0, 0]] * 3, "inertia": [[1, 0, 0, 1, 0, 1]] * 3, "joints": "RRP", "convention": "standard",
        "names": ["a", "b", "c"], "name": "arm", "gravity": [0, 0, -9.81],
    }  # fmt: skip
    return mutated_json(random, table)


def read_table(path: Path) -> object:
    table = nested(path)
    known = ("alpha", "a", "d", "theta", "mass", "com", "inertia", "joints", "convention", "names", "name", "gravity")
    if isinstance(table, dict) and {"alpha", "a", "d"} <= set(table) <= set(known):
        return appell.Robot.from_dh(**table)
    return None


def read_dictionary(path: Path) -> object:
    return checked(appell.Robot.from_dict(nested(path)))


def nested(path: Path) -> Any:
    """The content of a JSON file, None if it is none."""
    try:
        return json.loads(path.read_bytes())
    except ValueError:
        return None


def checked(robot: Any) -> object:
    """Uses of a robot that was accepted, one of them with other masses."""
    robot.to_urdf()
    replace(robot, bodies=tuple(replace(body, mass=body.mass + 1.0, visuals=()) for body in robot.bodies)).to_urdf()
    robot.to_dict()
    return robot.neutral_configuration()


def read_description(path: Path) -> object:
    """A robot, and of every fourth file its defects."""
    if path.stat().st_size % 4 == 0:
        appell.check(path)
    robot = appell.load(path)
    return checked(robot) if isinstance(robot, appell.Robot) else robot.nv


@lru_cache(maxsize=1)
def four_bar() -> str:
    """A four-bar linkage as an open tree."""
    return appell.load("four_bar").spanning_tree.to_urdf()


def read_loops(path: Path) -> object:
    """Closures, and of every tenth file the robot."""
    found = from_file(path)
    return appell.load(four_bar(), loops=path) if len(path.read_bytes()) % 10 == 0 else found


def read_saved(path: Path) -> object:
    """A saved robot, and every function of it once: interpreted, and of every tenth file compiled."""
    loaded = appell.load_compiled(path)
    repr(loaded)
    target = CpuTarget(loaded.options) if path.stat().st_size % 10 == 0 else None
    for each in loaded.store.functions:
        inputs = tuple(np.zeros((2, size)) for _, size in each.signature.inputs)
        out = np.zeros((2, each.signature.entries))
        loaded.store.interpreted(each.spec, "float64").run(inputs, out)
        kernel = target and target.build(loaded.store, each.spec, each.signature, "batch")
        if kernel:
            dtype = loaded.options.dtype
            kernel.run(tuple(array.astype(dtype) for array in inputs), out.astype(dtype))
    return loaded


def read_motion(path: Path) -> object:
    motion = appell.Trajectory.load(path)
    repr(motion)
    motion.to_csv(os.devnull)
    return motion.balance


@lru_cache(maxsize=1)
def readers() -> dict[str, Reader]:
    """All of them."""
    folder = Path(tempfile.mkdtemp())
    robot = appell.load("planar2r")
    contents = []
    for each, functions in ((robot, ["mass_matrix", "gravity"]), (appell.load("four_bar"), ["mass_matrix"])):
        appell.compile(each).save(folder / "robot.appell", functions=functions)
        contents.append(container.read(folder / "robot.appell"))
    contents *= 4
    for joints, functions in ((30, ["gravity", "kinetic_energy"]), (11, ["regressor"])):  # loops over links
        appell.compile(appell.robots.random_chain(joints, seed=4)).save(folder / "long.appell", functions=functions)
        contents.append(container.read(folder / "long.appell"))
    appell.simulate(robot, [0.1, 0.2], [0, 0], 0.05).save(folder / "motion.npz")
    with np.load(folder / "motion.npz") as file:
        motion = dict(file)
    random = np.random.default_rng(1)
    states = {name: random.normal(size=(5, 2)) for name in ("q", "qd", "tau")}
    t = np.linspace(0, 1, 30)
    recording = {"t": t, "q": random.normal(size=(30, 2)), "tau": random.normal(size=(30, 2))}
    header = "t,q_joint1,q_joint2,tau_joint1,tau_joint2\n"
    rows = np.column_stack(list(recording.values()))
    table = (header + "\n".join(",".join(f"{x:.3g}" for x in row) for row in rows[:8])).encode()
    numbers = "\n".join(",".join(f"{x:.3g}" for x in row) for row in np.column_stack(list(states.values()))).encode()
    dictionary = robot.to_dict()
    urdf = [URDF, URDF, four_bar().encode()]
    return {
        "urdf": Reader(".urdf", lambda r: mutated(r, r.choice(urdf)), read_description),
        "sdf": Reader(".sdf", lambda r: mutated(r, SDF), read_description),
        "xacro": Reader(".xacro", lambda r: mutated(r, XACRO), read_description),
        "mjcf": Reader(".xml", lambda r: mutated(r, MJCF), read_description),
        "loops": Reader(".yaml", lambda r: mutated(r, LOOPS), read_loops),
        "dh": Reader(".json", table_of, read_table),
        "dictionary": Reader(".json", lambda r: mutated_json(r, dictionary), read_dictionary),
        "states csv": Reader(".csv", lambda r: mutated(r, numbers), lambda path: read_states(robot, path)),
        "recording csv": Reader(".csv", lambda r: mutated(r, table), lambda path: read_recording(path, robot)),
        "recording gz": Reader(
            ".csv.gz", lambda r: mutated(r, gzip.compress(table)), lambda path: read_recording(path, robot)
        ),
        "states npz": Reader(".npz", archive(states), lambda path: read_states(robot, path)),
        "recording npz": Reader(".npz", archive(recording), lambda path: read_recording(path, robot)),
        "trajectory npz": Reader(".npz", archive(motion), read_motion),
        "control record": Reader(".record", record(folder), read_run),
        "saved robot": Reader(".appell", saved_robot(contents), read_saved),
    }


# --- runs -----------------------------------------------------------------------------------------------------------------


def failure_of(error: BaseException) -> str:
    """The kind of a failure: the exception and where the library raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/appell/" in frame.filename] or frames
    return f"{type(error).__name__} in {own[-1].name} ({Path(own[-1].filename).name}:{own[-1].lineno})"


def work(first: int, count: int, chosen: str | None, folder: Path) -> None:
    """Read inputs one after the other, writing the number of each before it is read; print what failed."""
    warnings.simplefilter("ignore")
    sys.path[:] = map(os.path.abspath, sys.path)
    os.chdir(folder)  # where MuJoCo writes a log
    os.environ["APPELL_CACHE_DIR"] = str(folder)
    known = {name: reader for name, reader in readers().items() if chosen in (None, name)}
    appell.load(MJCF.decode())  # what is imported when it is needed
    size = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (size + MOST_BYTES, -1))
    position = os.open(folder / "position", os.O_WRONLY | os.O_CREAT)
    names, outcomes = list(known), Counter()
    for number in range(first, first + count):
        name = names[number % len(names)]
        reader = known[name]
        path = folder / f"input{reader.suffix}"
        os.pwrite(position, f"{number} {name}".ljust(60).encode(), 0)
        path.write_bytes(reader.make(Random(f"{name} {number}")))
        faulthandler.dump_traceback_later(20 * MOST_SECONDS, exit=True)  # the machine may be busy
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)  # of the processor: ends the process
        try:
            reader.read(path)
            outcomes[name, "accepted"] += 1
        except AppellError:
            outcomes[name, "refused"] += 1
        except Exception as error:
            outcomes[name, "failed"] += 1
            print(
                json.dumps({"failure": failure_of(error), "number": number, "reader": name, "text": str(error)[:200]})
            )
            sys.stdout.flush()
    faulthandler.cancel_dump_traceback_later()
    signal.setitimer(signal.ITIMER_PROF, 0)
    print(json.dumps({"outcomes": {f"{name}, {what}": n for (name, what), n in outcomes.items()}}))


def run(first: int, count: int, chosen: str | None, corpus: Path | None) -> dict:
    """The same in processes of their own: outcomes, and failures by kind with the first input of each."""
    outcomes, failures, last = Counter(), {}, first + count
    with tempfile.TemporaryDirectory() as folder:
        while first < last:
            portion = min(last - first, 20_000)
            command = [sys.executable, __file__, "--work", folder, "--first", str(first), "--count", str(portion)]
            done = subprocess.run([*command, *(["--reader", chosen] if chosen else [])], capture_output=True, text=True)
            found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            first += portion
            if done.returncode:
                number, name = Path(folder, "position").read_text().strip().split(maxsplit=1)
                last_lines = " | ".join(done.stderr.strip().splitlines()[-3:])[-300:]
                failure = f"process ended with {done.returncode}: {last_lines}"
                found.append({"failure": failure, "number": int(number), "reader": name})
                first = int(number) + 1
            for each in found:
                if "outcomes" in each:
                    outcomes.update(each["outcomes"])
                    continue
                failures.setdefault(each["failure"], {**each, "times": 0})["times"] += 1
                if corpus is not None and failures[each["failure"]]["times"] == 1:
                    keep(each, corpus)
    return {
        "outcomes": dict(outcomes),
        "failures": [{k: str(v) for k, v in each.items()} for each in failures.values()],
    }


def keep(failure: dict, corpus: Path) -> None:
    """The input of a failure as a file of the corpus: its reader and number say how it is made again."""
    corpus.mkdir(parents=True, exist_ok=True)
    reader = readers()[failure["reader"]]
    data = reader.make(Random(f"{failure['reader']} {failure['number']}"))
    (corpus / f"{failure['reader'].replace(' ', '_')}_{failure['number']}{reader.suffix}").write_bytes(data)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--reader")
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.work:
        work(given.first, given.count, given.reader, given.work)
        return 0
    result = run(given.first, given.count, given.reader, given.corpus)
    print(json.dumps(result, indent=1))
    return 1 if result["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
