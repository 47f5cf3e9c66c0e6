"""The patterns of communication and I/O, one class each."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Literal, get_args

from tisim.traces.generate.pattern import Pattern, Program, check_grid, neighbour, process_grid

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Ring(Pattern):
    """Every rank computes, sends to the next rank and receives from the previous one.

    All of them do so at once: a shift, as in a systolic matrix product.

    Parameters
    ----------
    nbytes
        Bytes of a message.
    """

    _least: ClassVar[Mapping[str, int]] = {**Pattern._least, "nbytes": 0}

    nbytes: int = 1024

    def iteration(self, rank: int) -> Program:
        if self.ranks == 1:
            return [1.0]
        after, before = (rank + 1) % self.ranks, (rank - 1) % self.ranks
        return [
            1.0,
            f"irecv {before} 0 {self.nbytes}",
            f"isend {after} 0 {self.nbytes}",
            "waitall",
        ]


@dataclass(frozen=True, kw_only=True)
class _Halo(Pattern, ABC):
    """A halo exchange in any number of dimensions."""

    dimensions: ClassVar[int]

    grid: tuple[int, ...] = ()
    nbytes: int | tuple[int, ...] = 8192
    periodic: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid:
            check_grid(self.grid, self.ranks, self.dimensions)
        several = f"one number or {self.dimensions}, one per dimension"
        self._check("nbytes", len(self.faces) == self.dimensions, several)
        self._check("nbytes", min(self.faces) >= 0, "at least 0")

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """Number of ranks in each dimension."""
        return self.grid or process_grid(self.ranks, self.dimensions)

    @cached_property
    def faces(self) -> tuple[int, ...]:
        """Bytes of a face in each dimension."""
        if isinstance(self.nbytes, int):
            return (self.nbytes,) * self.dimensions
        return tuple(self.nbytes)

    def iteration(self, rank: int) -> Program:
        receives: Program = []
        sends: Program = []
        for dimension, nbytes in enumerate(self.faces):
            before, after = (
                neighbour(rank, self.sides, dimension, step, self.periodic) for step in (-1, 1)
            )
            # Each direction has its own tag, so that both neighbours may be the same rank.
            backwards, forwards = 2 * dimension, 2 * dimension + 1
            if after not in (rank, -1):
                receives.append(f"irecv {after} {backwards} {nbytes}")
                sends.append(f"isend {after} {forwards} {nbytes}")
            if before not in (rank, -1):
                receives.append(f"irecv {before} {forwards} {nbytes}")
                sends.append(f"isend {before} {backwards} {nbytes}")
        return [*receives, *sends, "waitall", 1.0] if receives else [1.0]


@dataclass(frozen=True, kw_only=True)
class Halo2D(_Halo):
    """Ranks in a plane compute and exchange edges with up to four neighbours.

    Parameters
    ----------
    grid
        Ranks in each dimension, the fastest-running first; as even as possible by default.
    nbytes
        Bytes of an edge: one number, or one per dimension.
    periodic
        Whether the ends of the grid are neighbours too.
    """

    dimensions: ClassVar[int] = 2


@dataclass(frozen=True, kw_only=True)
class Halo3D(_Halo):
    """Ranks in a box compute and exchange faces with up to six neighbours.

    Parameters
    ----------
    grid
        Ranks in each dimension, the fastest-running first; as even as possible by default.
    nbytes
        Bytes of a face: one number, or one per dimension.
    periodic
        Whether the ends of the grid are neighbours too.
    """

    dimensions: ClassVar[int] = 3


@dataclass(frozen=True, kw_only=True)
class Wavefront(Pattern):
    """Every iteration sweeps from the first rank to the last and back, plane by plane.

    A rank waits for its part of a plane from two neighbours, computes, and passes it on to the
    two others, as in the triangular solves of LU and in particle transport (Sweep3D).

    Parameters
    ----------
    grid
        Ranks in each of two dimensions; as even as possible by default.
    planes
        Number of planes of a sweep; more planes keep more ranks busy and need more messages.
    nbytes
        Bytes that a rank passes on for each plane, in each direction.
    """

    _least: ClassVar[Mapping[str, int]] = {**Pattern._least, "planes": 1, "nbytes": 0}

    grid: tuple[int, ...] = ()
    planes: int = 10
    nbytes: int = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.grid:
            check_grid(self.grid, self.ranks, 2)

    @cached_property
    def sides(self) -> tuple[int, ...]:
        """Number of ranks in each dimension."""
        return self.grid or process_grid(self.ranks, 2)

    def iteration(self, rank: int) -> Program:
        return [
            *self._plane(rank, 1) * self.planes,
            *self._plane(rank, -1) * self.planes,
        ]

    def _plane(self, rank: int, direction: int) -> Program:
        def beside(step: int) -> list[int]:
            ranks = [neighbour(rank, self.sides, d, step, periodic=False) for d in (0, 1)]
            return [other for other in ranks if other >= 0]

        return [
            *(f"recv {source} 0 {self.nbytes}" for source in beside(-direction)),
            1 / (2 * self.planes),
            *(f"send {target} 0 {self.nbytes}" for target in beside(direction)),
        ]


@dataclass(frozen=True, kw_only=True)
class Transpose(Pattern):
    """Every rank computes and takes part in an all-to-all.

    Parameters
    ----------
    nbytes
        Bytes from each rank to each other one.
    """

    _least: ClassVar[Mapping[str, int]] = {**Pattern._least, "nbytes": 0}

    nbytes: int = 4096

    def iteration(self, rank: int) -> Program:
        return [1.0, f"alltoall {self.nbytes} {self.nbytes}"]


@dataclass(frozen=True, kw_only=True)
class Ocean(Pattern):
    """Ranks own blocks of an ocean with land in it, exchange edges, and solve in each iteration.

    As in the ocean model POP: blocks of land are left out, and the others are distributed along a
    space-filling curve, so that ranks differ in their partners and message sizes. The number of
    solver iterations, each with an exchange of edges and a sum, differs from step to step.

    Parameters
    ----------
    blocks
        Number of blocks per rank.
    land
        Fraction of the blocks that are land, from 0 to 0.9.
    nbytes
        Bytes of the edge between two blocks.
    fewest, most
        Solver iterations in a step, drawn uniformly. Each has 0.02 of the flops of a step.
    """

    _least: ClassVar[Mapping[str, int]] = {**Pattern._least, "blocks": 1, "nbytes": 0, "fewest": 1}

    blocks: int = 4
    land: float = 0.3
    nbytes: int = 4096
    fewest: int = 20
    most: int = 40

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("land", 0 <= self.land <= 0.9, "between 0 and 0.9")
        self._check("most", self.most >= self.fewest, f"at least the fewest, {self.fewest}")

    def iteration(self, rank: int) -> Program:
        edges = sorted(self._edges[rank].items())
        swap = [
            f"{call} {peer} 0 {number * self.nbytes}"
            for call in ("irecv", "isend")
            for peer, number in edges
        ]
        return [1.0, *swap, *(["waitall"] if swap else [])]

    def _repeated(self, rank: int, body: Program) -> Iterator[tuple[Program, int]]:
        swap = [re.sub(r"^(\w+ \d+) 0 ", r"\1 1 ", line) for line in body if isinstance(line, str)]
        solve: Program = [0.02, *swap, "allreduce 8 1"]
        counts = self.random(2).integers(self.fewest, self.most + 1, self.iterations).tolist()
        for step, count in enumerate(counts, 1):
            yield from ((body, 1), (solve, count))
            if self.allreduce and step % self.allreduce_every == 0:
                yield self._sums, 1

    @cached_property
    def _edges(self) -> list[Counter[int]]:
        """By rank, the ranks with which its blocks share edges, and how many edges."""
        needed = self.ranks * self.blocks
        drawn = self.random(3).random(math.ceil(needed / (1 - self.land)))
        ocean = sorted(drawn.argsort()[:needed].tolist())  # places along the curve
        owner = {_cell(place): at // self.blocks for at, place in enumerate(ocean)}
        edges: list[Counter[int]] = [Counter() for _ in range(self.ranks)]
        for (x, y), rank in owner.items():
            for beside in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                other = owner.get(beside, rank)
                if other != rank:
                    edges[rank][other] += 1
        return edges


def _cell(place: int) -> tuple[int, int]:
    """Return the cell of a place on the Morton curve: its bits alternate between coordinates."""
    bits = f"{place:b}"[::-1]
    return int(bits[::2][::-1] or "0", 2), int(bits[1::2][::-1] or "0", 2)


@dataclass(frozen=True, kw_only=True)
class Refined(Pattern):
    """Ranks own blocks of a box refined around its centre, and write checkpoints.

    As in the astrophysics code FLASH: each step exchanges the guard cells of the faces that blocks
    share and ends with an allreduce of the time step; a checkpoint has a header and variables,
    which all ranks write together into one file. Without refinement each rank has one block, in a
    grid; with it, blocks are distributed along a space-filling curve.

    Parameters
    ----------
    refined
        Fraction of the blocks that are refined, from 0 to 1; eight smaller ones replace each.
    nbytes
        Bytes of the guard cells of a face.
    block_bytes
        Bytes of a variable in a block.
    variables
        Number of variables in a checkpoint.
    checkpoint_every
        Iterations between checkpoints; 0 for none.
    """

    _least: ClassVar[Mapping[str, int]] = {
        **Pattern._least,
        **dict.fromkeys(("nbytes", "block_bytes", "variables", "checkpoint_every"), 0),
    }

    allreduce: int = 8
    refined: float = 0.0
    nbytes: int = 8192
    block_bytes: int = 32 << 10
    variables: int = 10
    checkpoint_every: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("refined", 0 <= self.refined <= 1, "between 0 and 1")

    def iteration(self, rank: int) -> Program:
        owners, faces = self._mesh
        share = float(owners[rank + 1] - owners[rank]) * self.ranks / float(owners[-1])
        swap = [
            f"{call} {peer} 0 {number * self.nbytes}"
            for call in ("irecv", "isend")
            for peer, number in sorted(faces[rank].items())
        ]
        return [share, *swap, *(["waitall"] if swap else [])]

    def _repeated(self, rank: int, body: Program) -> Iterator[tuple[Program, int]]:
        if not self.checkpoint_every:
            yield from super()._repeated(rank, body)
            return
        for step in range(1, self.iterations + 1):
            yield body, 1
            if self.allreduce and step % self.allreduce_every == 0:
                yield self._sums, 1
            if step % self.checkpoint_every == 0:
                yield self._checkpoint(rank, step // self.checkpoint_every), 1

    def _checkpoint(self, rank: int, number: int) -> Program:
        blocks = self._mesh[0]
        before, own, all_blocks = blocks[rank], blocks[rank + 1] - blocks[rank], blocks[-1]
        writes = [
            f"file_write_at_all {_HANDLE} {own * self.block_bytes} "
            f"{_HEADER + (variable * all_blocks + before) * self.block_bytes}"
            for variable in range(self.variables)
        ]
        header = [f"file_write_at {_HANDLE} {_HEADER} 0"] if rank == 0 else []
        opened = f"file_open {_HANDLE} checkpoint_{number:04d} wc"
        return [opened, *header, *writes, f"file_close {_HANDLE}"]

    @cached_property
    def _mesh(self) -> tuple[list[int], list[Counter[int]]]:
        """The first block of each rank along the curve and the total number; and by rank, the
        number of faces shared with each other rank.
        """
        import numpy as np

        sides = process_grid(self.ranks, 3)[::-1]  # the last one runs fastest
        places = np.indices(sides).reshape(3, -1)
        middle = (np.array(sides)[:, None] - 1) / 2
        nearest = ((places - middle) ** 2).sum(axis=0).argsort(kind="stable")
        fine = np.zeros(self.ranks, dtype=np.bool_)
        fine[nearest[: round(self.refined * self.ranks)]] = True
        # Cells are as large as small blocks, and named after the first cell of their block.
        double = tuple(2 * side for side in sides)
        cells = np.indices(double)
        first = np.where(
            fine[np.ravel_multi_index(tuple(cells // 2), sides)], cells, cells // 2 * 2
        )
        curve = _morton(first) if self.refined else np.ravel_multi_index(tuple(first), double)
        names, blocks = np.unique(curve, return_inverse=True)
        blocks = blocks.reshape(double)
        owner = np.arange(len(names)) * self.ranks // len(names)
        faces: list[Counter[int]] = [Counter() for _ in range(self.ranks)]
        for axis in range(3):
            low = np.moveaxis(blocks, axis, 0)[:-1].ravel()
            high = np.moveaxis(blocks, axis, 0)[1:].ravel()
            for a, b in np.unique(np.stack([low, high], axis=1), axis=0).tolist():
                one, other = int(owner[a]), int(owner[b])
                if one != other:
                    faces[one][other] += 1
                    faces[other][one] += 1
        return np.searchsorted(owner, np.arange(self.ranks + 1)).tolist(), faces


# Bytes before the variables of a checkpoint.
_HEADER = 4096


def _morton(cells: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return places on the Morton curve: the interleaved bits of the coordinates."""
    import numpy as np

    made: NDArray[np.int64] = np.zeros_like(cells[0])
    for bit in range(20):
        for axis in range(3):
            made |= (cells[axis] >> bit & 1) << 3 * bit + 2 - axis
    return made


@dataclass(frozen=True, kw_only=True)
class Sparse(Pattern):
    """Every rank sends to a few random partners, drawn once, as on an unstructured mesh.

    Parameters
    ----------
    degree
        Number of partners of a rank; all other ranks if these are fewer.
    nbytes
        Bytes of a message; or minimum and maximum of log-uniform sizes, drawn for each pair of
        partners.
    """

    _least: ClassVar[Mapping[str, int]] = {**Pattern._least, "degree": 0}

    degree: int = 4
    nbytes: int | tuple[int, ...] = 1024

    def __post_init__(self) -> None:
        super().__post_init__()
        least, most = self._range
        self._check("nbytes", 0 <= least <= most, "a size, or the minimum and maximum")

    @property
    def _range(self) -> tuple[int, int]:
        sizes = (self.nbytes,) if isinstance(self.nbytes, int) else tuple(self.nbytes)
        return (sizes[0], sizes[-1]) if len(sizes) <= 2 else (1, 0)

    @cached_property
    def _partners(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The targets of each rank and the message sizes; shapes (ranks, degree)."""
        import numpy as np

        others = self.ranks - 1
        degree = min(self.degree, others)
        random = self.random(2)
        # Distances to the partners, all different (Floyd's sampling, all ranks at once).
        steps = np.empty((self.ranks, degree), dtype=np.int32)
        for column, most in enumerate(range(others - degree, others)):
            drawn = random.integers(0, most, self.ranks, dtype=np.int32, endpoint=True)
            taken = (steps[:, :column] == drawn[:, None]).any(axis=1)
            steps[:, column] = np.where(taken, most, drawn)
        ranks = np.arange(self.ranks, dtype=np.int64)[:, None]
        targets = ((ranks + 1 + steps) % self.ranks).astype(np.int32)
        least, most = self._range
        logarithms = random.uniform(np.log(least + 1), np.log(most + 1), targets.shape)
        sizes = (np.exp(logarithms) - 1).round().astype(np.int64)
        return targets, sizes.clip(least, most)

    @cached_property
    def _sources(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Messages by target, and the first message of each rank; shape (ranks + 1,)."""
        import numpy as np

        targets = self._partners[0].ravel()
        starts = np.zeros(self.ranks + 1, dtype=np.int64)
        np.cumsum(np.bincount(targets, minlength=self.ranks), out=starts[1:])
        return np.argsort(targets, kind="stable"), starts

    def iteration(self, rank: int) -> Program:
        targets, sizes = self._partners
        order, starts = self._sources
        incoming = order[starts[rank] : starts[rank + 1]]
        sources = (incoming // max(targets.shape[1], 1)).tolist()
        received = sizes.ravel()[incoming].tolist()
        sent = zip(targets[rank].tolist(), sizes[rank].tolist(), strict=True)
        messages: Program = [
            *(f"irecv {source} 0 {size}" for source, size in zip(sources, received, strict=True)),
            *(f"isend {target} 0 {size}" for target, size in sent),
        ]
        return [1.0, *messages, "waitall"] if messages else [1.0]


# The forward pass takes a third of the flops of a step, and the backward pass the rest.
_FORWARD = 1 / 3


@dataclass(frozen=True, kw_only=True)
class Training(Pattern, ABC):
    """Steps of data-parallel training; subclasses define how gradients are summed."""

    _least: ClassVar[Mapping[str, int]] = {**Pattern._least, "nbytes": 0, "buckets": 1}

    nbytes: int = 1 << 20
    buckets: int = 1

    @abstractmethod
    def add_up(self, rank: int, nbytes: int) -> Program:
        """Return the summation of a bucket of gradients over all ranks."""

    def iteration(self, rank: int) -> Program:
        program: Program = [_FORWARD]
        for bucket in range(self.buckets):
            program.append((1 - _FORWARD) / self.buckets)
            program += self.add_up(rank, part(self.nbytes, self.buckets, bucket))
        return program


def part(whole: int, parts: int, index: int) -> int:
    """Return the size of one of `parts` parts that are as equal as possible."""
    return whole * (index + 1) // parts - whole * index // parts


def addition(nbytes: int) -> Program:
    """Return the addition of two sets of gradients."""
    return [f"compute {nbytes // 4}"] if nbytes >= 4 else []


@dataclass(frozen=True, kw_only=True)
class RingAllreduce(Training):
    """Gradients are summed around a ring, then the sums travel around once more.

    Every rank sends ``2 (ranks - 1) / ranks`` of the gradients, in ``2 (ranks - 1)`` steps
    (Patarasuk and Yuan, 2009). A trace has that many lines for each rank.

    Parameters
    ----------
    nbytes
        Bytes of all gradients, numbers of four bytes.
    buckets
        Parts in which they are summed, each once the backward pass has computed it.
    """

    def add_up(self, rank: int, nbytes: int) -> Program:
        n = self.ranks
        after, before = (rank + 1) % n, (rank - 1) % n
        program: Program = []
        for step in range(2 * (n - 1)):
            sent = part(nbytes, n, (rank - step) % n)
            received = part(nbytes, n, (rank - step - 1) % n)
            program += [
                f"irecv {before} 0 {received}",
                f"send {after} 0 {sent}",
                f"wait {before} {rank} 0",
            ]
            if step < n - 1:
                program += addition(received)
        return program


@dataclass(frozen=True, kw_only=True)
class TreeAllreduce(Training):
    """Gradients are summed towards the root of a binomial tree, then the sums are broadcast.

    Parameters
    ----------
    nbytes
        Bytes of all gradients, numbers of four bytes.
    buckets
        Parts in which they are summed, each once the backward pass has computed it.
    """

    def add_up(self, rank: int, nbytes: int) -> Program:
        # A rank's parent lacks the rank's lowest bit; its children have one additional lower bit.
        lowest = rank & -rank if rank else 1 << (self.ranks - 1).bit_length()
        bits = [1 << i for i in range(lowest.bit_length() - 1)]
        children = [rank + bit for bit in bits if rank + bit < self.ranks]
        program: Program = []
        for child in children:
            program += [f"recv {child} 0 {nbytes}", *addition(nbytes)]
        if rank:
            program += [f"send {rank - lowest} 0 {nbytes}", f"recv {rank - lowest} 0 {nbytes}"]
        return [*program, *(f"send {child} 0 {nbytes}" for child in reversed(children))]


#: Patterns of file access; IOR offers the last three.
Access = Literal["serial", "file-per-process", "shared", "strided"]
ACCESSES: Final[tuple[Access, ...]] = get_args(Access)
_HANDLE = 3
# File name suffix per rank. The percent sign is doubled: lines are templates.
_OF_A_RANK = ".%%05d"


@dataclass(frozen=True, kw_only=True)
class Io(Pattern):
    """Every rank computes and writes its data to files, as IOR does.

    Parameters
    ----------
    access
        ``serial``: rank 0 gathers the data of all ranks and writes them. ``file-per-process``: each
        rank writes a separate file. ``shared``: all write to one file, each rank in one contiguous
        piece. ``strided``: the same, alternating block by block.
    written
        Bytes of each rank in one iteration.
    block
        Bytes of one call. `written` is a multiple of it.
    file
        Name of the file; ``file-per-process`` adds the rank.
    read_back
        Whether the ranks then read the data that they wrote.
    fsync
        Whether they call fsync after the writes.
    """

    access: Access = "shared"
    written: int = 1 << 20
    block: int = 256 << 10
    file: str = "data"
    read_back: bool = False
    fsync: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("access", self.access in ACCESSES, f"one of {', '.join(ACCESSES)}")
        self._check("block", self.block >= 1, "at least 1")
        whole = self.written >= 0 and self.written % self.block == 0
        self._check("written", whole, f"a multiple of the block, {self.block}")
        plain = bool(self.file) and not set(self.file) & set(" \t\n#%")
        self._check("file", plain, "a name without blanks, # and %")

    def iteration(self, rank: int) -> Program:
        if self.access != "serial":
            return [1.0, *self._accesses(rank)]
        gather = f"gather {self.written} {self.written} 0"
        return [1.0, gather, *(self._accesses(rank) if rank == 0 else [])]

    def _accesses(self, rank: int) -> list[str]:
        """Return the calls that open the file, write, optionally read, and close it."""
        shares = self.access in ("shared", "strided")
        name = self.file + (_OF_A_RANK if self.access == "file-per-process" else "")
        # A rank may open a shared file after others have written to it.
        flags = ("rw" if self.read_back else "w") + ("c" if shares else "ct")
        lines = [f"open {_HANDLE} {name} {flags}", *self._moves("write", rank)]
        if self.fsync:
            lines.append(f"fsync {_HANDLE}")
        if self.read_back:
            lines += self._moves("read", rank, again=True)
        return [*lines, f"close {_HANDLE}"]

    def _moves(self, call: str, rank: int, *, again: bool = False) -> list[str]:
        """Return the transfers of a rank's blocks, from the first one."""
        first = {"shared": rank * self.written, "strided": rank * self.block}.get(self.access, 0)
        blocks = self.written // self.block * (self.ranks if self.access == "serial" else 1)
        start = [f"lseek {_HANDLE} {first}"] if first or again else []
        move = f"{call} {_HANDLE} {self.block}"
        if self.access != "strided" or self.ranks == 1:
            return start + [move] * blocks
        skip = f"lseek {_HANDLE} {(self.ranks - 1) * self.block} cur"
        return start + ([move, skip] * blocks)[:-1]
