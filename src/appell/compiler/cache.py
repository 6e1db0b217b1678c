"""Compiled kernels on disk: private to their user, safe to share between processes, to interrupt, and to lose.

They are kept in a folder `appell` inside `$APPELL_CACHE_DIR`, `$XDG_CACHE_HOME` or `~/.cache`. It is made for the user alone;
a folder, or a file in it, that is open to others, of another user or a link is not used. An entry is one file:
the code and a digest of its key and content, keyed by random bytes in the file `secret`, so that code which this user's
appell did not store is not loaded. Entries are removed, longest unused first, when they outgrow a limit.
Whatever the disk does, a caller gets the code or None, never an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from appell.errors import warn_at_caller
from appell.files import write_bytes

LIMIT = 512 * 2**20
"""Bytes that the entries may hold."""

TRIM_TO = 0.75
"""Part of the limit that is left after entries were removed."""

TRIM_PARTS = 16
"""A process looks at all entries when it first stores one, and when it has stored this part of the limit since."""
bytes_since_trim: dict[Path, int] = {}

SECRET_SIZE, TAG_SIZE = 32, 32
OWN_NAME = re.compile(r"[0-9a-f]{40}\.code|\.(?:[0-9a-f]{40}\.code|secret)\.[0-9a-f]{32}\.partial")
"""Names of entries, and of files that a killed process has left."""


def load(key: str) -> bytes | None:
    """The code that was stored for a key, where its digest fits."""
    folder = private_folder()
    secret = folder and read_secret(folder)
    if folder is None or secret is None:
        return None
    path = folder / f"{key}.code"
    entry = read_private(path) or b""
    content = entry[:-TAG_SIZE]
    if tag(secret, key, content) != entry[-TAG_SIZE:]:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the time of change is the time of last use
    return content


def store(key: str, content: bytes) -> None:
    """Keep the code of a key, where the disk allows it."""
    folder = private_folder()
    with contextlib.suppress(OSError):
        secret = folder and (read_secret(folder) or new_secret(folder))
        if folder is not None and secret is not None:
            write_private(folder / f"{key}.code", content + tag(secret, key, content))
            bytes_since_trim[folder] = bytes_since_trim.get(folder, LIMIT) + len(content)
            if bytes_since_trim[folder] > LIMIT / TRIM_PARTS:  # to look at all entries takes longer than to store one
                bytes_since_trim[folder] = 0
                trim(folder, LIMIT)


def tag(secret: bytes, key: str, content: bytes) -> bytes:
    """The keyed digest of an entry."""
    return hashlib.blake2b(key.encode() + b"\0" + content, key=secret, digest_size=TAG_SIZE).digest()


def private_folder() -> Path | None:
    """The folder of the entries, made if need be; None where there is none that is the user's alone."""
    base = os.environ.get("APPELL_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(os.path.abspath(base or Path.home() / ".cache"), "appell")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
    except (OSError, RuntimeError):  # RuntimeError: no home
        return None
    return folder if is_private(status, stat.S_ISDIR, folder) else None


def read_private(path: Path) -> bytes | None:
    """The content of a file that is the user's alone; None where there is none."""
    flags = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    try:
        with open(os.open(path, flags), "rb") as file:
            status = os.fstat(file.fileno())
            return file.read(min(status.st_size, LIMIT)) if is_private(status, stat.S_ISREG, path.parent) else None
    except OSError:
        return None


def write_private(path: Path, content: bytes) -> None:
    """Write a file that is the user's alone, but not through a link.

    It need not survive a loss of power: what is lost or torn is found by its digest, and to wait for a disk takes as long as to
    compile a small function.
    """
    if not path.is_symlink():
        write_bytes(path, content, permissions=0o600, durable=False)


def is_private(status: os.stat_result, is_kind: Callable[[int], bool], folder: Path) -> bool:
    """Whether something is of this kind, the user's own, and closed to others; a warning if not."""
    closed = not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)
    if is_kind(status.st_mode) and closed:  # Windows closes the folders of a user by itself
        return True
    warn_unused(folder)
    return False


@lru_cache(maxsize=8)
def warn_unused(folder: Path) -> None:
    """A warning, given once, that kernels are not cached."""
    warn_at_caller(
        f"{folder}, or a file in it, is open to others, of another user, or a link: compiled kernels are not taken from it. "
        "Remove it, or set APPELL_CACHE_DIR to a folder of your own.",
        RuntimeWarning,
    )


def read_secret(folder: Path) -> bytes | None:
    """The key of the digests, where it is whole."""
    content = read_private(folder / "secret")
    return content if content and len(content) == SECRET_SIZE else None


def new_secret(folder: Path) -> bytes | None:
    """A new key of the digests; entries that another key was used for count as absent."""
    write_private(folder / "secret", os.urandom(SECRET_SIZE))
    return read_secret(folder)


def trim(folder: Path, limit: int) -> None:
    """Remove the entries that were not used for the longest time until they are well below the limit."""
    files = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            status = path.lstat()
            if OWN_NAME.fullmatch(path.name) and stat.S_ISREG(status.st_mode):
                files.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in files)
    if total <= limit:
        return
    for _, size, path in sorted(files):
        if total <= limit * TRIM_TO:
            return
        with contextlib.suppress(OSError):
            path.unlink()
            total -= size
