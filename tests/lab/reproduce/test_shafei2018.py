"""`appell reproduce shafei2018`: tables beside the printed ones, and figures."""

from __future__ import annotations

import re

import numpy as np
import pytest

from appell.cli import main
from appell_lab.reproduce import reproduce, shafei2018, shafei2018_growth


@pytest.fixture(scope="module")
def result():
    return reproduce("shafei2018")


def test_printed_counts_are_those_of_equal_branches(result):
    """Table 1 for n_b branches of n_m links, at the sizes of figures 12 and 13."""
    lagrange, gibbs, both = (row[1:] for row in shafei2018.TABLE_1.values())
    assert [p(4) * 4 for p in (lagrange[0], gibbs[0], both[0])] == [44512, 12168, 30460]
    assert [p(4) * 4 for p in (lagrange[1], gibbs[1], both[1])] == [33104, 10932, 20292]


def test_counted_operations_are_fewer_than_printed(result):
    rows = result.tables[0].rows
    for i in range(0, len(rows), 3):
        (printed, spatial, planar) = rows[i : i + 3]
        assert planar[3] < spatial[3] < printed[3]
        assert planar[5] < spatial[5] < printed[5]


def test_impacts_stand_beside_the_printed_ones(result):
    rows = result.tables[2].rows
    assert len(rows) == 10
    for printed, computed in zip(rows[::2], rows[1::2], strict=True):
        assert printed[2] == computed[2]
        assert float(printed[3]) == pytest.approx(float(computed[3]), rel=2e-3)
        for column in (4, 5, 6):
            assert float(printed[column]) == pytest.approx(float(computed[column]), rel=1.3e-2)


def test_parameters_are_the_printed_ones(result):
    for _, printed, here in result.tables[1].rows:
        assert here == pytest.approx(printed, rel=1e-9)


def test_the_wall_is_said_to_be_inferred(result):
    note = next(note for note in result.tables[2].notes if "does not state its wall" in note)
    reach = [float(text) for text in re.findall(r"(2\.\d{4})", note)]
    assert len(reach) == 2
    assert max(abs(r - shafei2018.WALL.radius) for r in reach) < 1e-3


def test_the_printed_start_leads_to_other_impacts(result):
    note = next(note for note in result.tables[2].notes if "-1.366 m" in note)
    groups = note.partition("others: ")[2].rstrip(".").split("; ")
    assert groups[:2] == ["O5 at 0.3852 s", "O1 at 0.3852 s"]
    assert len(groups) > len(shafei2018.TABLE_3)


@pytest.mark.parametrize("fixed", ["branches", "links"])
def test_figures_12_and_13_show_the_formulas_of_table_1(fixed):
    """Printed: n_b times the polynomial of n_m; counted: the 3x3 form needs the fewest operations, and all grow with the tree."""
    printed = shafei2018_growth.printed(fixed, [4])
    assert [int(values[0]) for values in printed.values()] == [44512 + 33104, 12168 + 10932, 30460 + 20292]
    counted = shafei2018_growth.growth(fixed)
    (_, lagrange), (_, gibbs), (_, both) = counted.values()
    assert (gibbs < lagrange).all()
    assert (gibbs < both).all()
    for n, counts in counted.values():
        assert (np.diff(counts) > 0).all()
        if fixed == "links":  # branches at one point share nothing but it: equal branches cost the same
            assert np.diff(counts)[1:] / np.diff(n)[1:] == pytest.approx(np.diff(counts)[0] / np.diff(n)[0], rel=0.25)


def test_the_command_writes_the_figures(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main(["reproduce", "shafei2018", "--figures", str(tmp_path / "pictures")]) == 0
    out = capsys.readouterr().out
    assert "Table 1." in out
    assert "Table 3." in out
    written = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert [name.partition("_")[0] for name in written] == [f"figure{i}" for i in range(12, 20)]
    assert all((tmp_path / "pictures" / name).stat().st_size > 20_000 for name in written)
    assert "figure18_configurations.png" in out


def test_without_matplotlib_the_tables_are_still_there(tmp_path, capsys, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    assert main(["reproduce", "shafei2018", "--figures", str(tmp_path)]) == 0
    assert "No figures: pictures need matplotlib" in capsys.readouterr().out
