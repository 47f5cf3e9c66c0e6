"""The ranks of a random MPI program, and their messages."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field

# Sizes in bytes of C types, and their type in collectives in the trace (None: counted in bytes).
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
    """A communicator: its index in the program's array, its number in the trace, its ranks."""

    place: int
    number: int
    ranks: tuple[int, ...]

    @property
    def comm(self) -> str:
        return f"comm[{self.place}]"

    @property
    def suffix(self) -> str:
        """Suffix of the trace's lines."""
        return f" comm={self.number}" if self.number else ""


@dataclass
class Rank:
    """Statements, trace lines and requests of a rank."""

    statements: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    pending: list[tuple[int, int]] = field(default_factory=list)  # variable, number in the trace
    free_variables: list[int] = field(default_factory=lambda: list(range(256)))
    free_numbers: list[int] = field(default_factory=lambda: list(range(256)))
    communicators: set[int] = field(default_factory=lambda: {0})  # their numbers in the trace

    def make_request(self) -> tuple[int, int]:
        made = heapq.heappop(self.free_variables), heapq.heappop(self.free_numbers)
        return made

    def complete(self, variable: int, number: int) -> None:
        heapq.heappush(self.free_variables, variable)
        heapq.heappush(self.free_numbers, number)


class Ranks:
    """The ranks of a program under construction."""

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
        """Wait for one request, or for all pending ones between two indices of the array."""
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
        """Write a call that may be non-blocking."""
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
        """Free the request that a non-blocking call has just created, at random."""
        if name[0] == "I" and self.rng.random() < 0.15:
            self.free(me, *me.pending.pop())

    @staticmethod
    def free(me: Rank, variable: int, number: int) -> None:
        me.statements.append(f"MPI_Request_free(&request[{variable}]);")
        me.lines.append(f"request_free request={number}")
        me.complete(variable, number)


def in_trace(kind: str) -> tuple[int, int]:
    """Return the size of an element in the trace's type, and that type."""
    size, identity = TYPES[kind]
    return (1, identity) if identity is not None else (size, 6)


class Messages(Ranks):
    """Writes messages between two ranks."""

    def message(self) -> None:
        group = self.choose_group(least=2)
        sender, receiver = self.rng.sample(range(len(group.ranks)), 2)
        kind = self.rng.choice(list(TYPES))
        count, size = self.choose_count(kind)
        tag = self.rng.randrange(5)
        on = group.suffix
        mode = self.rng.choice(["Send", "Ssend", "Bsend", "Isend", "Issend", "Ibsend"])
        arguments = f"out, {count}, {kind}, {receiver}, {tag}, {group.comm}"
        line = f"{mode.lower()} {receiver} {tag} {size}{on}"
        self.post(self.ranks[group.ranks[sender]], mode, arguments, line)

        me = self.ranks[group.ranks[receiver]]
        how = self.rng.choice(["Recv", "Irecv", "Irecv", "any", "probe", "matched"])
        if how == "any":
            # No other rank may send a message with this tag to the receiver.
            tag = self._renamed_tag(self.ranks[group.ranks[sender]], tag, arguments, line)
        self.free_sometimes(self.ranks[group.ranks[sender]], mode)
        place = f"{sender}, {tag}, {group.comm}"
        arguments = f"in, {count}, {kind}, {place}"
        line = f"{sender} {tag}"
        if how == "any":
            me.statements.append(
                f"MPI_Recv(in, {count}, {kind}, MPI_ANY_SOURCE, {tag}, {group.comm}, "
                "MPI_STATUS_IGNORE);"
            )
            me.lines.append(f"recv -555 {tag} {size}{on} # source={sender}")
        elif how == "matched":
            me.statements.append(
                f"{{ MPI_Message m; MPI_Mprobe({place}, &m, MPI_STATUS_IGNORE); "
                f"MPI_Mrecv(in, {count}, {kind}, &m, MPI_STATUS_IGNORE); }}"
            )
            me.lines += [f"probe {line}{on}", f"recv {line} {size}{on}"]
        elif how == "Irecv":
            self.post(me, "Irecv", arguments, f"irecv {line} {size}{on}")
            self.free_sometimes(me, "Irecv")
        else:
            if how == "probe":
                me.statements.append(f"MPI_Probe({place}, MPI_STATUS_IGNORE);")
                me.lines.append(f"probe {line}{on}")
            me.statements.append(f"MPI_Recv({arguments}, MPI_STATUS_IGNORE);")
            me.lines.append(f"recv {line} {size}{on}")

    def _renamed_tag(self, sender: Rank, tag: int, arguments: str, line: str) -> int:
        """Give the message that a rank has just sent a unique tag."""
        self.unique_tag += 1
        new = self.unique_tag
        changed = arguments.replace(f", {tag}, comm", f", {new}, comm")
        sender.statements[-1] = sender.statements[-1].replace(arguments, changed)
        words = line.split(" ")
        words[2] = str(new)
        sender.lines[-1] = sender.lines[-1].replace(line, " ".join(words))
        return new

    def null_message(self) -> None:
        me = self.rng.choice(self.ranks)
        tag = self.rng.randrange(5)
        me.statements.append(f"MPI_Send(out, 3, triple, MPI_PROC_NULL, {tag}, MPI_COMM_WORLD);")
        me.lines.append(f"send -666 {tag} 36")

    def exchange(self) -> None:
        """Let each rank of a group send to the next one and receive from the previous one."""
        group = self.choose_group(least=1)
        tag = self.rng.randrange(5)
        kind = self.rng.choice(list(TYPES))
        count, size = self.choose_count(kind)
        replace = self.rng.random() < 0.5
        for place, rank in enumerate(group.ranks):
            after, before = (place + 1) % len(group.ranks), (place - 1) % len(group.ranks)
            me = self.ranks[rank]
            if replace:
                me.statements.append(
                    f"MPI_Sendrecv_replace(in, {count}, {kind}, {after}, {tag}, {before}, {tag}, "
                    f"{group.comm}, MPI_STATUS_IGNORE);"
                )
            else:
                me.statements.append(
                    f"MPI_Sendrecv(out, {count}, {kind}, {after}, {tag}, in, {count}, {kind}, "
                    f"{before}, {tag}, {group.comm}, MPI_STATUS_IGNORE);"
                )
            first, second = heapq.nsmallest(2, me.free_numbers)
            on = group.suffix
            me.lines += [
                f"isend {after} {tag} {size}{on} request={first}",
                f"irecv {before} {tag} {size}{on} request={second}",
                f"waitall requests={first},{second}",
            ]

    def persistent(self) -> None:
        """Write a pair of persistent requests that are started a few times and freed."""
        group = self.choose_group(least=2)
        sender, receiver = self.rng.sample(range(len(group.ranks)), 2)
        self.unique_tag += 1
        mode = self.rng.choice(["Send", "Ssend", "Bsend"])
        turns = self.rng.randrange(1, 4)
        on = group.suffix
        for place, peer, name in ((sender, receiver, mode), (receiver, sender, "Recv")):
            me = self.ranks[group.ranks[place]]
            variable, made = me.make_request()
            buffer = "in" if name == "Recv" else "out"
            me.statements.append(
                f"MPI_{name}_init({buffer}, 5, MPI_INT, {peer}, {self.unique_tag}, "
                f"{group.comm}, &request[{variable}]);"
            )
            me.lines.append(f"{name.lower()}_init {peer} {self.unique_tag} 20{on} request={made}")
            for _ in range(turns):
                me.statements.append(
                    f"MPI_Start(&request[{variable}]); "
                    f"MPI_Wait(&request[{variable}], MPI_STATUS_IGNORE);"
                )
                me.lines += [f"start request={made}", f"wait request={made}"]
            self.free(me, variable, made)

    def cancelled(self) -> None:
        """Write a receive without a matching send, which is cancelled, then waited for or freed."""
        group = self.choose_group(least=1)
        place = self.rng.randrange(len(group.ranks))
        me = self.ranks[group.ranks[place]]
        peer = self.rng.randrange(len(group.ranks))
        self.unique_tag += 1
        tag = self.unique_tag
        named, source = (("MPI_ANY_SOURCE", -555), (str(peer), peer))[self.rng.randrange(2)]
        variable, number = me.make_request()
        persistent = self.rng.random() < 0.3
        name, action = ("Recv_init", "recv_init") if persistent else ("Irecv", "irecv")
        me.statements.append(
            f"MPI_{name}(in, 1, MPI_INT, {named}, {tag}, {group.comm}, &request[{variable}]);"
        )
        me.lines.append(f"{action} {source} {tag} 4{group.suffix} request={number}")
        if persistent:
            me.statements.append(f"MPI_Start(&request[{variable}]);")
            me.lines.append(f"start request={number}")
        me.statements.append(f"MPI_Cancel(&request[{variable}]);")
        me.lines.append(f"cancel request={number}")
        if persistent or self.rng.random() < 0.3:
            self.free(me, variable, number)
        else:
            me.pending.append((variable, number))
