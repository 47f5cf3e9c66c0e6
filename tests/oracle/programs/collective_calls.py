"""Random collective calls for a program: any root, size and type, equal or different by rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tests.oracle.programs.program import MAX_BYTES, WIDTH_OF_TYPE, Author, Each, Peer, Word

#: Maximum number of bytes per collective, summed over all pairs of ranks.
MAX_VOLUME = 64 << 20

ROOTED = ("gather", "scatter")
EXCHANGES = ("alltoall", "allgather")
REDUCTIONS = ("allreduce", "scan", "exscan")
OPERATIONS = (
    "barrier",
    "bcast",
    "reduce",
    *REDUCTIONS,
    *EXCHANGES,
    *ROOTED,
    "alltoallv",
    "gatherv",
    "scatterv",
    "allgatherv",
    "reducescatter",
)


class CollectiveAuthor(Author):
    """An author that also writes collectives.

    Attributes
    ----------
    most_alltoall
        The largest block, in bytes, of an alltoall among ranks that are not a power of two.
    one_type
        Whether sent and received data always have the same type and count.
    apart
        Whether a barrier follows each call, so that no rank has already entered the next one.
    fails
        Return why SimGrid cannot perform a call, given its words, the width of the default type and
        the ranks that make it; such calls are not written.
    """

    most_alltoall = MAX_BYTES
    one_type = False
    apart = False
    fails: Callable[[Sequence[Word], int, Sequence[int]], str | None] | None = None

    def words_of(self, line: int) -> Sequence[Word]:
        """Return an existing line as a blocking call on the world."""
        return self.lines[line].words

    def members(self) -> Sequence[int]:
        """Return the ranks that make the current call, as world ranks."""
        return range(self.ranks)

    def collective(self, operation: str) -> None:
        """Write one call of `operation` on every rank."""
        self.new_event()
        written = len(self.lines)
        if operation == "barrier":
            for rank in range(self.ranks):
                self.write(rank, "barrier")
        elif operation in ("bcast", "reduce", *REDUCTIONS):
            self.one_count(operation)
        elif operation in (*EXCHANGES, *ROOTED):
            self.two_counts(operation)
        elif operation == "reducescatter":
            self.reducescatter()
        elif operation == "alltoallv":
            self.alltoallv()
        else:
            self.varying(operation)
        if self.fails and self.fails(self.words_of(written), self.default_width, self.members()):
            del self.lines[written:]
        elif self.apart and operation != "barrier":
            for rank in range(self.ranks):
                self.write(rank, "barrier")

    def root(self) -> int:
        return 0 if self.rng.random() < 0.4 else self.any_rank()

    def optional(self, *words: Word | None) -> tuple[Word, ...]:
        """Return the words up to the last one that is not the default (None)."""
        kept = list(words)
        while kept and kept[-1] is None:
            kept.pop()
        default = 0 if self.default_width == 8 else 6
        return tuple(default if word is None else word for word in kept)

    def root_and_types(self, root: int, *types: int | None) -> tuple[Word, ...]:
        """Return a root and types, omitted where they are the default."""
        shown = Peer(root) if root or self.rng.random() < 0.5 else None
        if shown is None and all(kind is None for kind in types):
            return ()
        return self.optional(Peer(root), *types)

    def width(self, kind: int | None) -> int:
        return self.default_width if kind is None else WIDTH_OF_TYPE[kind]

    def typed(self, most: int) -> tuple[int, int | None]:
        """Draw a count and a type (None: the default)."""
        count, words = self.sizes.draw(self.default_width, min(most, MAX_BYTES))
        return count, (words[0] if words else None)

    def one_count(self, operation: str) -> None:
        # In SimGrid's scans, every rank sends to all higher ranks.
        many = operation in ("scan", "exscan")
        count, kind = self.typed(MAX_VOLUME // self.ranks**2 if many else MAX_BYTES)
        root, flops = self.root(), self.flops()
        uneven = self.rng.random() < 0.2
        for rank in range(self.ranks):
            work = self.flops() if uneven else flops
            if operation == "bcast":
                self.write(rank, "bcast", count, *self.root_and_types(root, kind))
            elif operation == "reduce":
                self.write(rank, "reduce", count, work, *self.root_and_types(root, kind))
            else:
                self.write(rank, operation, count, work, *self.optional(kind))

    def two_counts(self, operation: str) -> None:
        pairs = self.ranks if operation in ROOTED else self.ranks**2
        most = MAX_VOLUME // pairs
        if operation == "alltoall" and self.ranks & (self.ranks - 1):
            most = min(most, self.most_alltoall)
        count, sent = self.typed(most)
        expected, received = count, sent
        # SimGrid's alltoall with Bruck's algorithm sends a wrong number of bytes in that case.
        mixed = operation != "alltoall" and not self.one_type and self.rng.random() < 0.2
        if mixed and sent is not None and self.width(sent) > 1:
            expected, received = count * self.width(sent), 6  # the same number of bytes, as bytes
        root = self.root()
        for rank in range(self.ranks):
            if operation in ROOTED:
                counts = (count, expected) if operation == "gather" else (expected, count)
                types = (sent, received) if operation == "gather" else (received, sent)
                self.write(rank, operation, *counts, *self.root_and_types(root, *types))
            else:
                self.write(rank, operation, count, expected, *self.optional(sent, received))

    def counts(self, most: int, kind: int | None) -> tuple[int, ...]:
        """Draw a count for every rank: equal ones, a few values, or all different."""
        style = self.rng.random()
        largest = self.sizes.nbytes(min(most, MAX_BYTES)) // self.width(kind)
        if style < 0.25:
            return (largest,) * self.ranks
        if style < 0.5:
            return tuple(largest * self.rng.randint(0, 1) for _ in range(self.ranks))
        return tuple(
            self.sizes.nbytes(min(most, MAX_BYTES)) // self.width(kind) for _ in range(self.ranks)
        )

    def kind(self) -> int | None:
        return None if self.rng.random() < 0.5 else self.rng.choice(list(WIDTH_OF_TYPE))

    def reducescatter(self) -> None:
        kind = self.kind()
        counts, flops = Each(self.counts(MAX_BYTES // self.ranks, kind)), self.flops()
        for rank in range(self.ranks):
            self.write(rank, "reducescatter", counts, flops, *self.optional(kind))

    def alltoallv(self) -> None:
        kind = self.kind()
        matrix = [self.counts(MAX_VOLUME // self.ranks**2, kind) for _ in range(self.ranks)]
        types = self.optional(kind, kind)
        for rank in range(self.ranks):
            received = tuple(row[rank] for row in matrix)
            self.write(
                rank,
                "alltoallv",
                sum(matrix[rank]),
                Each(matrix[rank]),
                sum(received),
                Each(received),
                *types,
            )

    def varying(self, operation: str) -> None:
        """Write `gatherv`, `allgatherv` or `scatterv`."""
        kind = self.kind()
        pairs = self.ranks if operation != "allgatherv" else self.ranks**2
        counts = self.counts(MAX_VOLUME // pairs, kind)
        root = self.root()
        # SimGrid's tracer writes the counts of these two on the root only.
        only_root = operation != "allgatherv" and self.rng.random() < 0.3
        for rank in range(self.ranks):
            known = Each((0,) * self.ranks if only_root and rank != root else counts)
            rooted = self.root_and_types(root, kind, kind)
            if operation == "gatherv":
                self.write(rank, operation, counts[rank], known, *rooted)
            elif operation == "scatterv":
                self.write(rank, operation, known, counts[rank], *rooted)
            else:
                self.write(rank, operation, counts[rank], known, *self.optional(kind, kind))
