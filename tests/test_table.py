"""Tables as text and as data."""

from __future__ import annotations

import json

from appell.table import WIDTH, Table
from appell_lab.reproduce.cost import poly


def test_numbers_are_aligned_right_and_text_left():
    text = str(Table("T", ("name", "value"), (("a", 1.0), ("longer", -12.3456), ("none", None))))
    assert text.splitlines() == [
        "T",
        "  name     value",
        "  ------  ------",
        "  a            1",
        "  longer  -12.35",
        "  none",
    ]


def test_zero_has_no_sign():
    assert str(Table("T", ("x",), ((-0.0,),))).splitlines()[-1] == "  0"


def test_table_without_rows():
    assert str(Table("T", ("a", "bc"), ())) == "T\n  a  bc\n  -  --"


def test_notes_are_wrapped():
    lines = str(Table("T", ("a",), ((1,),), ("word " * 60,))).splitlines()
    assert max(len(line) for line in lines) <= WIDTH
    assert sum(line.startswith("  * ") for line in lines) == 1


def test_data_are_plain():
    table = Table("T", ("a", "b"), ((poly(2, 1), 1.5), ("x", None)), ("note",))
    data = json.loads(json.dumps(table.as_dict()))
    assert data == {"title": "T", "columns": ["a", "b"], "rows": [["2n + 1", 1.5], ["x", None]], "notes": ["note"]}
