"""The events of one location, opened with OTF2's library."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import _otf2

from tisim.errors import InputError
from tisim.traces.importers.otf2.complaints import complaints

# OTF2_BUFFER_CHUNK_HEADER, with which an uncompressed file begins, and OTF2_BUFFER_END_OF_FILE.
_FIRST_BYTE, _LAST_BYTE = b"\x03", b"\x01"


@contextmanager
def opened_events(anchor: Path, location: int) -> Iterator[object]:
    """Open the events of a location, as a reader of the library's that lacks its callbacks.

    Parameters
    ----------
    anchor
        The trace's anchor file, ``traces.otf2``.
    location
        The reference of the location.

    Yields
    ------
    object

    Raises
    ------
    InputError
        If they are cut, or the library refuses them, also later, while they are read.
    """
    _check_end(anchor.with_suffix("") / f"{location}.evt")
    with complaints() as found:
        handle = None
        try:
            handle = _otf2.Reader_Open(str(anchor))
            yield _reader(handle, anchor, location, found)
        except _otf2.Error as error:
            raise _unreadable(anchor, location, str(error)) from None
        finally:
            if handle is not None:
                _otf2.Reader_Close(handle)
        if found:
            raise _unreadable(anchor, location, found[0])


def _check_end(events: Path) -> None:
    """Refuse a cut file: the library would take what its memory happens to hold for the rest."""
    if not events.is_file():
        return  # the library says so
    with events.open("rb") as file:
        first = file.read(1)
        file.seek(-1 if first else 0, os.SEEK_END)
        last = file.read(1)
    if first in (b"", _FIRST_BYTE) and last != _LAST_BYTE:
        raise InputError("is cut: the end of OTF2's events is missing", file=events)


def _unreadable(anchor: Path, location: int, why: str) -> InputError:
    return InputError(f"the events of location {location} cannot be read: {why}", file=anchor)


def _reader(handle: object, anchor: Path, location: int, found: list[str]) -> object:
    _otf2.Reader_SetSerialCollectiveCallbacks(handle)
    # The files of events are found only after the definitions have been read.
    definitions = _otf2.Reader_GetGlobalDefReader(handle)
    read = _otf2.Reader_ReadAllGlobalDefinitions(handle, definitions)
    written = _otf2.Reader_GetNumberOfGlobalDefinitions(handle)
    if read != written:
        raise InputError(
            f"is damaged: only {read} of its {written} definitions can be read", file=anchor
        )
    _otf2.Reader_CloseGlobalDefReader(handle, definitions)
    _otf2.Reader_SelectLocation(handle, location)
    try:
        _otf2.Reader_OpenDefFiles(handle)
    except _otf2.Error:
        found.clear()  # a trace without definitions of locations has none to apply
    else:
        local = _otf2.Reader_GetDefReader(handle, location)
        if local:
            _otf2.Reader_ReadAllLocalDefinitions(handle, local)
            _otf2.Reader_CloseDefReader(handle, local)
        _otf2.Reader_CloseDefFiles(handle)
    _otf2.Reader_OpenEvtFiles(handle)
    _otf2.Reader_GetEvtReader(handle, location)
    return _otf2.Reader_GetGlobalEvtReader(handle)
