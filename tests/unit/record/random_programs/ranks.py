"""The ranks of a random MPI program: their communicators, and the requests that are pending."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field

# Types of C by name: bytes, and the type of collectives in the trace (None: counted in bytes).
TYPES = {
    "MPI_BYTE": (1, 6),
    "MPI_SHORT": (2, 3),
    "MPI_INT": (4, 1),
    "MPI_FLOAT": (4, 1),
    "MPI_DOUBLE": (8, 0),
    "MPI_LONG": (8, 0),
    "triple": (12, None),
}
REDUCED = ("MPI_SHORT", "MPI_INT", "MPI_FLOAT", "MPI_DOUBLE", "MPI_LONG")
MOST_PENDING = 40


@dataclass(frozen=True)
class Group:
    """A communicator: its place in the program's array, its number in the trace, its ranks."""

    place: int
    number: int
    ranks: tuple[int, ...]

    @property
    def comm(self) -> str:
        return f"comm[{self.place}]"

    @property
    def suffix(self) -> str:
        """What a line of the trace ends with."""
        return f" comm={self.number}" if self.number else ""


@dataclass
class Rank:
    """What a rank of the program has: its statements, its lines, its requests."""

    statements: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    pending: list[tuple[int, int]] = field(default_factory=list)  # variable, number in the trace
    free_variables: list[int] = field(default_factory=lambda: list(range(256)))
    free_numbers: list[int] = field(default_factory=lambda: list(range(256)))
    communicators: set[int] = field(default_factory=lambda: {0})  # their numbers

    def make_request(self) -> tuple[int, int]:
        made = heapq.heappop(self.free_variables), heapq.heappop(self.free_numbers)
        return made

    def complete(self, variable: int, number: int) -> None:
        heapq.heappush(self.free_variables, variable)
        heapq.heappush(self.free_numbers, number)


class Ranks:
    """The ranks of a program that is being written."""

    def __init__(self, seed: int, ranks: int) -> None:
        self.rng = random.Random(seed)
        self.ranks = [Rank() for _ in range(ranks)]
        self.groups = [Group(0, 0, tuple(range(ranks)))]
        self.unique_tag = 100

    def choose_group(self, least: int) -> Group:
        return self.rng.choice([group for group in self.groups if len(group.ranks) >= least])

    def choose_count(self, kind: str) -> tuple[int, int]:
        count = self.rng.choice([0, 1, 2, 7, 100, 1000])
        return count, count * TYPES[kind][0]

    def write(self, rank: int, statement: str, line: str) -> None:
        self.ranks[rank].statements.append(statement)
        self.ranks[rank].lines.append(line)

    def wait(self) -> None:
        busy = [rank for rank in self.ranks if rank.pending]
        if busy:
            self.wait_for(self.rng.choice(busy))

    def wait_for(self, me: Rank) -> None:
        """Wait for one request, or for all pending ones between two places of the array."""
        how = self.rng.choice(["Wait", "Test", "Waitall", "Testall", "Waitany", "Waitsome"])
        single = how not in ("Waitall", "Testall")
        first, last = sorted(self.rng.choice(me.pending)[0] for _ in range(2))
        chosen = sorted(item for item in me.pending if first <= item[0] <= last)
        if single:
            chosen = [self.rng.choice(chosen)]
            first = last = chosen[0][0]
        for item in chosen:
            me.pending.remove(item)
        array = f"{last - first + 1}, &request[{first}]"
        numbers = ",".join(str(number) for _, number in chosen)
        done = f"{how.lower().replace('test', 'wait')} requests={numbers}"
        if how in ("Waitany", "Waitsome"):
            done += f" completed={numbers}"
        if how in ("Wait", "Test"):
            done = f"wait request={numbers}"
        me.statements.append(
            {
                "Wait": f"MPI_Wait(&request[{first}], MPI_STATUS_IGNORE);",
                "Test": f"for (int f = 0; !f;) MPI_Test(&request[{first}], &f, MPI_STATUS_IGNORE);",
                "Waitall": f"MPI_Waitall({array}, MPI_STATUSES_IGNORE);",
                "Testall": f"for (int f = 0; !f;) MPI_Testall({array}, &f, MPI_STATUSES_IGNORE);",
                "Waitany": f"{{ int i; MPI_Waitany({array}, &i, MPI_STATUS_IGNORE); }}",
                "Waitsome": f"{{ int n, i; MPI_Waitsome({array}, &n, &i, MPI_STATUSES_IGNORE); }}",
            }[how]
        )
        me.lines.append(done)
        for item in chosen:
            me.complete(*item)

    def post(self, me: Rank, name: str, arguments: str, line: str) -> None:
        """A call that may be non-blocking."""
        if name[0] != "I":
            me.statements.append(f"MPI_{name}({arguments});")
            me.lines.append(line)
            return
        while len(me.pending) >= MOST_PENDING:
            self.wait_for(me)
        variable, number = me.make_request()
        me.statements.append(f"MPI_{name}({arguments}, &request[{variable}]);")
        me.lines.append(f"{line} request={number}")
        me.pending.append((variable, number))

    def free_sometimes(self, me: Rank, name: str) -> None:
        """Free the request that a call, if it does not block, has made last."""
        if name[0] == "I" and self.rng.random() < 0.15:
            self.free(me, *me.pending.pop())

    @staticmethod
    def free(me: Rank, variable: int, number: int) -> None:
        me.statements.append(f"MPI_Request_free(&request[{variable}]);")
        me.lines.append(f"request_free request={number}")
        me.complete(variable, number)


def in_trace(kind: str) -> tuple[int, int]:
    """What an element is in the trace's type, and that type."""
    size, identity = TYPES[kind]
    return (1, identity) if identity is not None else (size, 6)
