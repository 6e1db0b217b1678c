"""Parsing of untrusted XML: no document types, no entities, no network, positions of errors.

A document type declaration is the only way to define entities, which can expand without bound or fetch other files. No robot
description needs one: it raises an error before anything else is read.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from appell.errors import ModelError
from appell.model.check.problem import Problem


class _RootFound(Exception):
    """Ends the parser at the root element."""


DECLARATION = re.compile(r"""^\ufeff?(\s*)<\?xml(?:[^>]*?encoding\s*=\s*["']([^"']*)["'])?[^>]*\?>""")
MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
"""Encodings by the mark at the start of a file."""


def decoded(data: bytes, label: str) -> str:
    """The text of an XML file, in the encoding that it declares. Bytes that are not UTF-8 are read as Windows-1252."""
    marked = next((encoding for mark, encoding in MARKS.items() if data.startswith(mark)), None)
    declared = DECLARATION.match(data[:300].decode("latin-1"))
    encoding = marked or (declared and declared[2]) or "utf-8"
    if not marked and encoding.lower().startswith(
        ("utf-16", "utf16", "ucs")
    ):  # its bytes are single, whatever they declare
        encoding = "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")
    except (LookupError, ValueError):
        raise xml_error(label, 1, f"not XML: unknown encoding {encoding[:40]!r}", "Save it as UTF-8.") from None


def without_declaration(text: str) -> bytes:
    """The XML in UTF-8 without its declaration: other software accepts blank lines in front of it and wrong encodings."""
    return DECLARATION.sub(r"\1", text).lstrip("\ufeff").encode("utf-8", errors="replace")


def repaired_comments(text: str) -> str:
    """Comments without double hyphens, which XML forbids and other robot software accepts."""

    def repaired(comment: re.Match[str]) -> str:
        inner = comment[1].replace("--", "==")
        return f"<!--{inner[:-1] + '=' if inner.endswith('-') else inner}-->"

    return re.sub(r"<!--(.*?)-->", repaired, text, flags=re.DOTALL)


def written_as_utf_8(text: str) -> str:
    """The text with a declaration of the encoding in which it is written."""
    return re.sub(
        r"""^(\s*<\?xml[^>]*encoding\s*=\s*["'])(?!(?i:utf-?8)["'])[^"']*""", r"\1utf-8", text.lstrip("\ufeff")
    )


def root_tag(data: bytes, label: str) -> str:
    """Name of the root element without its namespace, read from the prolog alone."""
    parser = expat.ParserCreate("utf-8")
    tags: list[str] = []

    def reject(*_) -> None:
        raise xml_error(
            label, parser.CurrentLineNumber, "a document type declaration (DOCTYPE) is not allowed, it can define entities",
            "Remove it.",
        )  # fmt: skip

    def stop(name: str, _) -> None:
        tags.append(name)
        raise _RootFound

    parser.StartDoctypeDeclHandler = reject
    parser.StartElementHandler = stop
    try:
        parser.Parse(data, True)
    except _RootFound:
        pass
    except ModelError:
        raise
    except expat.ExpatError as error:
        if data.startswith(b"version https://git-lfs"):
            raise xml_error(label, 1, "a pointer of Git LFS, not the file itself", "Run: git lfs pull") from None
        raise xml_error(label, error.lineno, f"not XML: {expat.errors.messages[error.code]}") from None
    return local_name(tags[0])


def parse(data: bytes, label: str) -> etree._Element:
    """The root element. Undeclared namespace prefixes stay part of the name, as in other robot software."""
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
        remove_comments=True, remove_pis=True, recover=True,
    )  # fmt: skip
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise xml_error(label, error.lineno or 0, f"broken XML: {error.msg}") from None
    for entry in parser.error_log:
        if entry.domain_name != "NAMESPACE":
            raise xml_error(label, entry.line, f"broken XML: {entry.message.strip()}")
    return root


def local_name(tag: str) -> str:
    """A tag without `{namespace}` or `prefix:`."""
    return tag.rpartition("}")[2].rpartition(":")[2]


def xml_error(label: str, line: int, what: str, fix: str = "Is the file complete?") -> ModelError:
    """The error for text that is not valid XML."""
    problem = Problem("xml", "description", what, fix, line, label)
    return ModelError(str(problem), place=problem.place, problems=(problem,))


# --- elements as numbers --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ProblemLog:
    """Collects the problems of one file while it is read."""

    file: str
    problems: list[Problem] = field(default_factory=list)

    def add(self, kind: str, where: str, line: int, what: str, fix: str) -> None:
        self.problems.append(Problem(kind, where, what, fix, line, self.file))


@dataclass(frozen=True)
class XmlNode:
    """An XML element, or None; reads attributes as numbers and logs every problem.

    `where` is the robot element in messages. Attributes of an absent element have their defaults.
    """

    element: Any
    where: str
    notes: ProblemLog

    def __bool__(self) -> bool:
        return self.element is not None

    @property
    def line(self) -> int:
        return 0 if self.element is None else int(self.element.sourceline or 0)

    @property
    def tag(self) -> str:
        return "" if self.element is None else local_name(str(self.element.tag))

    def children(self, tag: str = "", where: str = "") -> Iterator[XmlNode]:
        """Child elements of this name, or all."""
        for element in () if self.element is None else self.element:
            if isinstance(element.tag, str) and tag in ("", local_name(element.tag)):
                yield XmlNode(element, where or self.where, self.notes)

    def child(self, tag: str) -> XmlNode:
        """The first child element of this name, or an absent one."""
        return next(self.children(tag), XmlNode(None, self.where, self.notes))

    def text(self, attribute: str) -> str:
        return "" if self.element is None else self.element.get(attribute) or ""

    def number(self, attribute: str, default: float = 0.0, **options: bool) -> float:
        """An attribute as a number; options as for `numbers`."""
        return self.numbers(attribute, (default,), **options)[0]

    def numbers(
        self,
        attribute: str,
        default: tuple[float, ...] = (0.0, 0.0, 0.0),
        infinite: bool = False,
        required: bool = False,
        blank: bool = True,
    ) -> tuple[float, ...]:
        """An attribute as numbers, as many as in `default`, which is returned if it is absent or invalid.

        Infinity is allowed only with `infinite`; a blank attribute is absent if `blank` and not `required`.
        """
        text = "" if self.element is None else self.element.get(attribute)
        if not self or text is None:
            if required and self:
                self.note("missing", f"<{self.tag}> has no attribute '{attribute}'", "Add it.")
            return default
        if not text.strip() and blank and not required:
            self.note("default", f"{attribute}={text!r} of <{self.tag}> is blank; its default is used", "Give a value.")
            return default
        return self._read(text, f"{attribute}={{}} of <{self.tag}>", default, infinite)

    @property
    def words(self) -> str:
        """The text in the element, without blanks around it."""
        return "" if self.element is None else (self.element.text or "").strip()

    def content(self, default: tuple[float, ...], infinite: bool = False) -> tuple[float, ...]:
        """The text in the element as numbers, as many as in `default`, which is returned if it is absent, blank or invalid."""
        return self._read(self.words, f"{{}} in <{self.tag}>", default, infinite) if self.words else default

    def _read(self, text: str, shown: str, default: tuple[float, ...], infinite: bool) -> tuple[float, ...]:
        words, several = text.split(), len(default) > 1
        try:  # only plain notation with a decimal point
            values = tuple(map(float, words)) if "".join(words).isascii() and "_" not in text else None
        except ValueError:
            values = None
        kind = "number"
        if len(words) != len(default):
            expected = f"{len(default)} numbers" if several else "one number"
        elif values is None:
            expected = "decimal numbers" if several else "a decimal number"
        elif any(math.isnan(value) or (math.isinf(value) and not infinite) for value in values):
            kind, expected = "non-finite", "finite numbers" if several else "a finite number"
        else:
            return values
        fix = "Expand the macros with xacro first." if "${" in text else "Correct the value."
        given = repr(text if len(text) <= 60 else text[:57] + "...")
        self.note(kind, f"{shown.format(given)}, expected {expected}", fix)
        return default

    def note(self, kind: str, what: str, fix: str) -> None:
        self.notes.add(kind, self.where, self.line, what, fix)
