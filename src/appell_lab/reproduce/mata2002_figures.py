"""Figures of the replayed line: figure 3 of Mata 2002 (figure 1 of Provenzano 2002), and how the errors grow."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from appell.plotting import COLOURS, new_figure, save_figure, tidy
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
