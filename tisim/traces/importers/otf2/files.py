"""The files that an OTF2 trace defines, and the I/O handles on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import otf2


@dataclass
class FileDefinitions:
    """Files by OTF2's references.

    Attributes
    ----------
    names
        The path of each file.
    handles
        The file of each handle that is imported. Handles that the I/O inside a call on another one
        has made, and those of directories, are not: the call itself stands for what it does.
    standard
        Handles that every process has: standard input and output.
    """

    names: dict[int, str] = field(default_factory=dict)
    handles: dict[int, int] = field(default_factory=dict)
    standard: set[int] = field(default_factory=set)


def file_definitions(known: otf2.registry.DefinitionRegistry) -> FileDefinitions:
    """Take over the definitions of files; a trace of an older version has none."""
    from otf2.definitions import IoRegularFile
    from otf2.enums import IoHandleFlag

    found = FileDefinitions()
    for file in getattr(known, "io_regular_files", ()):
        found.names[file._ref] = file.name
    for handle in getattr(known, "io_handles", ()):
        if handle.io_handle_flags.value & IoHandleFlag.PRE_CREATED.value:
            found.standard.add(handle._ref)
        elif handle.parent is None and isinstance(handle.file, IoRegularFile):
            found.handles[handle._ref] = handle.file._ref
    return found
