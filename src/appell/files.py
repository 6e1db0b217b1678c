"""Reading and writing of files.

Reading: files that are no text or no arrays raise an error of this library.
Writing: whatever ends it, the path holds the earlier file or the new one. The content goes to a new file in the same folder,
is flushed to the disk, and then renamed. A process that is killed meanwhile leaves a file
`.<name>.<32 hexadecimal digits>.partial` behind.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import stat
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from appell.errors import AppellError, ArgumentError

if TYPE_CHECKING:
    import numpy as np


@contextlib.contextmanager
def whole_file(
    path: str | os.PathLike, permissions: int | None = None, durable: bool = True
) -> Iterator[io.BufferedWriter]:
    """A binary file to write to; it replaces `path` when the block ends without an error.

    Args:
        permissions: bits of the new file; those of the earlier file or the usual ones if None.
        durable: wait until the disk has the file, so that it survives a loss of power.
    """
    given = os.fsdecode(path)
    try:
        mode = os.stat(given).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and (not stat.S_ISREG(mode) or given.startswith(("/dev/std", "/dev/fd/"))):
        with open(given, "wb") as file:  # a pipe, a terminal, a file that is open; a folder raises an error
            yield file
        return
    path = Path(os.path.realpath(given))  # the file that a link leads to is replaced, not the link
    partial = path.with_name(f".{path.name[:100]}.{uuid.uuid4().hex}.partial")
    try:
        with open(partial, "xb", opener=lambda name, flags: os.open(name, flags, permissions or 0o666)) as file:
            yield file
            file.flush()
            if durable:
                os.fsync(file.fileno())
        if mode is not None and permissions is None:
            partial.chmod(stat.S_IMODE(mode))
        os.replace(partial, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            partial.unlink()
        if isinstance(error, OSError) and error.filename == os.fspath(partial):
            error.filename = given
        raise


def write_bytes(path: str | os.PathLike, content: bytes, permissions: int | None = None, durable: bool = True) -> None:
    """Write a file as a whole."""
    with whole_file(path, permissions, durable) as file:
        file.write(content)


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write a text file as a whole, in UTF-8 with line feeds."""
    write_bytes(path, text.encode())


def write_csv(path: str | os.PathLike, names: Iterable[str], rows: Iterable[Iterable[Any]]) -> None:
    """Write a table as text, a line with the names of the columns first."""
    import csv

    with whole_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow(names)
        writer.writerows(rows)
        text.detach()  # flushes


def write_npz(path: str | os.PathLike, arrays: Mapping[str, Any]) -> None:
    """Write arrays by name."""
    import numpy as np

    with whole_file(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def write_npz_parts(path: str | os.PathLike, arrays: Mapping[str, tuple[Any, Iterable[Any]]]) -> None:
    """Write arrays by name, part by part and uncompressed, so that they need not fit into memory.

    Args:
        arrays: of every array something with its `shape` and `dtype`, and its parts along the first dimension.
    """
    import zipfile

    import numpy as np
    from numpy.lib import format as npy

    with whole_file(path) as file, zipfile.ZipFile(file, "w") as archive:
        for name, (whole, parts) in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                descr = npy.dtype_to_descr(np.dtype(whole.dtype))
                npy.write_array_header_1_0(
                    member, {"descr": descr, "fortran_order": False, "shape": tuple(whole.shape)}
                )
                for part in parts:
                    member.write(np.ascontiguousarray(part, whole.dtype).tobytes())


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several text files: none is replaced before all are written."""
    with contextlib.ExitStack() as stack:
        for path, text in texts.items():
            file = stack.enter_context(whole_file(path))
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())


def read_text(path: str | os.PathLike, error_class: type[AppellError] = ArgumentError) -> str:
    """The content of a text file in UTF-8, with or without a byte order mark."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise error_class(
            f"{path} is not UTF-8 text: {error.reason} at byte {error.start}. Save it as UTF-8."
        ) from None


def read_npz(path: str | os.PathLike, error_class: type[AppellError] = ArgumentError) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name, each as large as the file says twice: in the archive and in its own header."""
    import zipfile

    import numpy as np

    with open(path, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                for info in archive.infolist():
                    with archive.open(info) as member:
                        _require_array_size(member, info.file_size)
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except Exception as error:  # a damaged file makes the parsers raise whatever they meet
            raise error_class(
                f"{path} is not an archive of NumPy arrays: {error or type(error).__name__}. Write one with np.savez."
            ) from None


def _require_array_size(member: Any, size: int) -> None:
    """Raise ValueError unless an array of a plain type fills a member of an archive."""
    from numpy.lib import format as npy

    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    shape, _, dtype = readers[npy.read_magic(member)](member)
    if dtype.hasobject or not dtype.itemsize or math.prod(shape) * dtype.itemsize != size - member.tell():
        raise ValueError("an array does not fit its place")
