"""Printed values were typed correctly, and counted ones are what the papers promise or less."""

from __future__ import annotations

import json

import pytest

from appell_lab.reproduce import PAPERS, mata2002, mata2002_simulation, provenzano2002, reproduce, valera2003
from appell_lab.reproduce.cost import SIX, SIZES, Cost, compared, counted, operations, poly, printed

MATA = {**mata2002.TABLE_1, **{("2", *key): cost for key, cost in mata2002.TABLE_2.items()}, **mata2002.TABLE_3}


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
    ("valera2003", ["Table 2", "Table 3", "Figure 4", "Figure 5", "Execution time of the control algorithms"]),
    ("provenzano2002", ["Table 1", "Table 2", "Table 3", "Table 4", mata2002_simulation.GROWTH]),
    ("mata2002", [*(f"Table {k}" for k in range(1, 8)), mata2002_simulation.GROWTH]),
])  # fmt: skip
def test_reproduction_has_the_tables_as_text_and_data(paper, titles):
    result = reproduce(paper)
    assert [table.title.partition(".")[0] for table in result.tables] == titles
    assert json.loads(json.dumps(result.as_dict()))["paper"] == paper
    text = str(result)
    assert all(table.title in text for table in result.tables)
    assert "None" not in text


def test_every_paper_is_listed_in_the_command_help(capsys):
    from appell.cli import main

    assert main(["reproduce", "--help"]) == 0
    text = capsys.readouterr().out
    assert all(paper in text for paper in PAPERS)
