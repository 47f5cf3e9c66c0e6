"""One-sided communication from Pilgrim's data, in the vocabulary of a trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from tisim.traces.importers.mpi_calls import MpiCall

_MAKERS = {"Win_create", "Win_allocate", "Win_allocate_shared", "Win_create_dynamic"}
# The last two have no count: they access one element.
_ACCESSES = {
    *("Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op", "Compare_and_swap"),
}
_OF_GROUPS = {"Win_post", "Win_start"}
_OF_TARGETS = {"Win_unlock", "Win_flush", "Win_flush_local"}
_OF_WINDOWS = {
    *("Win_free", "Win_complete", "Win_wait", "Win_lock_all", "Win_unlock_all"),
    *("Win_flush_all", "Win_flush_local_all"),
}
_GROUPS = {"Comm_group", "Group_incl"}
CALLS = frozenset(
    {*_MAKERS, *_ACCESSES, *_OF_GROUPS, *_OF_TARGETS, *_OF_WINDOWS, *_GROUPS}
    | {"Win_fence", "Win_lock", "Win_test"}
)
# MPI_LOCK_EXCLUSIVE and MPI_LOCK_SHARED of MPICH and of Open MPI, and their bits of
# MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED; none of these values conflict.
_LOCKS = {234: "exclusive", 235: "shared", 1: "exclusive", 2: "shared"}
_NOPRECEDE, _NOSUCCEED = 8192 | 2, 16384 | 16
_BYTE = 6


class Windows:
    """The windows and groups of one rank.

    `size` returns the bytes of a field's datatype, `comm` the number of a call's communicator, and
    `refuse` raises the error for a call with insufficient data.
    """

    def __init__(
        self, size: Callable[[str], int], comm: Callable[[], int], refuse: Callable[[str], NoReturn]
    ) -> None:
        self._size = size
        self._comm = comm
        self._refuse = refuse
        # The communicator of each window, and the ranks of each group; None for all ranks.
        self._comm_of: dict[int, int] = {}
        self._group: dict[int, list[int] | None] = {}

    def line(self, call: MpiCall) -> tuple[str, int] | None:
        """Format a call without the rank; return it with its communicator. None if not needed."""
        numbers, function = call.numbers, call.function
        if function in _GROUPS:
            self._learn_group(call)
            return None
        if function in _MAKERS and self._comm() != self._comm_of.setdefault(
            numbers["win"], self._comm()
        ):
            self._refuse("its window's number referred to one of another communicator before")
        window = numbers["win"]
        if window not in self._comm_of:
            self._refuse("no call in the trace created this window")
        words = self._words(call, f"{function.lower()} {window}")
        if words is None:
            return None
        return words, self._comm_of[window]

    def _learn_group(self, call: MpiCall) -> None:
        number, members = call.numbers["group"], None
        if call.function == "Group_incl":
            of, members = self._group.get(number, []), call.lists["ranks"]
            if of is not None and not all(0 <= rank < len(of) for rank in members):
                self._refuse("the members of its group are not described")
            number = call.numbers["newgroup"]
            members = members if of is None else [of[rank] for rank in members]
        if self._group.setdefault(number, members) != members:
            self._refuse("its group's number referred to other ranks before")

    def _words(self, call: MpiCall, head: str) -> str | None:
        numbers, function = call.numbers, call.function
        target = numbers.get("target", 0)
        if target < 0:  # MPI_PROC_NULL
            return None
        if function in _ACCESSES:
            nbytes = numbers.get("count", 1) * self._size("target_datatype")
            return f"{head} {target} {nbytes} {_BYTE}"
        if function in _OF_TARGETS:
            return f"{head} {target}"
        if function == "Win_lock":
            if numbers["lock_type"] not in _LOCKS:
                self._refuse(f"the kind of lock {numbers['lock_type']} is not described")
            return f"{head} {target} {_LOCKS[numbers['lock_type']]}"
        if function == "Win_test":
            return head.replace("test", "wait") if numbers["flag"] else None
        if function == "Win_fence":
            said = ((" noprecede", _NOPRECEDE), (" nosucceed", _NOSUCCEED))
            return head + "".join(text for text, bits in said if numbers["assert"] & bits)
        if function in _OF_GROUPS:
            ranks = self._group.get(numbers["group"])
            if ranks is None:
                self._refuse("the members of its group are not described")
            return " ".join(map(str, (head, *ranks)))
        return f"{head} {numbers['size']}" if "size" in numbers else head
