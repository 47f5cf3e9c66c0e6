"""Reads the XML of platform and deployment files into plain nodes.

The parser is Expat, which loads quickly. Nothing is fetched, no entity is expanded and no DTD is
loaded. The resulting nodes use the vocabulary of version 4.1, have every attribute with a
default, and record their place in the file.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
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
_MAX_DEPTH: Final = 256
_UNDEFINED_ENTITY: Final = 11  # Expat's code of this error
_ENTITY = re.compile(rb"&(?!#|(?:lt|gt|amp|apos|quot);)([^;\s]+);")
# Bytes allowed before the first element: byte order marks, zero bytes of UTF-16, white space.
_BEFORE_XML = b"\xef\xbb\xbf\xff\xfe\0 \t\r\n"
# Maximum number of bytes quoted in a message about a file that is not XML.
_MAX_QUOTED = 40
# Characters to escape in a double-quoted attribute value.
_ESCAPED = str.maketrans(
    {"&": "&amp;", "<": "&lt;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"}
)
_PROLOG = re.compile(rb"^\s*(<\?xml[^>]*\?>)?\s*(<!DOCTYPE[^>\[]*>)?")


def quoted(value: str) -> str:
    """Return an escaped, quoted attribute value; importing `xml.sax.saxutils` is slow."""
    return f'"{value.translate(_ESCAPED)}"'


@dataclass(slots=True)
class Document:
    """A complete file: its root element, version and warnings."""

    root: Node
    version: float
    warnings: list[str]


def read_document(path: str | os.PathLike[str]) -> Document:
    """Read a platform or deployment file, without its included files."""
    file = os.fspath(path)
    return parse_document(read_input(file), file)


def parse_document(data: bytes, file: str) -> Document:
    """Read a platform or deployment file from its bytes; see `read_document`."""
    warnings: list[str] = []
    root = _Reader(data, file, warnings).read("platform")
    return Document(root, _version(root), warnings)


def read_fragment(path: str | os.PathLike[str], warnings: list[str]) -> list[Node]:
    """Read a file named by an ``<include>``: elements without a common root, or a platform."""
    file = os.fspath(path)
    data = read_input(file)
    body = _PROLOG.sub(lambda prolog: re.sub(rb"[^\n]", b" ", prolog.group()), data)
    whole = b"<include file=''>" + body + b"</include>"
    node = _Reader(whole, file, warnings).read("include")
    if len(node.children) == 1 and node.children[0].tag == "platform":
        return node.children[0].children
    return node.children


def _refuse_entities(data: bytes, file: str) -> None:
    # UTF-16 has a zero byte next to each of these letters.
    at = data.replace(b"\0", b"").find(b"<!ENTITY")
    if at >= 0:
        raise InputError(
            "the file declares an XML entity; entities are not expanded; write out the text",
            file=file,
            line=data.replace(b"\0", b"").count(b"\n", 0, at) + 1,
        )


class _Reader:
    """Builds nodes from parser events, in the vocabulary of version 4.1.

    Only the text of ``<trace>`` is kept; elements that a replay does not use are skipped.
    """

    def __init__(self, data: bytes, file: str, warnings: list[str]) -> None:
        self._data = data
        self._file = file
        self._warnings = warnings
        self._outermost = ""
        # The open elements (None if skipped) and their names as written.
        self._open: list[tuple[Node | None, str]] = []
        self._root: Node | None = None
        self._parser = parser = ParserCreate()
        parser.buffer_text = True
        parser.specified_attributes = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._add_text
        parser.SkippedEntityHandler = self._refuse_entity

    def read(self, outermost: str) -> Node:
        """Return the outermost element, which must have this name."""
        if not self._data.strip():
            raise InputError("the file is empty", file=self._file)
        _refuse_entities(self._data, self._file)
        self._outermost = outermost
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
            raise self._broken("its encoding is not supported", 1) from None
        assert self._root is not None
        return self._root

    def _broken(self, message: str, line: int) -> InputError:
        text = self._data.lstrip(_BEFORE_XML)
        if not text.startswith(b"<"):
            first = text.partition(b"\n")[0][:_MAX_QUOTED].decode("utf-8", "replace").strip()
            return InputError(
                "this is not XML and therefore not a platform or deployment: it begins with "
                f"{first!r}; use --hosts for a list of hosts",
                file=self._file,
                line=1,
            )
        return InputError(f"this is not complete XML: {message}", file=self._file, line=line)

    def _start(self, written: str, attributes: dict[str, str]) -> None:
        line = self._parser.CurrentLineNumber
        if len(self._open) == _MAX_DEPTH:
            raise self._broken(f"elements are nested deeper than {_MAX_DEPTH}", line)
        tag = TAG_SYNONYMS.get(written, written)
        parent, around = self._open[-1] if self._open else (None, "")
        node = None
        if not self._open and tag != self._outermost:
            raise InputError(
                f"the file's outermost element is <{written}>; a platform or deployment file is "
                'one <platform version="4.1"> element',
                file=self._file,
                line=line,
            )
        if not self._open or (parent is not None and tag in ELEMENTS[parent.tag].children):
            values = checked_attributes(attributes, written, ELEMENTS[tag], self._file, line)
            node = Node(tag, values, self._file, line)
            if parent is None:
                self._root = node
            else:
                parent.children.append(node)
        elif parent is not None:
            self._skip_or_refuse(written, tag, around, line)
        self._open.append((node, written))

    def _end(self, tag: str) -> None:
        self._open.pop()

    def _add_text(self, text: str) -> None:
        node, _ = self._open[-1]
        if node is not None and node.tag == "trace":
            node.text += text

    def _skip_or_refuse(self, written: str, tag: str, parent: str, line: int) -> None:
        """Skip an element that a replay does not use; raise an error for any other."""
        file = self._file
        if tag in REMOVED:
            self._warnings.append(
                f"{file}:{line}: <{written}> is ignored: SimGrid 3.24 replaced it by <disk>"
            )
        elif tag in ELEMENTS:
            raise InputError(f"<{written}> is not allowed in <{parent}>", file=file, line=line)
        elif tag not in IGNORED:
            known = [*ELEMENTS, *TAG_SYNONYMS]
            refuse_unknown(f"unknown element <{written}>", written, known, file, line)

    def _refuse_entity(self, name: str, is_parameter_entity: bool) -> None:
        line = self._parser.CurrentLineNumber
        raise self._broken(f"Entity {name!r} not defined", line)


def _version(root: Node) -> float:
    try:
        version = float(root["version"])
    except ValueError:
        raise root.error(f"version must be a number, not {root['version']!r}") from None
    if not _OLDEST <= version <= _NEWEST:
        raise root.error(
            f"version {root['version']} of the platform format is not supported; supported are "
            f"{_OLDEST:g} to {_NEWEST:g}"
        )
    return version
