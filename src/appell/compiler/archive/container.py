"""The file around the content: one line that says what it is, and compressed JSON.

    appell compiled robot, format 1, sha256 <64 hexadecimal digits of what follows>
    <gzip of JSON>

Nothing is believed before the checksum fits, and no more is unpacked than a limit allows. The content can be looked at with
`tail -n +2 robot.appell | zcat`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import zlib
from typing import Any

from appell.errors import CompileError
from appell.files import write_bytes

FORMAT = 2
HEAD = re.compile(rb"appell compiled robot, format (\d{1,9}), sha256 ([0-9a-f]{64})\n")
MOST_TEXT = 16 * 2**20
"""Bytes of the unpacked content that are read at most: a robot of 30 joints has 2 MB, and takes 20 times as much memory."""
MOST_RATIO = 16
"""By how much content may be compressed, beyond the first MB: that of robots has a ratio of 4."""


def write(path: str | os.PathLike, content: dict[str, Any]) -> None:
    """Write a file as a whole or not at all. Equal content gives equal bytes."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    packed = gzip.compress(text, compresslevel=6, mtime=0)
    if len(text) > most_text(packed):
        raise CompileError(
            f"{path}: {len(text) >> 20} MB of functions are more than a file may hold. Save fewer of them."
        )
    head = f"appell compiled robot, format {FORMAT}, sha256 {hashlib.sha256(packed).hexdigest()}\n"
    write_bytes(path, head.encode() + packed)


def read(path: str | os.PathLike) -> dict[str, Any]:
    """The content of a file, unharmed and of our format; its meaning is checked by others."""
    with open(path, "rb") as file:
        line = file.readline(200)
        found = HEAD.fullmatch(line)
        if found is None:
            raise CompileError(
                f"{path} is no compiled robot. Expected a file that `save` of a compiled robot has written."
            )
        if int(found[1]) != FORMAT:
            raise CompileError(
                f"{path} has format {int(found[1])}, this version of appell reads format {FORMAT}. "
                "Save the robot again with this version."
            )
        packed = file.read(MOST_TEXT + 1)
    if hashlib.sha256(packed).hexdigest().encode() != found[2]:
        raise CompileError(f"{path} is damaged: its checksum does not fit its content. Copy or save it again.")
    try:
        content = json.loads(unpacked(packed), parse_constant=_refuse)
    except (zlib.error, ValueError, RecursionError) as error:
        raise CompileError(f"{path} holds no readable content: {error}.") from None
    if not isinstance(content, dict):
        raise CompileError(f"{path} holds no robot. Expected an object, got {type(content).__name__}.")
    return content


def most_text(packed: bytes) -> int:
    """Bytes that a compressed content may have, so that a small file does not take much memory."""
    return min(2**20 + MOST_RATIO * len(packed), MOST_TEXT)


def unpacked(packed: bytes) -> bytes:
    """The content of a gzip stream, up to the limit."""
    stream = zlib.decompressobj(wbits=31)
    text = stream.decompress(packed, most_text(packed))
    if not stream.eof:
        raise ValueError("the compressed content is too long or cut off")
    return text


def _refuse(word: str) -> float:
    raise ValueError(f"{word} among the numbers")
