"""`appell reproduce shafei2018`: tables beside the printed ones, and figures."""

from __future__ import annotations

import pytest

from appell.cli import main
from appell_lab.reproduce import reproduce, shafei2018


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
    rows = result.tables[1].rows
    assert len(rows) == 10
    for printed, computed in zip(rows[::2], rows[1::2], strict=True):
        assert printed[2] == computed[2]
        assert float(printed[3]) == pytest.approx(float(computed[3]), rel=2e-3)
        for column in (4, 5, 6):
            assert float(printed[column]) == pytest.approx(float(computed[column]), rel=1.3e-2)


def test_the_command_writes_the_figures(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    assert main(["reproduce", "shafei2018", "--figures", str(tmp_path / "pictures")]) == 0
    out = capsys.readouterr().out
    assert "Table 1." in out
    assert "Table 3." in out
    written = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert [name.partition("_")[0] for name in written] == [f"figure{i}" for i in range(14, 20)]
    assert all((tmp_path / "pictures" / name).stat().st_size > 20_000 for name in written)
    assert "figure18_configurations.png" in out


def test_without_matplotlib_the_tables_are_still_there(tmp_path, capsys, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.backends.backend_agg"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    assert main(["reproduce", "shafei2018", "--figures", str(tmp_path)]) == 0
    assert "No figures: pictures need matplotlib" in capsys.readouterr().out
