"""Printed values were typed correctly, and counted ones are what the papers promise or less."""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import import_module

import numpy as np
import pytest
from helpers.closeness import assert_close
from helpers.shared_data import shared

from appell.table import Link, anchor
from appell_lab.reproduce import (
    PAPERS,
    mata2002,
    mata2002_simulation,
    provenzano2002,
    reproduce,
    valera2003,
    valera2003_controllers,
    valera2003_parameters,
    valera2003_paul,
)  # fmt: skip
from appell_lab.reproduce.cost import SIX, SIZES, Cost, compared, counted, exceptions, operations, poly, printed
from appell_lab.reproduce.reproduction import Reproduction, caption

MATA = {**mata2002.TABLE_1, **{("2", *key): cost for key, cost in mata2002.TABLE_2.items()}, **mata2002.TABLE_3}


@cache
def reproduced(paper: str) -> Reproduction:
    return reproduce(paper)


@pytest.mark.parametrize("cost", [*MATA.values(), *valera2003.TABLE_3.values()])
def test_printed_numbers_for_six_joints_agree_with_their_formulas(cost: Cost):
    assert cost.products is not None
    assert cost.sums is not None
    assert (cost.products(SIX), cost.sums(SIX)) == (cost.products_six, cost.sums_six)


def test_provenzano_table_1_prints_one_wrong_number():
    linear = provenzano2002.LINEAR_SYSTEM
    assert linear.products is not None
    assert linear.sums is not None
    assert linear.products(SIX) == linear.products_six
    assert (linear.sums(SIX), linear.sums_six) == (86, 66)
    parts = (provenzano2002.INERTIA_MATRIX, provenzano2002.BIAS)
    assert sum(part.sums_six for part in parts) + 86 == provenzano2002.TOTAL.sums_six


@pytest.mark.parametrize("n", SIZES)
def test_mata_table_3_adds_up(n):
    *parts, total = mata2002.TABLE_3.values()
    for side in ("products", "sums"):
        assert sum(getattr(part, side)(n) for part in parts) == getattr(total, side)(n)


@pytest.mark.parametrize("n", SIZES)
def test_valera_table_2_adds_up_to_table_3(n):
    total = valera2003.TABLE_3["Valera et al. 2003"]
    assert total.products is not None
    assert total.sums is not None
    assert sum(poly(*products)(n) for _, products, _ in valera2003.STEPS.values()) == total.products(n)
    assert sum(poly(*sums)(n) for _, _, sums in valera2003.STEPS.values()) == total.sums(n)


def test_forward_dynamics_tables_of_both_papers_agree():
    assert mata2002.TABLE_4 == provenzano2002.TABLE_2
    total = mata2002.TABLE_3["total"]
    assert mata2002.TABLE_4["GA"] == (total.products_six, total.sums_six)


@pytest.mark.parametrize(
    ("part", "paper"),
    [
        (("inverse_dynamics", "mata2002"), mata2002.TABLE_1[mata2002.GIBBS_APPELL]),
        (("inverse_dynamics", "valera2003"), valera2003.TABLE_3["Valera et al. 2003"]),
        (mata2002.HESSIAN, mata2002.TABLE_2[mata2002.GIBBS_APPELL]),
        (mata2002.BIAS_VECTOR, mata2002.TABLE_3["bias vector"]),
        (mata2002.FORWARD, mata2002.TABLE_3["total"]),
    ],
)
@pytest.mark.parametrize("n", SIZES)
def test_no_more_operations_than_printed(part, paper, n):
    ours = operations(*part, n)
    assert ours.mul <= paper.products(n)
    assert ours.add <= paper.sums(n)


@pytest.mark.parametrize("n", [3, 6, 9])
def test_steps_of_the_vector_form_add_up_to_the_algorithm(n):
    steps = valera2003.steps_of_chain(n)
    whole = operations("inverse_dynamics", "valera2003", n)
    assert sum(step.mul for step in steps.values()) == whole.mul
    assert sum(step.add for step in steps.values()) == whole.add
    assert all(count >= 0 for step in steps.values() for count in step[:2])


def test_counted_parts_add_up():
    whole = counted(mata2002.FORWARD)
    parts = [counted(mata2002.HESSIAN), counted(mata2002.BIAS_VECTOR), counted(mata2002.FORWARD, **mata2002.SOLUTION)]
    assert sum(part.products_six for part in parts) == whole.products_six
    assert sum(part.sums_six for part in parts) == whole.sums_six


@pytest.mark.parametrize(
    ("six", "text"),
    [
        ((475, 404), "as many products and sums as printed"),
        ((462, 410), "13 fewer products and 6 more sums than printed"),
    ],
)
def test_comparison_in_words(six, text):
    paper = mata2002.TABLE_1[mata2002.GIBBS_APPELL]
    assert compared(printed((1, 0), six[0], (1, 0), six[1]), paper, "printed") == text


@pytest.mark.parametrize(("paper", "titles"), [
    ("valera2003", [*(f"Table {k}" for k in range(2, 8)), "Identification: tau = K Φ by four methods", "Figure 4", "Figure 5",
                    "Execution time of the control algorithms"]),
    ("provenzano2002", ["Table 1", "Table 2", "Table 3", "Table 4", mata2002_simulation.GROWTH]),
    ("mata2002", [*(f"Table {k}" for k in range(1, 8)), mata2002_simulation.GROWTH]),
])  # fmt: skip
def test_reproduction_has_the_tables_as_text_and_data(paper, titles):
    result = reproduced(paper)
    assert [table.title.partition(".")[0] for table in result.tables] == titles
    assert json.loads(json.dumps(result.as_dict()))["paper"] == paper
    text = str(result)
    assert all(table.title in text for table in result.tables)
    assert "None" not in text


@pytest.mark.parametrize(("paper", "text"), [
    ("mata2002", "000_mata2002_serial_gibbs_appell"), ("valera2003", "001_valera2003_inverse_dynamic_control"),
    ("abedloo2014", "002_abedloo_spherical_parallel"), ("shafei2018", "003_shafei2018_tree_impact"),
    ("provenzano2002", "004_provenzano2002_dinamica_directa"),
])  # fmt: skip
def test_every_table_and_figure_of_a_paper_is_listed(paper, text):
    source = shared(f"papers/{text}.txt").read_text()
    found = {("Figure", int(n)) for n in re.findall(r"Fig(?:ure|\.)?s?\.? (\d+)", source)}
    found |= {("Table", int(n)) for n in re.findall(r"Tabl[ea] (\d+)", source)}
    listed = set()
    for item in import_module(f"appell_lab.reproduce.{paper}").ITEMS:
        kind, _, numbers = item.name.partition(" ")
        first, *rest = [int(n) for n in re.findall(r"\d+", numbers)] or [0]
        last = rest[0] if rest else first
        listed |= {(kind.removesuffix("s"), n) for n in range(first, last + 1)}
        assert item.here or item.remark, f"{item.name} is neither shown nor is there a reason"
    assert found <= listed, sorted(found - listed)


@pytest.mark.parametrize("paper", ["mata2002", "valera2003", "provenzano2002", "shafei2018"])
def test_every_item_leads_to_what_shows_it(paper):
    result = reproduced(paper)
    titles = [table.title for table in result.tables] + [caption(figure.name) for figure in result.figures]
    for item, (cell, *_) in zip(result.items, result.contents("p.html").rows, strict=True):
        assert isinstance(cell, Link) == bool(item.here), item
        if isinstance(cell, Link):
            assert cell.address in {f"p.html#{anchor(title)}" for title in titles}, item


def test_a_count_above_the_printed_one_is_named():
    """NOC needs more products than printed from n = 15 on; the note is computed, and so finds it."""
    note = mata2002.comparison()
    assert "the inertia matrix of NOC, more products than printed from n = 15 (6906 against 6893)" in note
    assert note.count("against") == 1
    assert exceptions(printed((96, -101), 475, (84, -100), 404), printed((95, -101), 469, (84, -100), 404), "x") == [
        "x, more products than printed from n = 3 (187 against 184)"
    ]


def test_valera_table_3_differs_in_more_than_its_constants():
    note = next(note for note in valera2003.table_3().notes if "printed formulas differ" in note)
    assert "by -24 in the constant alone for products, by +1 per joint and -34 in the constant for sums" in note


def test_vector_form_in_pauls_convention_is_inverse_dynamics():
    rows, robot = valera2003_paul.table(5)
    q, qd, qdd = np.random.default_rng(0).normal(size=(3, 5))
    tau = valera2003_paul.inverse_dynamics(rows, q.tolist(), qd.tolist(), qdd.tolist())
    assert_close(np.array(tau), robot.inverse_dynamics(q, qd, qdd), tolerance=1e-12)
    assert (str(valera2003.counted_paul().products), str(valera2003.counted_paul().sums)) == ("119n - 77", "94n - 72")
    assert valera2003.PAUL.products is not None
    assert (valera2003.PAUL.products(6), valera2003.PAUL.sums(6)) == (724, 511)  # type: ignore[misc]


def test_controllers_of_table_4_differ_as_the_paper_says():
    errors = valera2003_controllers.errors()
    tracking, integral = errors["tracking"], errors["tracking with integral action"]
    printed, to_a_point = errors["tracking, as printed"], errors["point to point"]
    assert tracking["as modelled"][0] < 1e-3
    assert printed["as modelled"][0] > 100 * tracking["as modelled"][0]  # it lags behind
    assert to_a_point["as modelled"][1] < 1e-9
    for plant in ("heavier", "with friction"):
        assert tracking[plant][1] > 1e-3
        assert integral[plant][1] < 0.05 * tracking[plant][1]
    assert len(valera2003_controllers.table_4().rows) == 4


def test_printed_parameters_of_the_puma_are_those_of_the_robot():
    text = shared("papers/001_valera2003_inverse_dynamic_control.txt").read_text()
    assert all(str(mass) in text for mass in valera2003_parameters.TABLE_6)
    assert all(str(moment) in text for diagonal in valera2003_parameters.INERTIAS for moment in diagonal)
    for row in valera2003_parameters.table_5().rows:
        assert row[1:4] == pytest.approx(row[4:7], abs=1e-15)
    for _, printed_mass, mass in valera2003_parameters.table_6().rows:
        assert printed_mass == mass
    rows = valera2003_parameters.table_7().rows
    for printed_row, row in zip(rows[::2], rows[1::2], strict=True):
        assert printed_row[2:] == row[2:]
    assert all(body.inertia[k] == 0.0 for body in valera2003_parameters._links() for k in (1, 2, 4))


def test_identification_by_four_solvers_agrees():
    table = valera2003_parameters.identification_table()
    assert [row[0] for row in table.rows] == list(valera2003_parameters.SOLVERS.values())
    for _, error, within, torque, apart in table.rows:
        assert error < 1.0
        assert within > 85.0
        assert torque < 1.5
        assert apart < 1e-9


def test_every_paper_is_listed_in_the_command_help(capsys):
    from appell.cli import main

    assert main(["reproduce", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(paper in text for paper in PAPERS)
