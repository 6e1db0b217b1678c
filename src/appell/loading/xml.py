"""XML from files that nobody vouches for: no document types, no entities, no network, positions of errors.

A document type declaration is the only way to define entities, which can expand without bound or fetch other files, and
no robot description needs one: it is refused before anything else is read.
"""

from __future__ import annotations

from xml.parsers import expat

from lxml import etree  # pyright: ignore[reportAttributeAccessIssue]

from appell.errors import ModelError
from appell.model.check.problem import Problem


class _Found(Exception):
    """The root element begins; stop here."""


def root_tag(data: bytes, label: str, encoding: str | None = None) -> str:
    """Name of the root element without its namespace, read from the prolog alone."""
    parser = expat.ParserCreate(encoding)
    found: list[str] = []

    def refuse(*_) -> None:
        raise xml_error(
            label, parser.CurrentLineNumber, "a document type declaration (DOCTYPE) is refused, it can define entities",
            "Remove it.",
        )  # fmt: skip

    def stop(name: str, _) -> None:
        found.append(name)
        raise _Found

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = stop
    try:
        parser.Parse(data, True)
    except _Found:
        pass
    except ModelError:
        raise
    except expat.ExpatError as error:
        raise xml_error(label, error.lineno, f"not XML: {expat.errors.messages[error.code]}") from None
    except (LookupError, ValueError) as error:
        raise xml_error(label, 1, f"not XML: {error}", "Save it as UTF-8.") from None
    return local_name(found[0])


def parse(data: bytes, label: str, encoding: str | None = None) -> etree._Element:
    """The root element. Prefixes without a namespace declaration are kept as part of the name, as robot tools do."""
    parser = etree.XMLParser(
        encoding=encoding, resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False,
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
    """The error for text that cannot be read at all."""
    problem = Problem("xml", "description", what, fix, line, label)
    return ModelError(str(problem), place=problem.place, problems=(problem,))
