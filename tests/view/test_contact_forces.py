"""Contact forces of a motion in the viewer: arrows at the points, along the forces."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.closeness import assert_close

import appell
from appell import Point
from appell.view.subjects import subject_of
from appell.view.timeline import Timeline

FEET = [Point("block", (x, y, -0.1)) for x in (-0.2, 0.2) for y in (-0.2, 0.2)]


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    """A block that falls on its feet, with a frame between its points and the floor."""
    builder = appell.RobotBuilder("block").body("world").body("block", 2.0, inertia=(0.1, 0.1, 0.1))
    robot = builder.floating("base", "world", "block").build()
    floor, method = appell.surfaces.Plane(friction=0.5, restitution=0.0), appell.Integration("moreau", dt=2e-3)
    start = [0.0, 0.0, 0.15, 0.0, 0.0, 0.0, 1.0]
    motion = appell.simulate(
        robot, start, np.zeros(6), 0.3, surfaces=floor, contact=appell.ContactOptions(FEET), method=method
    )
    return Timeline(subject_of(robot), motion)


def test_arrows_are_at_the_points_and_along_the_forces(timeline: Timeline) -> None:
    assert timeline.contact_arrows(0.0).shape == (0, 2, 3)
    arrows = timeline.contact_arrows(0.3)
    expected = np.array([foot.offset for foot in FEET]) + np.array([0.0, 0.0, 0.1])
    assert_close(np.sort(arrows[:, 0], axis=0), np.sort(expected, axis=0), tolerance=1e-6, scale=1.0)
    directions = arrows[:, 1] - arrows[:, 0]
    assert_close(directions, np.full((4, 1), directions[0, 2]) * [0.0, 0.0, 1.0], tolerance=1e-6)
    forces = timeline.motion.contact_forces.values()
    largest = max(float(np.linalg.norm(force, axis=1).max()) for force in forces)
    scale = directions[0, 2] / next(iter(forces))[-1, 2]
    assert_close(np.array(scale * largest), np.array(0.4 * timeline.subject.size), tolerance=1e-9)


def test_impacts_of_points_with_offsets_are_marked(timeline: Timeline) -> None:
    marks = timeline.impact_marks()
    assert {mark.point for mark in marks} == {str(foot) for foot in FEET}
    assert np.abs([mark.position[2] for mark in marks]).max() < 1e-6


def test_curves_and_pictures_have_the_forces(timeline: Timeline) -> None:
    sizes = timeline.curves()["contact forces [N]"]
    assert sum(curve[-1] for curve in sizes.values()) == pytest.approx(2.0 * 9.81, rel=1e-6)
    figure = timeline.motion.plot()
    assert "contact forces [N]" in [panel.get_ylabel() for panel in figure.axes]
    drawn = appell.draw(timeline.subject.robot, motion=timeline.motion)  # type: ignore[attr-defined]
    assert sum(type(each).__name__ == "Line3DCollection" for each in drawn.axes[0].collections) == 4
