"""Every file that the library writes: whatever ends a write, the earlier file or the new one is there."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import appell
from appell.files import whole_file, write_text

HERE = Path(__file__).parent
SOURCES = Path(appell.__file__).parents[1]


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A library that makes the disk fail."""
    if not sys.platform.startswith("linux"):
        pytest.skip("LD_PRELOAD")
    library = tmp_path_factory.mktemp("disk") / "disk.so"
    compiler = os.environ.get("CC", "cc")
    try:
        subprocess.run([compiler, "-shared", "-fPIC", "-o", library, HERE / "faulty_disk.c"], check=True)
    except FileNotFoundError:
        pytest.skip("no C compiler on this machine")
    return library


def outcomes(disk: Path, folder: Path, trials: int, script: str = "write_with_faults.py") -> dict:
    environment = {**os.environ, "LD_PRELOAD": str(disk), "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}
    command = [sys.executable, str(HERE / script), str(trials), str(folder)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


@pytest.mark.parametrize("trials", [50, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_disk_that_fails_at_any_call(disk, tmp_path, trials):
    pytest.importorskip("pyarrow")
    results = outcomes(disk, tmp_path, trials)
    for name, result in results.items():
        assert result["defects"] == [], name
        assert result["killed"] > trials / 10, name
        assert name == "cached kernel" or result["OSError"] > trials / 10, name


@pytest.mark.parametrize("trials", [12, pytest.param(500, marks=pytest.mark.slow)])
def test_a_sweep_on_a_disk_that_fails_at_any_call(disk, tmp_path, trials):
    pytest.importorskip("zarr")
    result = outcomes(disk, tmp_path, trials, "sweep_with_faults.py")
    assert result["defects"] == []
    assert min(result["killed"], result["error"]) > trials / 10


WRITES = {"write_text", "write_bytes", "savetxt", "save", "savez", "savez_compressed", "savefig", "tofile", "dump"}
ALLOWED = {
    "appell/files.py": "the place for it",
    "appell/plotting.py": "a figure, to memory",
    "appell/report.py": "a figure, to memory or a temporary folder",
    "appell/control/hardware/record_file.py": "a new file that grows line by line, and is readable at every time",
    "appell_lab/bench/cases/use.py": "a temporary folder",
    "appell_lab/bench/peers/traced.py": "a temporary folder",
}


def opens_for_writing(call: ast.Call) -> bool:
    """Whether a call writes a file without `appell.files`."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name == "open":
        texts = [
            each.value for each in (*call.args, *(k.value for k in call.keywords)) if isinstance(each, ast.Constant)
        ]
        return any(isinstance(text, str) and set(text) <= set("rwxabt+") and set(text) & set("wxa+") for text in texts)
    of_module = isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)
    if name in ("save", "dump"):
        return of_module and function.value.id in ("np", "json", "pickle")
    return name in WRITES and isinstance(function, ast.Attribute)


def test_no_file_is_written_another_way():
    found = {
        str(path.relative_to(SOURCES))
        for path in (*SOURCES.glob("appell/**/*.py"), *SOURCES.glob("appell_lab/**/*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and opens_for_writing(node)
    }
    assert found <= ALLOWED.keys()


def test_an_error_in_the_block_leaves_the_earlier_file(tmp_path):
    path = tmp_path / "result.txt"
    write_text(path, "earlier")

    def interrupted():
        with whole_file(path) as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("result.txt", "earlier")]


def test_links_and_permissions_are_kept(tmp_path):
    path, link = tmp_path / "result.txt", tmp_path / "latest.txt"
    write_text(path, "earlier")
    path.chmod(0o640)
    link.symlink_to("result.txt")
    write_text(link, "new")
    assert path.read_text() == "new"
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640


def test_devices_and_streams_are_written_directly():
    write_text(os.devnull, "text")
    assert not Path(os.devnull).is_file()
    code = "from appell.files import write_text; write_text('/dev/stdout', 'table')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "table"


def test_the_error_names_the_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing/result\.txt'$"):
        write_text(tmp_path / "missing" / "result.txt", "text")
