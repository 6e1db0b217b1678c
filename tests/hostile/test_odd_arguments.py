"""Arguments that made no sense and were accepted, never returned, or ended in an exception of another library."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.control_rigs import PUMA, StillCard, driven

import appell
from appell.cli import main

ARM = appell.load("planar2r")
REST = [0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("dt", {"method": appell.Integration("rk4", dt=1e-300)}),
        ("dt", {"method": appell.Integration("midpoint", dt=1e-12)}),
        ("dt", {"method": appell.Integration("semi_implicit_euler", dt=5e-324)}),
        ("max_step", {"method": appell.Integration(max_step=1e-300)}),
        ("t_eval", {"t_eval": 1e-300}),
        ("t_eval", {"t_eval": 1e-9}),
        ("period", {"controller": appell.control.PD(ARM, REST, kp=1.0, kd=1.0, period=1e-300)}),
        ("period", {"controller": appell.control.PD(ARM, REST, kp=1.0, kd=1.0, period=1e-12)}),
    ],
)
def test_a_simulation_that_would_not_end(name, options):
    with pytest.raises(appell.ArgumentError, match=rf"{name} is .* would not end"):
        appell.simulate(ARM, REST, REST, 1.0, **options)


def test_short_steps_of_a_short_simulation():
    motion = appell.simulate(ARM, REST, REST, 1e-12, method=appell.Integration("rk4", dt=1e-13), t_eval=1e-13)
    assert len(motion.t) == 11


def test_a_run_that_would_not_end():
    card = StillCard()
    controller = appell.control.PDGravity(PUMA, np.zeros(6), kp=1.0, kd=1.0, period=1e-300)
    with pytest.raises(appell.ArgumentError, match="too short for a run of 1 s"):
        driven(card, controller, duration=1.0)
    assert card.closed


@pytest.mark.parametrize("robot", ["four_bar", "delta", "agile_wrist"])
@pytest.mark.parametrize("target", [(), ("--target", "0.1", "0.1", "0.1")])
def test_a_control_law_on_closed_loops_is_an_error_with_a_reason(robot, target, capsys):
    assert main(["simulate", robot, "--duration", "0.01", "--law", "computed_torque", *target]) == 1
    assert f"needs a tree with nq = nv; '{robot}'" in capsys.readouterr().err


@pytest.mark.parametrize("robot", ["four_bar", "delta"])
def test_a_line_between_configurations_of_closed_loops_is_an_error(robot):
    robot = appell.load(robot)
    q = np.array(robot.initial_state[0])
    with pytest.raises(appell.ArgumentError, match="has closed loops, which would open"):
        appell.trajectories.joint_line(robot, q, q, duration=1.0)


@pytest.mark.parametrize("timing", [{"duration": 1e-300}, {"velocity": 1e300}, {"velocity": 1e-300}])
@pytest.mark.parametrize("profile", ["quintic", "uniform", "cubic"])
def test_a_motion_that_is_too_short_for_numbers(timing, profile):
    with pytest.raises(appell.ArgumentError, match="expected a number from 1e-30 to 1e\\+30"):
        appell.trajectories.joint_line(ARM, REST, [1.0, 1.0], profile=profile, **timing)


def odd_arm(joint: str, name: str = "arm"):
    """A robot with two joints and these names."""
    builder = appell.RobotBuilder(name).body("base")
    for k, parent in enumerate(("base", "link0")):
        builder = builder.body(f"link{k}", mass=1.0, com=(0.1, 0.0, 0.0), inertia=(0.1, 0.1, 0.1)).revolute(
            joint + str(k), parent, f"link{k}", axis=(0, 1, 0)
        )
    return builder.build()


@pytest.mark.parametrize("name", ["cost $", "$x_{$", "$\\foo$"])
def test_names_with_dollars_in_figures(name, tmp_path):
    """Matplotlib reads text between dollars as a formula."""
    robot = odd_arm(name)
    figure = appell.simulate(robot, [0.1, 0.2], REST, 0.05).plot(tmp_path / "motion.png")
    texts = {text.get_text() for panel in figure.axes if panel.get_legend() for text in panel.get_legend().get_texts()}
    assert {name + "0", name + "1"} <= texts
    appell.trajectories.joint_line(robot, REST, [1.0, 1.0], duration=1.0).plot(tmp_path / "line.png")


def test_powers_of_ten_at_ticks_are_formulas():
    from appell.plotting import new_figure, plain_names

    figure = new_figure(4.0, 3.0)
    panel = figure.subplots()
    panel.semilogy([0.0, 1.0], [1.0, 1e6], label="$a$")
    panel.legend()
    plain_names(figure)
    figure.canvas.draw()
    ticks = [label for label in panel.yaxis.get_ticklabels() if label.get_text()]
    assert any("10^{3}" in label.get_text() for label in ticks)
    assert all(label.get_parse_math() for label in ticks)
    assert not panel.get_legend().get_texts()[0].get_parse_math()


def test_a_name_of_300_characters(tmp_path):
    """In files of exported code the name is cut; a prefix of that length is an error."""
    long = "r" * 300
    robot = odd_arm("joint", long)
    files = appell.export(robot, "inverse_dynamics", tmp_path)
    assert [file.name for file in files] == ["r" * 60 + ".h", "r" * 60 + ".c"]
    controller = appell.control.PD(robot, REST, kp=1.0, kd=1.0)
    assert appell.control.export(controller, tmp_path)[0].name == "r" * 60 + "_pd.h"
    with pytest.raises(appell.ArgumentError, match="Use up to 200 letters"):
        appell.export(robot, "inverse_dynamics", tmp_path, prefix=long)
    appell.compile(robot).save(tmp_path / "robot.appell")
    tau = appell.load_compiled(tmp_path / "robot.appell").inverse_dynamics(REST, REST, REST)
    np.testing.assert_allclose(tau, robot.inverse_dynamics(REST, REST, REST), rtol=1e-12)
