"""Reads the XML of platform and deployment files into plain nodes.

The parser is Expat, which loads quickly. Nothing is fetched, no entity is expanded and no DTD is
loaded. The nodes that come out have the
words of version 4.1, every attribute that has a default, and their place in the file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Final
from xml.parsers.expat import ExpatError, ParserCreate

from tisim.errors import InputError
from tisim.platform.description.node import (
    ELEMENTS,
    IGNORED,
    REMOVED,
    TAG_SYNONYMS,
    Node,
    checked_attributes,
    refuse_unknown,
)
from tisim.support.reading import read_input

_OLDEST, _NEWEST = 3.0, 4.1
_MOST_DEPTH: Final = 256
_UNDEFINED_ENTITY: Final = 11  # the parser's number of this error
_ENTITY = re.compile(rb"&(?!#|(?:lt|gt|amp|apos|quot);)([^;\s]+);")
# Bytes allowed before the first element: byte order marks, zero bytes of UTF-16, white space.
_BEFORE_XML = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
# Bytes of a file that is not XML that a message quotes.
_MOST_SHOWN = 40
# Characters to escape in an attribute's value between double quotes.
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)
_PROLOG = re.compile(rb"^\s*(<\?xml[^>]*\?>)?\s*(<!DOCTYPE[^>\[]*>)?")


def quoted(value: str) -> str:
    """A value of an attribute as it is written: what `xml.sax.saxutils` has loads much of HTTP."""
    return f'"{value.translate(_ESCAPED)}"'


@dataclass(slots=True)
class Document:
    """A whole file: its root element, its version and what is worth a warning."""

    root: Node
    version: float
    warnings: list[str]


def read_document(path: str | os.PathLike[str]) -> Document:
    """Read a platform or deployment file, without its included files."""
    file = os.fspath(path)
    return parse_document(read_input(file), file)


def parse_document(data: bytes, file: str) -> Document:
    """Read a platform or deployment file from its bytes; see `read_document`."""
    root = _parse(data, file)
    if root.tag not in ("platform", "platform_description"):
        raise InputError(
            f"the file's outermost element is <{root.tag}>; a platform or deployment file is one "
            '<platform version="4.1"> element',
            file=file,
            line=root.line,
        )
    warnings: list[str] = []
    node = _convert(root, file, warnings)
    return Document(node, _version(node), warnings)


def read_fragment(path: str | os.PathLike[str], warnings: list[str]) -> list[Node]:
    """Read a file that an ``<include>`` names: elements without a common root, or a platform."""
    file = os.fspath(path)
    data = read_input(file)
    _refuse_entities(data, file)
    body = _PROLOG.sub(lambda prolog: re.sub(rb"[^\n]", b" ", prolog.group()), data)
    root = _parse(b"<include file=''>" + body + b"</include>", file)
    node = _convert(root, file, warnings)
    if len(node.children) == 1 and node.children[0].tag == "platform":
        return node.children[0].children
    return node.children


def _refuse_entities(data: bytes, file: str) -> None:
    # UTF-16 has a zero byte in each of these letters.
    at = data.replace(b"\0", b"").find(b"<!ENTITY")
    if at >= 0:
        raise InputError(
            "the file declares an XML entity; entities are not expanded here, write the text out",
            file=file,
            line=data.replace(b"\0", b"").count(b"\n", 0, at) + 1,
        )


@dataclass(slots=True)
class _Element:
    """An element as it is written, and the line on which it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[_Element] = field(default_factory=list)
    text: str = ""


class _TreeBuilder:
    """Makes elements of what the parser finds; text is kept of ``<trace>`` only."""

    def __init__(self, data: bytes, file: str) -> None:
        self._data = data
        self._file = file
        self._open: list[_Element] = []
        self.root: _Element | None = None
        self._parser = parser = ParserCreate()
        parser.buffer_text = True
        parser.specified_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text
        parser.SkippedEntityHandler = self._refuse_entity

    def parse(self) -> _Element:
        try:
            self._parser.Parse(self._data, True)
        except ExpatError as error:
            message = str(error).rpartition(": line ")[0]
            if error.code == _UNDEFINED_ENTITY:
                found = _ENTITY.search(self._data, self._parser.ErrorByteIndex)
                name = found.group(1).decode("utf-8", "replace") if found else "?"
                message = f"Entity {name!r} not defined"
            raise self._broken(message, error.lineno) from None
        except (LookupError, UnicodeError, ValueError):
            raise self._broken("its encoding is not understood", 1) from None
        assert self.root is not None
        return self.root

    def _broken(self, message: str, line: int) -> InputError:
        text = self._data.lstrip(_BEFORE_XML)
        if not text.startswith(b"<"):
            first = text.partition(b"\n")[0][:_MOST_SHOWN].decode("utf-8", "replace").strip()
            return InputError(
                f"this is not XML, as a platform or a deployment is: it begins with {first!r}; "
                "a list of hosts is a host file (--hosts)",
                file=self._file,
                line=1,
            )
        return InputError(f"this is not complete XML: {message}", file=self._file, line=line)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = _Element(tag, attributes, self._parser.CurrentLineNumber)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        if len(self._open) > _MOST_DEPTH:
            raise self._broken(f"elements are nested deeper than {_MOST_DEPTH}", element.line)

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _add_text(self, text: str) -> None:
        element = self._open[-1]
        if element.tag == "trace" and not element.children:
            element.text += text

    def _refuse_entity(self, name: str, is_parameter_entity: bool) -> None:
        line = self._parser.CurrentLineNumber
        raise self._broken(f"Entity {name!r} not defined", line)


def _parse(data: bytes, file: str) -> _Element:
    if not data.strip():
        raise InputError("the file is empty", file=file)
    _refuse_entities(data, file)
    return _TreeBuilder(data, file).parse()


def _version(root: Node) -> float:
    try:
        version = float(root["version"])
    except ValueError:
        raise root.error(f"version must be a number, not {root['version']!r}") from None
    if not _OLDEST <= version <= _NEWEST:
        raise root.error(
            f"version {root['version']} of the platform format is not understood; versions "
            f"{_OLDEST:g} to {_NEWEST:g} are"
        )
    return version


def _convert(element: _Element, file: str, warnings: list[str]) -> Node:
    """Check one element and everything in it, in the words of version 4.1."""
    written, line = element.tag, element.line
    tag = TAG_SYNONYMS.get(written, written)
    schema = ELEMENTS[tag]
    node = Node(
        tag, checked_attributes(element.attributes, written, schema, file, line), file, line
    )
    if tag == "trace":
        node.text = element.text
    for child in element.children:
        if TAG_SYNONYMS.get(child.tag, child.tag) in schema.children:
            node.children.append(_convert(child, file, warnings))
        else:
            _pass_over(child, written, file, warnings)
    return node


def _pass_over(child: _Element, parent: str, file: str, warnings: list[str]) -> None:
    """Leave out what a replay does not use; anything else is an error."""
    written, line = child.tag, child.line
    tag = TAG_SYNONYMS.get(written, written)
    if tag in IGNORED:
        return
    if tag in REMOVED:
        warnings.append(
            f"{file}:{line}: <{written}> is ignored: SimGrid 3.24 replaced it by <disk>"
        )
        return
    if tag in ELEMENTS:
        raise InputError(f"<{written}> does not belong in <{parent}>", file=file, line=line)
    refuse_unknown(f"unknown element <{written}>", written, [*ELEMENTS, *TAG_SYNONYMS], file, line)
