"""Sizes of datatypes, in bytes, where a trace has the calls that make them."""

from __future__ import annotations

from collections.abc import Mapping

from tisim.traces.importers.calls.call import Call


class Datatypes:
    """The sizes of one rank's datatypes.

    Parameters
    ----------
    known
        The sizes that are known without a call, by number.
    """

    def __init__(self, known: Mapping[int, int]) -> None:
        self._size = dict(known)

    def size(self, number: int) -> int | None:
        """The bytes of one element; None if the type is not known."""
        return self._size.get(number)

    def learn(self, call: Call) -> None:
        """Take the size of a type that a call makes, or tells."""
        numbers = call.numbers
        if call.function == "Type_size":
            self._size[numbers["datatype"]] = numbers["size"]
        elif "newtype" in numbers:
            size = self._made(call)
            if size is not None:
                self._size[numbers["newtype"]] = size

    def _made(self, call: Call) -> int | None:
        numbers, lists = call.numbers, call.lists
        if call.function in ("Type_struct", "Type_create_struct"):
            lengths = lists.get("lengths", lists.get("blocklengths", []))
            sizes = [self.size(number) for number in lists.get("oldtypes", [])]
            if len(sizes) != len(lengths) or None in sizes:
                return None
            pairs = zip(lengths, sizes, strict=True)
            return sum(length * size for length, size in pairs if size is not None)
        size = self.size(numbers.get("oldtype", numbers.get("datatype", -1)))
        if size is None:
            return None
        elements = 1
        if call.function == "Type_contiguous":
            elements = numbers["count"]
        elif "blocklength" in numbers:
            elements = numbers["count"] * numbers["blocklength"]
        elif "lengths" in lists or "blocklengths" in lists:
            elements = sum(lists.get("lengths", lists.get("blocklengths", [])))
        elif call.function == "Type_create_subarray":
            for length in lists.get("subsizes", []):
                elements *= length
        return size * elements
