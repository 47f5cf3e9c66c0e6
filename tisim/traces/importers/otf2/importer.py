"""The importer of OTF2."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions, Notes


class Otf2Importer(Importer):
    """Reads the traces of Score-P, EZTrace and TAU; needs the package ``otf2``."""

    name = "otf2"
    title = "OTF2, which Score-P, EZTrace and TAU write"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return files[0].suffix == ".otf2" or _anchor_in(files[0]) is not None

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        if len(files) > 1:
            raise InputError("an OTF2 trace must be given by its anchor file only", file=files[1])
        anchor = _anchor_in(files[0]) or files[0]
        try:
            from tisim.traces.importers.otf2.trace import Otf2Trace
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("otf2", "_otf2"):
                raise
            raise InputError(
                "OTF2 traces need the package otf2, which is not installed: pip install "
                '"tisim[otf2]"',
                file=anchor,
            ) from None
        return Otf2Trace(anchor, options, notes)


def _anchor_in(path: Path) -> Path | None:
    """Return the anchor file of a directory, if it has exactly one."""
    if not path.is_dir():
        return None
    anchors = sorted(path.glob("*.otf2"))
    return anchors[0] if len(anchors) == 1 else None
