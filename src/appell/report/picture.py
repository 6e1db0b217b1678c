"""Pictures inside a page: their bytes are part of the HTML."""

from __future__ import annotations

import base64
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from html import escape
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any

from appell.errors import ArgumentError

MEDIA_TYPES = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
RESOLUTION = 150
"""Pixels per inch of figures on a page."""


@dataclass(frozen=True)
class Picture:
    """An image with a caption.

    Attributes:
        data: the bytes of the file.
        media_type: such as `"image/png"`.

    Example:
        >>> Picture("a dot", b"<svg/>", "image/svg+xml").html()
        '<figure><img src="data:image/svg+xml;base64,PHN2Zy8+" alt="a dot"><figcaption>a dot</figcaption></figure>'
    """

    caption: str
    data: bytes = field(repr=False)
    media_type: str = "image/png"

    @classmethod
    def from_file(cls, path: str | PathLike, caption: str) -> Picture:
        """A PNG, SVG or JPEG file."""
        media_type = MEDIA_TYPES.get(Path(path).suffix.lower())
        if media_type is None:
            raise ArgumentError(
                f"picture {path}: unknown file type. Give a file that ends in {', '.join(MEDIA_TYPES)}."
            )
        return cls(caption, Path(path).read_bytes(), media_type)

    @classmethod
    def from_drawing(cls, draw: Callable[[Path], Any], caption: str) -> Picture:
        """The PNG file that a function writes to the given path, such as a result's `plot`."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "picture.png")
            draw(path)
            return cls.from_file(path, caption)

    @classmethod
    def from_figure(cls, figure: Any, caption: str) -> Picture:
        """A `matplotlib.figure.Figure`."""
        stream = BytesIO()
        figure.savefig(stream, format="png", dpi=RESOLUTION)
        return cls(caption, stream.getvalue())

    def html(self) -> str:
        """The picture as an element of a page."""
        text = base64.b64encode(self.data).decode("ascii")
        caption = escape(self.caption)
        image = f'<img src="data:{self.media_type};base64,{text}" alt="{caption}">'
        return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"
