"""One element of a description: its name, attributes, children and place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from tisim.errors import InputError
from tisim.platform.description.schema import (
    ATTRIBUTE_SYNONYMS,
    ELEMENTS,
    VALUE_SYNONYMS,
    Element,
)

_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(slots=True)
class Node:
    """One element, in the words of version 4.1.

    Attributes
    ----------
    tag
        Its name.
    attributes
        Every attribute that has a value or a default.
    file, line
        Where it stands; None if Python made it.
    children, text
        What it holds.
    """

    tag: str
    attributes: dict[str, str]
    file: str | None = None
    line: int | None = None
    children: list[Node] = field(default_factory=list)
    text: str = ""

    def __getitem__(self, attribute: str) -> str:
        return self.attributes[attribute]

    def error(self, message: str) -> InputError:
        """An error about this element, with its file and line."""
        return InputError(message, file=self.file, line=self.line)

    def warning(self, message: str) -> str:
        """A warning about this element, with its file and line."""
        return message if self.file is None else f"{self.file}:{self.line}: {message}"

    def properties(self) -> dict[str, str]:
        """The ``<prop>`` children by name; the first of a name counts, as in SimGrid."""
        found: dict[str, str] = {}
        for child in self.children:
            if child.tag == "prop":
                found.setdefault(child["id"], child["value"])
        return found


def make_node(
    tag: str, attributes: Mapping[str, str], properties: Mapping[str, str] | None = None
) -> Node:
    """An element that no file has.

    Raises
    ------
    InputError
        If the element has no such attribute, lacks one, or does not accept a value.
    """
    for name, value in attributes.items():
        if not isinstance(value, str):
            raise InputError(f"{name} of <{tag}> must be text, not {value!r}")
        if _NOT_XML.search(value):
            raise InputError(f"{name} of <{tag}> has a character that no file can hold: {value!r}")
    node = Node(tag, checked_attributes(attributes, tag, ELEMENTS[tag], None, None))
    for key, value in (properties or {}).items():
        node.children.append(make_node("prop", {"id": key, "value": str(value)}))
    return node


def checked_attributes(
    written: Mapping[str, str], tag: str, schema: Element, file: str | None, line: int | None
) -> dict[str, str]:
    """The attributes of an element in the words of version 4.1, with the defaults.

    Raises
    ------
    InputError
        If the element has no such attribute, lacks one, or does not accept a value.
    """
    values = dict(schema.defaults)
    for key, value in written.items():
        attribute = schema.attributes.get(key)
        if attribute is None:
            key = ATTRIBUTE_SYNONYMS.get(key, key)
            attribute = schema.attributes.get(key)
        if attribute is None:
            known = schema.attributes
            refuse_unknown(f"<{tag}> has no attribute {key}", key, known, file, line)
        if attribute.choices:
            value = VALUE_SYNONYMS.get((key, value), value)
            if value not in attribute.choices:
                raise InputError(
                    f"{key}={value!r} of <{tag}> must be one of {', '.join(attribute.choices)}",
                    file=file,
                    line=line,
                )
        values[key] = value
    missing = schema.required - values.keys()
    if missing:
        names = " and ".join(sorted(missing))
        raise InputError(f"<{tag}> needs the attribute {names}", file=file, line=line)
    return values


def refuse_unknown(
    message: str, word: str, known: Iterable[str], file: str | None, line: int | None
) -> NoReturn:
    """Refuse a word, with the known one that looks like it.

    Raises
    ------
    InputError
        Always.
    """
    import difflib

    close = difflib.get_close_matches(word, list(known), n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise InputError(message + hint, file=file, line=line)
