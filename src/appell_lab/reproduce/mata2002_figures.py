"""Figure 2 of Mata 2002, figure 3 (figure 1 of Provenzano 2002), and how the errors of the replayed line grow."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from appell.loading.catalogue.mata_two_body import mata_two_body
from appell.plotting import COLOURS, new_figure, save_figure, tidy
from appell_lab.reproduce import two_bodies
from appell_lab.reproduce.line_figures import draw_arm
from appell_lab.reproduce.mata2002_growth import growth
from appell_lab.reproduce.mata2002_replay import replay
from appell_lab.reproduce.mata2002_simulation import exact_outcome, outcome
from appell_lab.reproduce.reproduction import Figure


def figures(number: int) -> tuple[Figure, ...]:
    """The robot at the beginning and the end of the line, under the paper's number; and the growth of errors."""
    line = replay().line
    drawing = draw_arm(line, (0.0, line.duration), "Initial and final position, and the line")
    return (
        Figure(f"figure{number}_initial_and_final_position", drawing),
        Figure("growth_of_errors_of_the_replay", draw_growth),
    )


def figure_2() -> Figure:
    """Accelerations of the two bodies in both precisions, and the condition number of the inertia matrix."""
    condition = two_bodies.condition_numbers(mata_two_body())
    notes = (
        f"The condition number of D goes from {condition.min():.3g} to {condition.max():.3g} over a turn of the second body. The "
        "paper shows joint 1, and so does this figure; the numbers of its table 5 are those of joint 2.",
        "The paper prints no numbers for this figure but those of table 5.",
    )
    return Figure("figure2_accelerations_and_condition_number", draw_accelerations, notes)


def draw_accelerations(path: Path) -> None:
    """Three methods in single (line) and double precision (dashed), and the condition number."""
    robot, degrees = mata_two_body(), np.degrees(two_bodies.ANGLES)
    figure = new_figure(9.0, 6.4)
    *panels, last = figure.subplots(2, 2, sharex=True).ravel()
    for k, (panel, method) in enumerate(zip(panels, two_bodies.PAPER, strict=True)):
        single, double = (two_bodies.accelerations(robot, method, dtype, 0) for dtype in (np.float32, np.float64))
        panel.plot(degrees, single, color=COLOURS[k], linewidth=1.6, label="single precision")
        panel.plot(degrees, double, "--", color="0.1", linewidth=0.9, label="double precision")
        worst = float(np.abs(single - double).max())
        panel.set_title(f"{method}: largest difference {worst:.2g} rad/s²", fontsize=10, loc="left")
        panel.set_ylabel("acceleration of joint 1 [rad/s²]")
        panel.legend(frameon=False, fontsize=8)
    last.semilogy(degrees, two_bodies.condition_numbers(robot), color="0.2", linewidth=1.6)
    last.set_title("condition number of D", fontsize=10, loc="left")
    for panel in (*panels, last):
        panel.set(xlim=(0.0, 360.0), xticks=range(0, 361, 90))
        tidy(panel)
    figure.supxlabel("angle of the second body [deg]", fontsize=10)
    save_figure(figure, path)


def draw_growth(path: Path) -> None:
    """Differences to the line over time, on a logarithmic axis, with the growth of the linearised equations."""
    figure = new_figure(8.0, 4.8)
    panel = figure.subplots()
    linear = growth(replay())
    for k, (label, run) in enumerate({"torques every 0.1 s": outcome(), "torques exact": exact_outcome()}.items()):
        panel.semilogy(run.t[1:], run.away[1:], color=COLOURS[k], linewidth=1.6, label=label)
        half = run.t > 0.5 * run.t[-1]
        scale = np.exp(np.mean(np.log(run.away[half]) - linear.rate * run.t[half]))
        label = f"exp(λ t), λ = {linear.rate:.2f} 1/s" if k == 0 else None
        panel.semilogy(run.t, scale * np.exp(linear.rate * run.t), "--", color="0.4", linewidth=1.0, label=label)
    panel.set(xlabel="time [s]", ylabel="largest error of a joint [rad]", xlim=(0.0, linear.t[-1]))
    panel.set_title(
        "Replayed torques without feedback: errors grow as in the linearised equations", fontsize=11, loc="left"
    )
    panel.legend(frameon=False, fontsize=9)
    tidy(panel)
    save_figure(figure, path)
