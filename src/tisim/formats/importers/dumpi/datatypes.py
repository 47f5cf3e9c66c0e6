"""Sizes of MPI's datatypes, in bytes, by DUMPI's numbers."""

from __future__ import annotations

from tisim.formats.importers.dumpi.call import Call

# From MPI_CHAR on, in DUMPI's order, on machines of 64 bits: used where a file lists no sizes.
_FIRST = 2
_SIZES = (1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20)


class Datatypes:
    """The sizes of one rank's datatypes.

    Parameters
    ----------
    listed
        The sizes that the file lists, by number; empty: it lists none.
    """

    def __init__(self, listed: list[int]) -> None:
        self._size = dict(enumerate(listed)) or dict(enumerate(_SIZES, _FIRST))

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
