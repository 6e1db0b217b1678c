"""The cache of kernels in the hands of others: nothing of theirs is run, changed or removed."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from appell.compiler import cache

KEY, OTHER_KEY = "a" * 40, "b" * 40
CODE = bytes(range(256)) * 8
REFUSED = "another user"


@pytest.fixture
def base(tmp_path, monkeypatch):
    base = tmp_path / "base"
    base.mkdir()
    monkeypatch.setenv("APPELL_CACHE_DIR", str(base))
    cache.warn_unused.cache_clear()
    return base


def entry() -> Path:
    """The file of a stored entry."""
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE
    return Path(os.environ["APPELL_CACHE_DIR"], "appell", f"{KEY}.code")


def test_what_is_stored_is_loaded(base):
    assert cache.load(KEY) is None
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE
    assert cache.load(OTHER_KEY) is None


def test_only_own_files_are_removed(base, monkeypatch):
    thesis = [base / "thesis.bin", base / f"{KEY}.code", base / "appell" / "thesis.bin", base / "appell" / "notes.so"]
    cache.store(KEY, CODE)
    for path in thesis:
        path.write_bytes(bytes(10_000))
        os.utime(path, (0, 0))
    monkeypatch.setattr(cache, "LIMIT", len(CODE) + 100)
    cache.store(OTHER_KEY, CODE)
    assert cache.load(KEY) is None
    assert all(path.read_bytes() == bytes(10_000) for path in thesis)


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o755, 0o700])
def test_a_given_folder_keeps_its_mode(base, mode):
    base.chmod(mode)
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE
    assert stat.S_IMODE(base.stat().st_mode) == mode
    assert stat.S_IMODE((base / "appell").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (base / "appell").iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770, 0o702, 0o755])
def test_a_folder_that_is_open_to_others_is_not_used(base, mode):
    path = entry()
    path.parent.chmod(mode)
    with pytest.warns(RuntimeWarning, match=REFUSED):
        assert cache.load(KEY) is None
    with warnings.catch_warnings():  # it is given once
        warnings.simplefilter("error")
        cache.store(OTHER_KEY, CODE)
    assert stat.S_IMODE(path.parent.stat().st_mode) == mode
    assert not path.with_name(f"{OTHER_KEY}.code").exists()


def test_a_folder_of_another_user_is_not_used(base, monkeypatch):
    path = entry()
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.warns(RuntimeWarning, match=REFUSED):
        assert cache.load(KEY) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
@pytest.mark.parametrize("name", [f"{KEY}.code", "secret"])
def test_a_file_of_another_user_is_not_used(base, name):
    os.chown(entry().with_name(name), 12345, -1)
    with pytest.warns(RuntimeWarning, match=REFUSED):
        assert cache.load(KEY) is None


@pytest.mark.parametrize("name", [f"{KEY}.code", "secret"])
def test_a_file_that_others_can_write_is_not_used(base, name):
    entry().with_name(name).chmod(0o666)
    with pytest.warns(RuntimeWarning, match=REFUSED):
        assert cache.load(KEY) is None


@pytest.mark.parametrize("name", [f"{KEY}.code", "secret"])
def test_a_link_is_neither_read_nor_written_through(base, tmp_path, name):
    path = entry().with_name(name)
    outside = tmp_path / "outside"
    path.rename(outside)
    content = outside.read_bytes()
    path.symlink_to(outside)
    assert cache.load(KEY) is None
    cache.store(KEY, b"other")
    assert outside.read_bytes() == content


def test_a_linked_folder_is_not_used(base, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (base / "appell").symlink_to(tmp_path / "elsewhere")
    with pytest.warns(RuntimeWarning, match=REFUSED):
        cache.store(KEY, CODE)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_pipe_does_not_block(base):
    path = entry()
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.warns(RuntimeWarning, match=REFUSED):
        assert cache.load(KEY) is None


def test_code_without_the_digest_of_this_user_is_not_loaded(base, monkeypatch):
    path = entry()
    planted = cache.tag(bytes(cache.SECRET_SIZE), KEY, b"planted")
    path.write_bytes(b"planted" + planted)
    assert cache.load(KEY) is None
    path.write_bytes(CODE)
    assert cache.load(KEY) is None
    cache.store(OTHER_KEY, CODE)
    path.write_bytes(path.with_name(f"{OTHER_KEY}.code").read_bytes())  # the entry of another key
    assert cache.load(KEY) is None
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE


def test_a_lost_secret_is_made_anew(base):
    entry().with_name("secret").write_bytes(b"half")
    assert cache.load(KEY) is None
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE


@pytest.mark.parametrize("folder", [".", "kernels", "../kernels"])
def test_a_relative_folder(tmp_path, monkeypatch, folder):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("APPELL_CACHE_DIR", folder)
    assert entry().exists()


NO_HOME = """
import os, pwd
def getpwuid(uid): raise KeyError(uid)
pwd.getpwuid = getpwuid
import numpy as np, appell
from appell.compiler import cache
assert cache.private_folder() is None
print(appell.compile(appell.load("planar2r")).gravity(np.zeros(2)).shape)
"""


def test_a_user_without_home():
    hidden = ("HOME", "XDG_CACHE_HOME", "APPELL_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", NO_HOME], env=environment, capture_output=True, text=True
    )
    assert run.stdout == "(2,)\n", run.stderr


def test_without_users(base, monkeypatch):
    """As on Windows."""
    monkeypatch.delattr(os, "geteuid")
    monkeypatch.delattr(os, "getuid")
    cache.store(KEY, CODE)
    assert cache.load(KEY) == CODE
