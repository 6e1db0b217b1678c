"""Changes of an XML document that leave everything else as it is, indentation included."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

PROLOG = re.compile(r"\A(?:\s|\ufeff|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)
START_TAG = re.compile(r"""<[^\s>]+(?:[^>"']|"[^"]*"|'[^']*')*>""")


def parse_document(text: str) -> tuple[etree._Element, Callable[[bool], str]]:
    """The root element of a document that was read before, and a function that gives its text again.

    The text in front of the root and behind it stays, and, if the argument is True, the root's start tag.
    """
    prolog = PROLOG.match(text)[0]  # type: ignore[index]
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, recover=True)
    root = etree.fromstring(text[len(prolog) :].encode("utf-8"), parser)
    start = START_TAG.match(text, len(prolog))
    end = text.rfind("</")
    epilog = text[text.find(">", end) + 1 :] if end >= 0 else "\n"

    def serialize(same_root: bool) -> str:
        root.tail = None
        inner = etree.tostring(root, encoding="unicode")
        if same_root and start and not start[0].endswith("/>"):
            inner = start[0] + inner[START_TAG.match(inner).end() :]  # type: ignore[union-attr]
        return prolog + inner + epilog

    return root, serialize


def children(parent: etree._Element, tag: str) -> list[etree._Element]:
    """Child elements of this name, whatever their namespace."""
    return [node for node in parent if isinstance(node.tag, str) and re.split("[}:]", node.tag)[-1] == tag]


def child(parent: etree._Element, tag: str, first: bool = False) -> etree._Element:
    """The first child element of this tag; a new one, at the start or the end, where there is none."""
    found = children(parent, tag)
    if not found:
        found = [etree.Element(tag)]
        insert(parent, found[0], 0 if first else None)
    return found[0]


def insert(parent: etree._Element, node: etree._Element, place: int | None = None) -> None:
    """Insert an element as the child number `place` or the last one, indented as its siblings are."""
    count = len(parent)
    place = count if place is None else place
    indent = parent.text if count and parent.text and parent.text.isspace() else None
    if indent:
        if len(node):
            etree.indent(node, space="  ", level=1)
        if place < count:
            node.tail = indent
        else:
            node.tail, parent[-1].tail = parent[-1].tail, indent
    parent.insert(place, node)


def remove(node: etree._Element) -> None:
    """Remove an element with the blank text in front of it; other text stays."""
    parent, before, tail = node.getparent(), node.getprevious(), node.tail or ""
    front = (parent.text if before is None else before.tail) or ""
    kept = tail if front.isspace() and not (before is None and node.getnext() is not None) else front + tail.strip()
    node.tail = None
    parent.remove(node)
    if before is None:
        parent.text = kept
    else:
        before.tail = kept


def arrange(parent: etree._Element, tag: str, wanted: Sequence[etree._Element]) -> None:
    """Make these elements the only children of this tag, in this order; those that are there stay where they are."""
    names = {id(node) for node in wanted}
    for node in children(parent, tag):
        if id(node) not in names:
            remove(node)
    there = children(parent, tag)
    if [id(node) for node in wanted if node.getparent() is not None] != [id(node) for node in there]:
        for node in there:
            remove(node)
        there = []
    before = None
    for node in wanted:
        if node.getparent() is None:
            place = None if not there else parent.index(there[0]) if before is None else parent.index(before) + 1
            insert(parent, node, place)
        before = node


def set_attributes(node: etree._Element, **attributes: str | float | Iterable[float] | None) -> None:
    """Set attributes to text or numbers with all digits; None removes one."""
    for name, value in attributes.items():
        if value is not None:
            node.set(name, as_text(value))
        elif name in node.attrib:
            del node.attrib[name]


def as_text(value: str | float | Iterable[float]) -> str:
    """Text itself, or numbers with all digits."""
    if isinstance(value, str):
        return value
    return repr(float(value)) if isinstance(value, (int, float)) else " ".join(repr(float(each)) for each in value)
