"""Recording programs through libtisim_trace with ctypes, for tests."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from pathlib import Path

from tisim import _core

NUMBER, TEXT, MEASURED, RANK = range(4)


class Bytes(ctypes.Structure):
    """tt_bytes."""

    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))


def load_library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(Path(_core.__file__).parent / "trace_library" / "libtisim_trace.so"))
    library.tt_rank_open.restype = ctypes.c_void_p
    library.tt_rank_open.argtypes = (
        ctypes.c_uint32,
        ctypes.c_uint32,
        ctypes.c_size_t,
        ctypes.c_char_p,
    )
    library.tt_word.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64)
    library.tt_call.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    library.tt_compute.argtypes = (ctypes.c_void_p, ctypes.c_uint64)
    library.tt_attribute_name.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int)
    library.tt_text.restype = ctypes.c_int64
    library.tt_text.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    library.tt_attribute.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int64)
    library.tt_attribute_later.restype = ctypes.c_int64
    library.tt_attribute_later.argtypes = (ctypes.c_void_p, ctypes.c_int)
    library.tt_attribute_known.argtypes = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    for name in ("tt_rank_end", "tt_flush", "tt_rank_close"):
        getattr(library, name).argtypes = (ctypes.c_void_p,)
    library.tt_rank_part.argtypes = (ctypes.c_void_p, ctypes.POINTER(Bytes))
    library.tt_merge.argtypes = (ctypes.POINTER(Bytes),) * 3
    library.tt_write_trace.argtypes = (
        ctypes.POINTER(Bytes),
        ctypes.c_char_p,
        ctypes.c_char_p,
        ctypes.c_void_p,
    )
    return library


class Program:
    """A program whose ranks record calls; `write` writes the trace."""

    def __init__(self, ranks: int) -> None:
        self.library = load_library()
        self.ranks = [Rank(self.library, rank, ranks) for rank in range(ranks)]

    def write(self, path: Path) -> Path:
        merged = None
        for rank in self.ranks:
            part = rank.end()
            if merged is None:
                merged = part
                continue
            both = Bytes()
            assert self.library.tt_merge(merged, part, both) == 0
            merged = both
        assert self.library.tt_write_trace(merged, str(path).encode(), None, None) == 0
        return path


class Rank:
    """A rank that records calls."""

    def __init__(self, library: ctypes.CDLL, rank: int, ranks: int) -> None:
        self.library = library
        self.rank = library.tt_rank_open(rank, ranks, 0, None)
        self.words: dict[str, int] = {}

    def attribute(self, name: str, kind: int) -> int:
        number: int = self.library.tt_attribute_name(self.rank, name.encode(), kind)
        return number

    def text(self, text: str) -> int:
        number: int = self.library.tt_text(self.rank, text.encode())
        return number

    def _have(self, attributes: Mapping[int, int] | None) -> None:
        for number, value in (attributes or {}).items():
            assert self.library.tt_attribute(self.rank, number, value) == 0

    def call(
        self,
        line: str,
        *numbers: int,
        ranks: int = 0,
        attributes: Mapping[int, int] | None = None,
    ) -> None:
        if line not in self.words:
            self.words[line] = self.library.tt_word(self.rank, line.encode(), ranks)
        self._have(attributes)
        values = (ctypes.c_int64 * len(numbers))(*numbers)
        assert self.library.tt_call(self.rank, self.words[line], values) == 0

    def compute(self, amount: int, attributes: Mapping[int, int] | None = None) -> None:
        self._have(attributes)
        assert self.library.tt_compute(self.rank, amount) == 0

    def later(self, attribute: int) -> int:
        ticket: int = self.library.tt_attribute_later(self.rank, attribute)
        assert ticket >= 0
        return ticket

    def known(self, ticket: int, value: int) -> None:
        assert self.library.tt_attribute_known(self.rank, ticket, value) == 0

    def end(self) -> Bytes:
        part = Bytes()
        assert self.library.tt_rank_end(self.rank) == 0
        assert self.library.tt_rank_part(self.rank, part) == 0
        self.library.tt_rank_close(self.rank)
        return part
