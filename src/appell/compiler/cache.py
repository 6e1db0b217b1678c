"""Compiled kernels on disk, safe to share between processes, to interrupt, and to lose.

An entry is two files: `<key>.key` holds the checksum of the code, `<checksum>.so` the code. Both are written whole to a
temporary name, flushed and renamed, the code first, so an entry that can be found is complete; what is damaged or foreign
does not match its checksum and counts as absent. Entries are removed, longest unused first, when the folder outgrows its
limit. Whatever the disk does, a caller gets a file or None, never an error.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

LIMIT = 512 * 2**20
"""Bytes that the folder may hold."""

TRIM_TO = 0.75
"""Part of the limit that is left after entries were removed."""


def default_folder() -> Path:
    """`$APPELL_CACHE_DIR`, else `appell` in the user's cache folder."""
    own = os.environ.get("APPELL_CACHE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return Path(base) / "appell" if base else Path.home() / ".cache" / "appell"


def private(folder: Path) -> bool:
    """Make the folder if need be; whether it is the user's own and nobody else can write to it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if status.st_uid != os.getuid():
            return False
        if stat.S_IMODE(status.st_mode) != 0o700:
            folder.chmod(0o700)
    except OSError:
        return False
    return True


def find(folder: Path, key: str) -> Path | None:
    """The code of a key if it is there and whole."""
    note = folder / f"{key}.key"
    try:
        if not private(folder):
            return None
        expected = note.read_text()
        code = folder / f"{expected}.so"
        if hashlib.sha256(code.read_bytes()).hexdigest() != expected:
            return None
    except (OSError, ValueError):
        return None
    for path in (note, code):  # the time of change is the time of last use
        with contextlib.suppress(OSError):
            os.utime(path)
    return code


def store(folder: Path, key: str, content: bytes) -> Path | None:
    """Keep the code of a key; None where the disk does not allow it."""
    try:
        if not private(folder):
            return None
        code = folder / f"{hashlib.sha256(content).hexdigest()}.so"
        write_whole(code, content)
        write_whole(folder / f"{key}.key", code.stem.encode())
        trim(folder, LIMIT)
    except OSError:
        return None
    return code


def write_whole(path: Path, content: bytes) -> None:
    """Write under another name, flush to the disk, rename."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix="partial-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def trim(folder: Path, limit: int) -> None:
    """Remove what was not used for the longest time until the folder is well below the limit."""
    files = []
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            status = path.stat()
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
