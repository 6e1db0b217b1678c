"""What the viewer shows, without a browser: meshes, shapes, poses, sliders, walls and the time line."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.random_trees import SMALL_TREES, general_tree, over
from helpers.states import random_states
from hypothesis import given
from hypothesis import strategies as st

import appell
from appell.meshes import candidate_paths
from appell.model.body import Body
from appell.simulation.contact import surfaces
from appell.view import scene
from appell.view.page import energy_table, force_table, matrix_table, scene_points
from appell.view.scene import fit_camera
from appell.view.shapes import (
    inertia_ellipsoid,
    inertia_shapes,
    link_shapes,
    shown_surfaces,
    surface_shapes,
    visual_shapes,
)
from appell.view.subject import Subject, body_poses, configuration, hidden_layers, joint_sliders, slider_values
from appell.view.subjects import FORMER_NAMES, SAME_NAMES, RobotSubject, subject_of
from appell.view.timeline import Timeline

SIZES = st.floats(0.01, 10.0)

# --- solids -----------------------------------------------------------------------------------------------------------


@given(SIZES, SIZES, SIZES)
def test_volumes_and_outsides(a: float, b: float, c: float) -> None:
    """A mesh is closed and looks outward: its volume is positive and near that of the body."""
    assert scene.box((a, b, c)).volume == pytest.approx(a * b * c)
    assert scene.cylinder(a, b).volume == pytest.approx(np.pi * a**2 * b, rel=0.02)
    assert scene.sphere(a).volume == pytest.approx(4 / 3 * np.pi * a**3, rel=0.03)
    assert scene.capsule(a, b).volume == pytest.approx(np.pi * a**2 * (b + 4 / 3 * a), rel=0.03)
    assert scene.ring(a, 0.1 * a).volume == pytest.approx(2 * np.pi**2 * a * (0.05 * a) ** 2, rel=0.06)
    mirrored = scene.box((a, b, c)).scaled((-1, 1, 1))
    assert mirrored.volume == pytest.approx(a * b * c)


@given(st.lists(st.floats(-3, 3), min_size=6, max_size=6))
def test_a_rod_leads_from_one_point_to_the_other(numbers: list[float]) -> None:
    start, end = np.array(numbers[:3]), np.array(numbers[3:])
    length = np.linalg.norm(end - start)
    if length < 1e-3:
        return
    mesh = scene.rod(start, end, 0.01)
    along = (mesh.vertices - start) @ (end - start) / length
    assert along.min() == pytest.approx(0.0, abs=1e-9)
    assert along.max() == pytest.approx(length)
    assert mesh.volume > 0.0


def test_an_ellipsoid_of_even_density_has_the_inertia_of_its_body() -> None:
    axes, mass = np.array([0.1, 0.2, 0.35]), 3.0
    moments = (
        mass / 5 * np.array([axes[1] ** 2 + axes[2] ** 2, axes[0] ** 2 + axes[2] ** 2, axes[0] ** 2 + axes[1] ** 2])
    )
    turn = scene.frame_along(np.array([1.0, 2.0, -0.5]))
    inertia = turn @ np.diag(moments) @ turn.T
    six = tuple(inertia[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]].tolist())
    found, directions = inertia_ellipsoid(Body("b", mass, (0.0, 0.0, 0.0), six))
    assert_close(np.sort(found), axes, tolerance=1e-12)
    again = directions @ np.diag(mass / 5 * ((found**2).sum() - found**2)) @ directions.T
    assert_close(again, inertia, tolerance=1e-12)
    assert np.linalg.det(directions) == pytest.approx(1.0)


# --- poses and sliders ---------------------------------------------------------------------------------------------------


@over(SMALL_TREES)
def test_poses_of_all_bodies_are_those_of_the_library(robot) -> None:
    q = random_states(robot, count=2).q
    poses = body_poses(robot, q)
    for name in robot.body_names[:: max(1, len(robot.bodies) // 3)]:
        assert_close(poses[name], robot.pose(q, name), tolerance=1e-12)


def test_slider_values_and_coordinates_are_inverse_to_each_other() -> None:
    robot = appell.RobotBuilder().body("a", mass=1, inertia=(1, 1, 1)).body("b", mass=1, inertia=(1, 1, 1))
    robot = robot.floating("free", parent="world", child="a").spherical("ball", parent="a", child="b").build()
    q = robot.random_configuration(seed=3)
    values = slider_values(robot, q)
    assert len(values) == robot.nv == len(joint_sliders(robot, 1.0))
    poses, again = body_poses(robot, q), body_poses(robot, configuration(robot, values))
    for name in poses:
        assert_close(again[name], poses[name], tolerance=1e-12)
    assert [slider.label for slider in joint_sliders(robot, 1.0)][:4] == ["free x", "free y", "free z", "free roll"]


def test_sliders_stay_within_the_limits_of_the_joints() -> None:
    robot = appell.load("""<robot name="r"><link name="base"/>
      <link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
      <joint name="j" type="prismatic"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>
        <limit lower="0.2" upper="0.5" effort="1" velocity="1"/></joint></robot>""")
    (slider,) = joint_sliders(robot, 1.0)
    assert (slider.lower, slider.upper, slider.unit) == (0.2, 0.5, "m")
    assert RobotSubject.from_robot(robot).start.tolist() == [0.2]


# --- shapes of a robot -----------------------------------------------------------------------------------------------------


def test_links_and_inertia_are_drawn_where_there_are_no_meshes() -> None:
    robot = general_tree(9, 3)
    links, inertia = link_shapes(robot, 1.0), inertia_shapes(robot.bodies, 5.0)
    assert {shape.frame for shape in inertia} <= set(robot.body_names)
    assert sum(shape.name.startswith("joint ") for shape in links) >= robot.nv
    assert len({(shape.layer, shape.frame, shape.name) for shape in links + inertia}) == len(links + inertia)


def stl(path: Path, mesh: scene.Mesh) -> None:
    """A binary STL file."""
    data = bytearray(80) + struct.pack("<I", len(mesh.faces))
    for face in mesh.faces:
        data += struct.pack("<12fH", 0, 0, 0, *mesh.vertices[face].ravel(), 0)
    path.write_bytes(data)


MESHED = """<robot name="meshed"><link name="base"><visual><geometry><mesh filename="{}" scale="2 2 2"/></geometry>
  <origin xyz="0 0 1"/><material name="red"><color rgba="1 0 0 0.5"/></material></visual>
  <visual><geometry><box size="1 1 1"/></geometry></visual></link></robot>"""


@pytest.mark.parametrize("address", ["meshes/cube.stl", "package://arm/meshes/cube.stl", "file://{}/meshes/cube.stl"])
def test_meshes_are_found_scaled_and_placed(tmp_path: Path, address: str) -> None:
    pytest.importorskip("trimesh")
    package = tmp_path / "arm"
    (package / "meshes").mkdir(parents=True)
    stl(package / "meshes" / "cube.stl", scene.box((1, 1, 1)))
    robot = appell.load(MESHED.format(address.format(package)))
    (shape, block), notes = visual_shapes(robot, package)
    assert notes == ()
    assert shape.mesh.volume == pytest.approx(8.0, rel=1e-6)
    assert_close(shape.mesh.vertices.max(axis=0), np.array([1.0, 1.0, 2.0]), tolerance=1e-6)
    assert (shape.colour, shape.opacity, shape.layer) == ((1.0, 0.0, 0.0), 0.5, "meshes")
    assert block.mesh.volume == pytest.approx(1.0)


def test_meshes_that_do_not_resolve_are_named(tmp_path: Path) -> None:
    robot = appell.load(MESHED.format("package://nowhere/cube.stl"))
    shapes, notes = visual_shapes(robot, tmp_path)
    assert [shape.name for shape in shapes] == ["visual1"]
    assert notes == ("mesh 'package://nowhere/cube.stl' was not found",)
    assert hidden_layers(RobotSubject.from_robot(robot, tmp_path)) == (), "links stand in for what is missing"
    (tmp_path / "broken.stl").write_text("not a mesh")
    pytest.importorskip("trimesh")
    _, notes = visual_shapes(appell.load(MESHED.format("broken.stl")), tmp_path)
    assert "'broken.stl' cannot be read" in notes[0]


def test_packages_are_looked_for_in_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    assert tmp_path / "arm" / "a.stl" in list(candidate_paths("package://arm/a.stl", None))


# --- walls --------------------------------------------------------------------------------------------------------------------

WALLS = [
    surfaces.Circle(radius=2.5), surfaces.Plane((0, 1, 1), (0.0, 0.0, 0.3)), surfaces.Cylinder(radius=0.7, axis=(1, 0, 0)),
    surfaces.Sphere(radius=1.2, center=(0.1, 0.2, 0.3)), surfaces.Ellipse((3.0, 1.0)),
    surfaces.Ellipse((3.0, 1.0), center=(4.0, 5.0, 6.0), major=(0.0, 0.6, 0.8), axis=(1, 0, 0)),
    surfaces.ImplicitSurface(
        lambda p: p[0] ** 4 + p[1] ** 4 - 1.0, lambda p: np.array([4 * p[0] ** 3, 4 * p[1] ** 3, 0.0])
    ),
]  # fmt: skip


@pytest.mark.parametrize("wall", WALLS, ids=lambda wall: type(wall).__name__)
def test_drawn_walls_lie_on_the_walls(wall) -> None:
    for middle in ((0, 0, 0), (1, 2, 3)):
        (shape,) = surface_shapes([wall], 1.0, middle)
        assert len(shape.mesh.faces) > 10
        assert np.abs(wall.gap(shape.mesh.vertices)).max() < 0.02, "further off than the thickness of the drawn wall"


def test_uneven_ground_is_drawn_below_the_robot():
    ground = surfaces.ImplicitSurface(
        lambda p: p[2] - 0.1 * np.sin(p[0]), lambda p: np.array([-0.1 * np.cos(p[0]), 0.0, 1.0]), side="outside"
    )
    (shape,) = surface_shapes([ground], 1.0, (5.0, 1.0, 0.5))
    assert np.abs(ground.gap(shape.mesh.vertices)).max() < 1e-6
    low, high = shape.mesh.vertices.min(axis=0), shape.mesh.vertices.max(axis=0)
    assert (low[:2] < [3.6, -0.4]).all()
    assert (high[:2] > [6.4, 2.4]).all()
    far = surfaces.ImplicitSurface(lambda p: p[2] + 1e6, lambda p: np.array([0.0, 0.0, 1.0]), side="outside")
    assert not len(surface_shapes([far], 1.0)[0].mesh.faces), "nothing of it can be seen"


@pytest.mark.parametrize("wall", WALLS[1:3], ids=["plane", "cylinder"])
def test_infinite_walls_are_drawn_where_the_robot_is(wall):
    (shape,) = surface_shapes([wall], 1.0, (30.0, 0.1, 0.2))
    assert np.abs(shape.mesh.vertices.mean(axis=0) - [30.0, 0.0, 0.2]).max() < 0.21
    assert np.ptp(shape.mesh.vertices, axis=0).max() <= 4.1


# --- numbers ------------------------------------------------------------------------------------------------------------------


def test_numbers_are_those_of_the_library() -> None:
    robot = appell.load("puma560")
    subject = subject_of(robot)
    q, qd, qdd = random_states(robot, 1)
    quantities = subject.quantities(q[0], qd[0], qdd[0])
    assert f"{robot.inverse_dynamics(q[0], qd[0], qdd[0])[1]:.4g}" in force_table(
        quantities, robot.joint_names, subject.actuator_names
    )
    assert f"{robot.kinetic_energy(q[0], qd[0]):.4g} J" in energy_table(quantities)
    assert f"{robot.mass_matrix(q[0])[2, 1]:.4g}" in matrix_table(quantities.M, robot.joint_names)


# --- motion -------------------------------------------------------------------------------------------------------------------


def test_moments_of_a_motion_lie_on_it() -> None:
    robot = appell.load("planar2r")
    coarse = appell.simulate(robot, [0.5, 0.0], [1.0, 0.0], duration=0.5, t_eval=0.02)
    fine = appell.simulate(robot, [0.5, 0.0], [1.0, 0.0], duration=0.5, t_eval=0.005)
    line = Timeline(subject_of(robot), coarse)
    for k in (0, 1, 37, 50, 99, 100):
        state = line.state(fine.t[k])
        assert_close(state.q, fine.q[k], tolerance=1e-5)
        assert_close(state.qd, fine.qd[k], tolerance=1e-4)


def test_marks_stand_where_points_hit_walls() -> None:
    tree, wall = appell.load("shafei_tree"), surfaces.Circle(radius=2.5)
    motion = appell.simulate(tree, *tree.initial_state, duration=0.6, surfaces=[wall])
    marks = Timeline(subject_of(tree), motion).impact_marks()
    assert [mark.point for mark in marks] == ["O1", "O5", "O2", "O4"]
    assert np.abs(wall.gap(np.array([mark.position for mark in marks]))).max() < 1e-6


def test_a_motion_of_another_robot_is_refused() -> None:
    arm = appell.load("planar2r")
    motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=0.1)
    with pytest.raises(appell.ArgumentError, match=r"2 coordinates.*puma560 has 6.*'planar2r'"):
        Timeline(subject_of(appell.load("puma560")), motion)


# --- subjects -----------------------------------------------------------------------------------------------------------------


def test_anything_with_poses_can_be_shown() -> None:
    subject = RobotSubject.from_robot(appell.load("planar2r"))
    assert subject_of(subject) is subject
    former = {name: getattr(subject, name) for name in SAME_NAMES}
    former |= {old: getattr(subject, new) for new, old in FORMER_NAMES.items()}
    with pytest.warns(DeprecationWarning, match=r"Subject.drives.* is now called actuator_names"):
        assert subject_of(SimpleNamespace(**former)).actuator_names == subject.actuator_names
    with pytest.raises(appell.ArgumentError, match="cannot show a int"):
        subject_of(3)


@pytest.mark.parametrize("name", appell.robots.names())
def test_every_built_in_robot_can_be_shown(name: str) -> None:
    subject = subject_of(appell.load(name))
    assert isinstance(subject, Subject)
    q = subject.start
    n = len(subject.sliders)
    assert len(subject.slider_values(q)) == n
    poses = subject.poses(q)
    assert {shape.frame for shape in subject.shapes} <= set(poses)
    quantities = subject.quantities(q, np.zeros(n), np.zeros(n))
    assert (len(quantities.tau), len(quantities.gravity), quantities.M.shape) == (
        len(subject.actuator_names),
        n,
        (n, n),
    )
    moved = subject.configuration(subject.slider_values(q) + 0.01, near=q)
    assert_close(subject.slider_values(moved), subject.slider_values(q) + 0.01, tolerance=1e-9, scale=1.0)
    assert max(np.abs(subject.poses(moved)[frame] - poses[frame]).max() for frame in poses) > 1e-3


def test_sliders_of_a_closed_loop_keep_it_closed() -> None:
    robot = appell.load("delta")
    subject = subject_of(robot)
    q = subject.start
    for step in (0.1, 0.2, 0.15):
        q = subject.configuration(subject.slider_values(q) + step * np.array([1.0, -0.5, 0.3]), near=q)
        assert np.abs(robot.closure_error(q)).max() < 1e-9
    assert (
        subject.configuration(subject.slider_values(q) + 50.0, near=q) is q
        or np.abs(robot.closure_error(q)).max() < 1e-9
    )


def test_a_flat_mechanism_is_looked_at_from_above() -> None:
    flat = fit_camera(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 0.0]]), 1.0)
    assert flat.position[2] > 1.0
    assert flat.up.tolist() == [0.0, 1.0, 0.0]
    spatial = fit_camera(np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]), 1.0)
    assert spatial.up.tolist() == [0.0, 0.0, 1.0]


# --- pictures ------------------------------------------------------------------------------------------------------------------


def test_a_picture_has_every_triangle_and_units_on_its_axes(tmp_path: Path) -> None:
    robot = appell.load("planar2r")
    figure = appell.draw(robot, tmp_path / "arm.png", q=[0.3, -0.5])
    (panel,) = figure.axes
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("x [m]", "y [m]")
    drawn = len(panel.collections[0].get_facecolor())
    assert 0.7 < drawn / sum(len(shape.mesh.faces) for shape in subject_of(robot).shapes) <= 1.0
    assert (tmp_path / "arm.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_of_a_motion_shows_its_moments_and_its_way() -> None:
    robot = appell.load("planar2r")
    motion = appell.simulate(robot, [0.5, 0.0], [0.0, 0.0], duration=0.3, t_eval=0.05)
    (panel,) = appell.draw(robot, motion=motion, surfaces=[surfaces.Circle(radius=2.5)]).axes
    assert len(panel.lines) == 1
    links = sum(len(shape.mesh.faces) for shape in subject_of(robot).shapes if shape.layer == "links")
    assert len(panel.collections[0].get_facecolor()) > 0.7 * 6 * links


def test_a_robot_without_joints_or_shapes_is_drawn(tmp_path) -> None:
    pytest.importorskip("matplotlib")
    appell.draw(appell.Robot("rock", (Body("base"),), ()), tmp_path / "rock.png")
    assert (tmp_path / "rock.png").stat().st_size > 1000


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ({"port": 99999}, "port is 99999, expected"),
        ({"host": "192.0.2.1"}, "'192.0.2.1', which is not an address of this"),
    ],
)
def test_addresses_that_cannot_be_listened_on_are_refused(address, text) -> None:
    pytest.importorskip("viser")
    with pytest.raises(appell.ArgumentError, match=text):
        appell.show(appell.load("planar2r"), **address)


def test_wrong_configurations_and_motions_are_named():
    pytest.importorskip("matplotlib")
    arm = appell.load("planar2r")
    with pytest.raises(appell.ArgumentError, match=r"q has shape \(3,\), expected \(2,\)"):
        appell.draw(arm, q=[0.0, 0.0, 0.0])
    with pytest.raises(appell.ArgumentError, match=r"motion is a str, expected a Trajectory; appell\.Trajectory\.load"):
        appell.draw(arm, motion="motion.npz")


def test_surfaces_are_those_given_or_those_of_the_motion():
    arm, floor, tube = appell.load("planar2r"), surfaces.Plane((0, 1, 0), (0, -3, 0)), surfaces.Circle(radius=3.0)
    motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], 0.1, surfaces=[floor, tube])
    assert motion.surfaces == (floor, tube)
    assert shown_surfaces(None, motion) == (floor, tube)
    assert shown_surfaces(tube, motion) == shown_surfaces([tube], None) == (tube,)
    assert shown_surfaces((), motion) == shown_surfaces(None, None) == ()
    assert [shape.name for shape in surface_shapes((None, tube), 1.0)] == ["surface1"]
    with pytest.raises(appell.ArgumentError, match="surfaces has a str"):
        shown_surfaces("floor", None)


def test_the_floor_of_a_motion_is_drawn():
    pytest.importorskip("matplotlib")
    arm, floor = appell.load("planar2r"), surfaces.Plane((0, 1, 0), (0, -3, 0))
    motion = appell.simulate(arm, [0.5, 0.0], [0.0, 0.0], 0.1, surfaces=floor)
    lowest = [appell.draw(arm, motion=motion, **given).axes[0].get_ylim()[0] for given in ({}, {"surfaces": ()})]
    assert lowest[0] < -3.0 < lowest[1]


def test_a_floor_is_not_much_wider_than_the_robot_and_its_path():
    pytest.importorskip("matplotlib")
    ball = appell.RobotBuilder("ball").body("world").body("ball", 1.0, inertia=(0.1, 0.1, 0.1))
    robot, floor = ball.floating("base", "world", "ball").build(), surfaces.Plane()
    motion = appell.simulate(robot, [8, 0, 1, 0, 0, 0, 1], [4, 0, 0, 0, 0, 0], 1.0, surfaces=floor)
    (panel,) = appell.draw(robot, motion=motion).axes
    assert 7.0 < panel.get_xlim()[0] < 8.0 < 12.0 < panel.get_xlim()[1] < 13.0
    points = scene_points(subject_of(robot), Timeline(subject_of(robot), motion))
    assert points[:, 0].min() == 8.0
    assert points[:, 0].max() == pytest.approx(12.0)
