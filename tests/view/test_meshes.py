"""Meshes of descriptions: their colours and units, what is said of missing ones, and pictures with them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from helpers.mesh_files import write_meshes

import appell
from appell import meshes
from appell.cli import main
from appell.meshes import load_mesh, load_parts
from appell.view.scene import Mesh, box, sphere
from appell.view.shapes import visual_shapes
from appell.view.subject import hidden_layers
from appell.view.subjects import subject_of
from appell.view.timeline import Timeline

trimesh = pytest.importorskip("trimesh")
pytest.importorskip("collada")
ROBOTS = {"panda": "fixed", "go2": "floating", "g1": "floating"}
MAGENTA = (1.0, 0.0, 1.0)


def loaded(name: str, folder: Path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        return appell.load(write_meshes(name, folder), base=ROBOTS[name])


@pytest.mark.parametrize("name", ROBOTS)
def test_every_mesh_of_a_robot_is_drawn_in_its_colour(name: str, tmp_path: Path) -> None:
    robot = loaded(name, tmp_path)
    subject = subject_of(robot)
    assert subject.notes == ()
    assert hidden_layers(subject) == ("links", "inertia")
    drawn = [shape for shape in subject.shapes if shape.layer == "meshes"]
    meshed = [visual for body in robot.bodies for visual in body.visuals if visual.kind == "mesh"]
    assert len(drawn) >= len(meshed) > 8
    assert sum(shape.colour == pytest.approx(MAGENTA, abs=0.01) for shape in drawn) == len(meshed)


def two_parts(path: Path) -> None:
    """Collada with a red cube of edge 1 and a blue one at x = 3, in its own unit."""
    parts = []
    for rgb, x in (([255, 0, 0, 255], 0.0), ([0, 0, 255, 255], 3.0)):
        cube = trimesh.creation.box((1, 1, 1))
        cube.apply_translation([x, 0, 0])
        material = trimesh.visual.material.PBRMaterial(baseColorFactor=rgb)
        cube.visual = trimesh.visual.TextureVisuals(material=material)
        parts.append(cube)
    path.write_bytes(trimesh.exchange.dae.export_collada(parts))


@pytest.mark.parametrize(("unit", "size"), [("", 1.0), ('<unit meter="0.01" name="centimeter"/>', 0.01)])
def test_collada_has_colours_and_a_unit(tmp_path: Path, unit: str, size: float) -> None:
    path = tmp_path / "two.dae"
    two_parts(path)
    path.write_text(path.read_text().replace("<up_axis>", f"{unit}<up_axis>"))
    (red, colour), (blue, other) = sorted(load_parts(path), key=lambda part: part[0].bounds[0][0])
    assert (colour, other) == ((1.0, 0.0, 0.0, 1.0), (0.0, 0.0, 1.0, 1.0))
    np.testing.assert_allclose(red.bounds, np.array([[-0.5] * 3, [0.5] * 3]) * size, rtol=1e-6)
    np.testing.assert_allclose(blue.bounds[0], np.array([2.5, -0.5, -0.5]) * size, rtol=1e-6)
    assert load_mesh(path).volume == pytest.approx(2.0 * size**3)


SEVERAL = "".join(
    f'<link name="l{k}"><visual><geometry><mesh filename="m{k}.dae"/></geometry></visual></link>'
    f'<joint name="j{k}" type="fixed"><parent link="base"/><child link="l{k}"/></joint>'
    for k in range(5)
)


def test_one_note_for_all_meshes_that_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    robot = appell.load(f'<robot name="r"><link name="base"/>{SEVERAL}</robot>')
    assert visual_shapes(robot, tmp_path)[1] == ("5 meshes, 'm0.dae' and others: each was not found",)
    for k in range(5):
        two_parts(tmp_path / f"m{k}.dae")
    monkeypatch.setattr(meshes, "find_spec", lambda name: None)
    (note,) = visual_shapes(robot, tmp_path)[1]
    assert note == "5 meshes, 'm0.dae' and others: each is Collada and needs pycollada: pip install 'appell[view]'"


def test_meshes_of_mjcf_are_found(tmp_path: Path) -> None:
    """In the folder `meshdir`, at the pose and scale of their files, which MuJoCo changes."""
    pytest.importorskip("mujoco")
    (tmp_path / "assets").mkdir()
    wedge = trimesh.convex.convex_hull(np.array([[0, 0, 0], [2, 0, 0], [0, 1, 0], [0, 0, 0.5], [2, 1, 0]], dtype=float))
    (tmp_path / "assets" / "wedge.stl").write_bytes(trimesh.exchange.stl.export_stl(wedge))
    (tmp_path / "arm.xml").write_text(
        "<mujoco><compiler meshdir='assets'/><asset><mesh name='w' file='wedge.stl' scale='.1 .1 .1'/></asset><worldbody>"
        "<body><joint/><geom type='mesh' mesh='w' pos='1 0 0' rgba='0 1 0 1'/></body></worldbody></mujoco>"
    )
    subject = subject_of(appell.load(tmp_path / "arm.xml"))
    assert subject.notes == ()
    (shape,) = (shape for shape in subject.shapes if shape.layer == "meshes")
    np.testing.assert_allclose(shape.mesh.vertices.min(axis=0), [1.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(shape.mesh.vertices.max(axis=0), [1.2, 0.1, 0.05], atol=1e-6)
    assert shape.colour == (0.0, 1.0, 0.0)


# --- pictures -------------------------------------------------------------------------------------------------------------


def test_pictures_show_meshes(tmp_path: Path, capsys) -> None:
    image = pytest.importorskip("matplotlib.image")
    path = write_meshes("panda", tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", appell.ModelWarning)
        assert main(["view", str(path), "--picture", str(tmp_path / "panda.png")]) == 0
    pixels = image.imread(tmp_path / "panda.png")[:, :, :3]
    hue = (pixels[:, :, 0] > 0.5) & (pixels[:, :, 2] > 0.5) & (pixels[:, :, 1] < 0.2)
    assert hue.mean() > 0.02


def test_simplified_meshes_keep_their_shape() -> None:
    ball = sphere(1.0)
    coarse = ball.simplified(0.2)
    assert len(coarse.faces) < len(ball.faces)
    assert coarse.volume == pytest.approx(ball.volume, rel=0.05)
    block = box((1.0, 2.0, 3.0)).simplified(0.1)
    assert block.volume == pytest.approx(6.0)
    assert Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=int)).simplified(0.1).faces.shape == (0, 3)


@pytest.mark.parametrize("axis", ["x", "y", "z"])
def test_numbers_at_the_axes_do_not_overlap(axis: str) -> None:
    """Of a pendulum that swings in one plane."""
    pytest.importorskip("matplotlib")
    arm = {"x": (0, 0, -1), "y": (0, 0, -1), "z": (1, 0, 0)}[axis]
    builder = (
        appell.RobotBuilder("pendulum").revolute("a", "base", "rod", axis).revolute("b", "rod", "bob", axis, xyz=arm)
    )
    com = tuple(0.5 * x for x in arm)
    robot = builder.body("rod", 1.0, com, (0.1, 0.1, 0.1)).body("bob", 1.0, com, (0.1, 0.1, 0.1)).build()
    figure = appell.draw(robot, motion=appell.simulate(robot, [1.0, 0.3], [1.0, 0.0], 1.0, t_eval=0.05))
    figure.canvas.draw()
    panel = figure.axes[0]
    texts = [label for each in (panel.xaxis, panel.yaxis, panel.zaxis) for label in each.get_ticklabels()]
    boxes = [text.get_window_extent() for text in texts if text.get_text() and text.get_visible()]
    boxes = [box for box in boxes if figure.bbox.contains(box.x0, box.y0)]  # the others are not drawn
    assert len(boxes) >= 2
    overlaps = [(a, b) for i, a in enumerate(boxes) for b in boxes[i + 1 :] if a.overlaps(b)]
    assert overlaps == []


def test_plots_of_many_joints_show_those_that_move_most() -> None:
    """Eight curves, in order, so that the legend has room."""
    robot = appell.robots.random_chain(12, seed=3)
    motion = appell.simulate(robot, np.zeros(12), np.zeros(12), 0.05, t_eval=0.01)
    (title, shown), *_ = [
        item for item in Timeline(subject_of(robot), motion).curves().items() if "coordinates" in item[0]
    ]
    assert title == "coordinates [rad, m], 8 of 12"
    ranges = dict(zip(motion.q_names, np.ptp(motion.q, axis=0), strict=True))
    assert list(shown) == [name for name in motion.q_names if name in shown]
    assert min(ranges[name] for name in shown) >= max(ranges[name] for name in ranges if name not in shown)
