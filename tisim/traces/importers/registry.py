"""The formats that can be imported: tisim's own and those of installed packages."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.traces.importers.importer import Importer

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

#: The group of entry points by which other packages add formats.
GROUP = "tisim.importers"
# Each format's module and class, in the order in which they are tried: those that are recognised by
# a magic number first, tables last.
_OWN = {
    "otf2": ("tisim.traces.importers.otf2", "Otf2Importer"),
    "dumpi": ("tisim.traces.importers.dumpi", "DumpiImporter"),
    "liballprof": ("tisim.traces.importers.liballprof", "LiballprofImporter"),
    "paraver": ("tisim.traces.importers.paraver", "ParaverImporter"),
    "dimemas": ("tisim.traces.importers.dimemas", "DimemasImporter"),
    "pilgrim": ("tisim.traces.importers.pilgrim", "PilgrimImporter"),
    "scalatrace": ("tisim.traces.importers.scalatrace", "ScalaTraceImporter"),
    "darshan": ("tisim.traces.importers.darshan", "DarshanImporter"),
    "recorder": ("tisim.traces.importers.recorder", "RecorderImporter"),
    "goal": ("tisim.traces.importers.goal", "GoalImporter"),
    "table": ("tisim.traces.importers.table", "TableImporter"),
}
_HEAD = 1 << 16


def formats() -> tuple[str, ...]:
    """The names of all formats, those of other packages last."""
    return (*_OWN, *(name for name in _foreign() if name not in _OWN))


def importer(name: str) -> Importer:
    """The importer of a format.

    Raises
    ------
    InputError
        If there is none of that name, or the package that has it cannot be loaded.
    """
    if name in _OWN:
        module, attribute = _OWN[name]
        made: Importer = getattr(importlib.import_module(module), attribute)()
        return made
    entry = _foreign().get(name)
    if entry is None:
        raise InputError(f"there is no format {name!r} to import; there are {', '.join(formats())}")
    try:
        found = entry.load()()
    except Exception as error:
        # Somebody else's code: whatever it raises, the user learns whose it is.
        raise InputError(
            f"the importer {name!r} ({entry.value}) cannot be loaded: {error}"
        ) from error
    if not isinstance(found, Importer):
        raise InputError(
            f"the importer {name!r} ({entry.value}) is no subclass of "
            "tisim.traces.importers.Importer"
        )
    return found


def recognise(files: Sequence[Path]) -> Importer:
    """The importer of the format that files are in, by their content.

    Raises
    ------
    InputError
        If a file cannot be read, or no format fits.
    """
    head = b""
    for file in files:
        if not file.exists():
            raise InputError("there is no such file", file=file)
    if files[0].is_file():
        try:
            with files[0].open("rb") as stream:
                head = stream.read(_HEAD)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", file=files[0]) from None
    for name in formats():
        candidate = importer(name)
        if candidate.recognises(files, head):
            return candidate
    raise InputError(
        f"is in none of the formats that can be imported ({', '.join(formats())}); name the format "
        "with --format, or make a table of calls (CSV) and import that",
        file=files[0],
    )


def _foreign() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to load

    return {entry.name: entry for entry in entry_points(group=GROUP)}
