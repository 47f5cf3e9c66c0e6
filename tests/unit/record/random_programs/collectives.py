"""The collectives and intercommunicators of a random MPI program."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from tests.unit.record.random_programs.messages import REDUCED, TYPES, Rank, Ranks, in_trace


class Collectives(Ranks):
    """Writes blocking and non-blocking collectives."""

    blocking = True  # whether the current collective blocks

    def collective(self) -> None:
        group = self.choose_group(least=1)
        self.blocking = self.rng.random() < 0.5
        name = self.rng.choice(
            [
                *("Barrier", "Bcast", "Reduce", "Allreduce", "Scan", "Exscan"),
                *("Reduce_scatter_block", "Allgather", "Alltoall", "Gather", "Scatter"),
            ]
        )
        reduces = name in ("Reduce", "Allreduce", "Scan", "Exscan", "Reduce_scatter_block")
        kind = self.rng.choice(REDUCED if reduces else list(TYPES))
        count, _ = self.choose_count(kind)
        unit, identity = in_trace(kind)
        total = count * unit
        root = self.rng.randrange(len(group.ranks))
        in_place = self.rng.random() < 0.3
        comm = group.comm
        for place, rank in enumerate(group.ranks):
            out = "MPI_IN_PLACE" if in_place else "out"
            at_root = "MPI_IN_PLACE" if in_place and place == root else "out"
            to_root = "MPI_IN_PLACE" if in_place and place == root else "in"
            calls = {
                "Barrier": (comm, "barrier"),
                "Bcast": (
                    f"in, {count}, {kind}, {root}, {comm}",
                    f"bcast {total} {root} {identity}",
                ),
                "Reduce": (
                    f"{at_root}, in, {count}, {kind}, MPI_SUM, {root}, {comm}",
                    f"reduce {total} 0 {root} {identity}",
                ),
                "Reduce_scatter_block": (
                    f"{out}, in, {count}, {kind}, MPI_SUM, {comm}",
                    f"reducescatter {' '.join([str(total)] * len(group.ranks))} 0 {identity}",
                ),
                "Gather": (
                    f"{at_root}, {count}, {kind}, in, {count}, {kind}, {root}, {comm}",
                    f"gather {total} {total} {root} {identity} {identity}",
                ),
                "Scatter": (
                    f"out, {count}, {kind}, {to_root}, {count}, {kind}, {root}, {comm}",
                    f"scatter {total} {total} {root} {identity} {identity}",
                ),
            }
            if name in calls:
                arguments, line = calls[name]
            elif name in ("Allgather", "Alltoall"):
                arguments = f"{out}, {count}, {kind}, in, {count}, {kind}, {comm}"
                line = f"{name.lower()} {total} {total} {identity} {identity}"
            else:
                arguments = f"{out}, in, {count}, {kind}, MPI_MAX, {comm}"
                line = f"{name.lower()} {total} 0 {identity}"
            self._collective(rank, name, arguments, line + group.suffix)

    def vector_collective(self) -> None:
        group = self.choose_group(least=1)
        self.blocking = self.rng.random() < 0.5
        name = self.rng.choice(["Allgatherv", "Gatherv", "Scatterv", "Alltoallv", "Alltoallw"])
        kind = self.rng.choice(list(TYPES))
        unit, identity = in_trace(kind)
        size = TYPES[kind][0]
        n = len(group.ranks)
        root = self.rng.randrange(n)
        comm = group.comm
        # Counts from each rank to each other rank; only alltoall uses more than the first row.
        table = [[self.rng.randrange(20) for _ in group.ranks] for _ in group.ranks]
        zeros = ["0"] * n

        def array(values: list[int], kind: str = "count_type") -> str:
            return f"(const {kind}[]){{{', '.join(map(str, values))}}}"

        def text(values: list[int], factor: int) -> str:
            return " ".join(str(value * factor) for value in values)

        none = array([0] * n, "displacement_type")
        for place, rank in enumerate(group.ranks):
            mine = table[0][place]
            row, column = table[place], [table[other][place] for other in range(n)]
            if name in ("Gatherv", "Allgatherv"):
                received = (
                    text(table[0], unit)
                    if name == "Allgatherv" or place == root
                    else " ".join(zeros)
                )
                to = f"{root}, {comm}" if name == "Gatherv" else comm
                arguments = f"out, {mine}, {kind}, in, {array(table[0])}, {none}, {kind}, {to}"
                where = f" {root}" if name == "Gatherv" else ""
                line = f"{name.lower()} {mine * unit} {received}{where} {identity} {identity}"
            elif name == "Scatterv":
                sent = text(table[0], unit) if place == root else " ".join(zeros)
                arguments = (
                    f"out, {array(table[0])}, {none}, {kind}, in, {mine}, {kind}, {root}, {comm}"
                )
                line = f"scatterv {sent} {mine * unit} {root} {identity} {identity}"
            else:
                factor, shown = (unit, identity) if name == "Alltoallv" else (size, 6)
                types = kind
                if name == "Alltoallw":
                    # Open MPI 4.1 reads a type for each neighbour of a Cartesian communicator.
                    types = f"(const MPI_Datatype[]){{{', '.join([kind] * max(n, 2))}}}"
                arguments = (
                    f"out, {array(row)}, {none}, {types}, in, {array(column)}, {none}, {types}, "
                    f"{comm}"
                )
                line = (
                    f"alltoallv {sum(row) * factor} {text(row, factor)} {sum(column) * factor} "
                    f"{text(column, factor)} {shown} {shown}"
                )
            self._collective(rank, name, arguments, line + group.suffix)

    def _collective(self, rank: int, name: str, arguments: str, line: str) -> None:
        if self.blocking:
            self.post(self.ranks[rank], name, arguments, line)
        else:
            self.post(self.ranks[rank], f"I{name[0].lower()}{name[1:]}", arguments, f"i{line}")


TAG = 2147483000


@dataclass(frozen=True)
class Side:
    """One of the two groups: its ranks, its first rank in the joint communicator, and its number in
    the trace after the first blocking collective (0: none called yet, or it has a single rank)."""

    ranks: list[int]
    first: int
    own: int = 0


class BetweenGroups(Ranks):
    """Splits a communicator into two halves, writes their communication, and frees them."""

    def between_groups(self) -> None:
        parent = self.choose_group(least=2)
        half = self._lowest([*parent.ranks])
        for place, rank in enumerate(parent.ranks):
            self.write(
                rank,
                f"halve({parent.comm}, {place});",
                f"comm_split {parent.number} {half} {place % 2} {place}",
            )
            self.ranks[rank].communicators.add(half)
        halves = sorted(([*parent.ranks[::2]], [*parent.ranks[1::2]]), key=lambda side: side[0])
        sides = [Side(halves[0], 0), Side(halves[1], len(halves[0]))]
        both = self._lowest([*parent.ranks])
        for rank in parent.ranks:
            listed = " ".join(str(one) for side in sides for one in side.ranks)
            self.ranks[rank].lines.append(f"comm_group {both} {listed}")
            self.ranks[rank].communicators.add(both)
        blocking = False
        for _ in range(self.rng.randrange(1, 5)):
            call = self.rng.choice([self._post, self._post, self._message, self._block])
            if call == self._block and not blocking:
                blocking = True
                sides = [self._with_group(side) for side in sides]
            call(sides, f" comm={both}")
        for side in sides:
            for rank in side.ranks:
                me = self.ranks[rank]
                me.statements.append("MPI_Comm_free(&between); MPI_Comm_free(&halved);")
                freed = [both, *([side.own] if side.own else []), half]
                me.lines += [f"comm_free {number}" for number in freed]
                me.communicators -= {*freed}

    def _lowest(self, ranks: list[int]) -> int:
        return min(set(range(64)).difference(*(self.ranks[rank].communicators for rank in ranks)))

    def _with_group(self, side: Side) -> Side:
        if len(side.ranks) == 1:
            return side
        number = self._lowest(side.ranks)
        for rank in side.ranks:
            self.ranks[rank].communicators.add(number)
            listed = " ".join(map(str, side.ranks))
            self.ranks[rank].lines.append(f"comm_group {number} {listed}")
        return Side(side.ranks, side.first, number)

    def _message(self, sides: list[Side], on: str) -> None:
        sender, receiver = self.rng.sample(sides, 2)
        source = self.rng.randrange(len(sender.ranks))
        target = self.rng.randrange(len(receiver.ranks))
        size = self.rng.choice([0, 4, 1000])
        for rank, call, line in (
            (
                sender.ranks[source],
                f"MPI_Send(out, {size}, MPI_BYTE, {target}, 3, between);",
                f"send {receiver.first + target} 3 {size}{on}",
            ),
            (
                receiver.ranks[target],
                f"MPI_Recv(in, {size}, MPI_BYTE, {source}, 3, between, MPI_STATUS_IGNORE);",
                f"recv {sender.first + source} 3 {size}{on}",
            ),
        ):
            self.write(rank, call, line)

    def _post(self, sides: list[Side], on: str) -> None:
        """Write a non-blocking collective and the wait for it."""
        name = self.rng.choice(["Ibarrier", "Iallreduce", "Ibcast", "Iallgather", "Igather"])
        size = self.rng.choice([0, 4, 1000])
        root_side = self.rng.choice(sides)
        # MPICH 4.0 aborts in MPI_Ibcast if the root's number is not a rank of the other group.
        root = self.rng.randrange(min(len(side.ranks) for side in sides))
        for side, remote in ((sides[0], sides[1]), (sides[1], sides[0])):
            for place, rank in enumerate(side.ranks):
                is_root = side is root_side and place == root
                to = "MPI_ROOT" if is_root else "MPI_PROC_NULL" if side is root_side else str(root)
                arguments = {
                    "Ibarrier": "",
                    "Iallreduce": f"out, in, {size}, MPI_BYTE, MPI_BOR, ",
                    "Ibcast": f"in, {size}, MPI_BYTE, {to}, ",
                    "Iallgather": f"out, {size}, MPI_BYTE, in, {size}, MPI_BYTE, ",
                    "Igather": f"out, {size}, MPI_BYTE, in, {size}, MPI_BYTE, {to}, ",
                }[name]
                lines = {
                    "Ibarrier": ["ibarrier"],
                    "Iallreduce": [f"iallreduce {size} 0 6"],
                }.get(name, [])
                peers = [*range(remote.first, remote.first + len(remote.ranks))]
                if name in ("Ibcast", "Igather") and not is_root:
                    peers = [] if side is root_side else [root_side.first + root]
                for peer in [] if lines else peers:
                    receives = name == "Iallgather" or (name == "Ibcast") != is_root
                    sends = name == "Iallgather" or not receives
                    lines += [f"irecv {peer} {TAG} {size}"] * receives
                    lines += [f"isend {peer} {TAG} {size}"] * sends
                self._wait_at_once(rank, f"MPI_{name}({arguments}between, ", lines, on)

    def _wait_at_once(self, rank: int, call: str, lines: list[str], on: str) -> None:
        me = self.ranks[rank]
        me.statements.append(f"{{ MPI_Request r; {call}&r); MPI_Wait(&r, MPI_STATUS_IGNORE); }}")
        self._complete(me, lines, on, "wait" if len(lines) == 1 else "waitall")

    def _complete(self, me: Rank, lines: list[str], on: str, wait: str) -> None:
        numbers = [heapq.heappop(me.free_numbers) for _ in lines]
        me.lines += [f"{line}{on} request={n}" for line, n in zip(lines, numbers, strict=True)]
        named = ",".join(map(str, numbers))
        if numbers:
            me.lines.append(f"{wait} request{'s' if wait == 'waitall' else ''}={named}")
        for number in numbers:
            heapq.heappush(me.free_numbers, number)

    def _block(self, sides: list[Side], on: str) -> None:
        """Write a barrier or a broadcast from the first rank of a group."""
        name = self.rng.choice(["Barrier", "Bcast"])
        root_side = self.rng.choice(sides)
        for side, remote in ((sides[0], sides[1]), (sides[1], sides[0])):
            for place, rank in enumerate(side.ranks):
                me = self.ranks[rank]
                own = f" comm={side.own}"
                if name == "Barrier":
                    me.statements.append("MPI_Barrier(between);")
                    me.lines += [f"reduce 4 0 0 6{own}"] * (side.own != 0)
                    if place == 0:
                        exchange = [f"{word} {remote.first} {TAG} 4" for word in ("irecv", "isend")]
                        self._complete(me, exchange, on, "waitall")
                    me.lines += [f"bcast 4 0 6{own}"] * (side.own != 0)
                    continue
                to = "0" if side is not root_side else "MPI_ROOT" if place == 0 else "MPI_PROC_NULL"
                me.statements.append(f"MPI_Bcast(in, 8, MPI_BYTE, {to}, between);")
                if side is root_side:
                    me.lines += [f"send {remote.first} {TAG} 8{on}"] * (place == 0)
                    continue
                me.lines += [f"recv {remote.first} {TAG} 8{on}"] * (place == 0)
                me.lines += [f"bcast 8 0 6{own}"] * (side.own != 0)
