"""The one-sided communication of a random MPI program."""

from __future__ import annotations

from tests.unit.record.random_programs.ranks import REDUCED, TYPES, Group, Rank, Ranks

#: Bytes of each rank's part of a window: enough for all accesses.
BYTES = 1 << 16


class OneSided(Ranks):
    """Writes windows, each with some epochs of one kind, and frees them."""

    def one_sided(self) -> None:
        group = self.choose_group(least=2)  # Open MPI 4.1 makes none of one rank alone
        made = self.rng.choice(["create", "allocate"])
        memory = {"create": f"in, {BYTES}", "allocate": f"{BYTES}"}[made]
        pointer = {"create": "", "allocate": "&part, "}[made]
        self._all(
            group,
            f"MPI_Win_{made}({memory}, 1, MPI_INFO_NULL, {group.comm}, {pointer}&window);",
            f"win_{made} 0 {BYTES}",
        )
        epoch = self.rng.choice([self._fences, self._posts, self._locks, self._locks_of_all])
        epoch(group)
        self._all(group, "MPI_Win_free(&window);", "win_free 0")

    def _all(self, group: Group, statement: str, line: str) -> None:
        for rank in group.ranks:
            self.write(rank, statement, line + group.suffix)

    def _fences(self, group: Group) -> None:
        self._all(group, "MPI_Win_fence(MPI_MODE_NOPRECEDE, window);", "win_fence 0 noprecede")
        for rank in group.ranks:
            for _ in range(self.rng.randrange(3)):
                self._access(rank, group, self.rng.randrange(len(group.ranks)))
        self._all(group, "MPI_Win_fence(MPI_MODE_NOSUCCEED, window);", "win_fence 0 nosucceed")

    def _posts(self, group: Group) -> None:
        """Each rank accesses the next one."""
        size = len(group.ranks)
        for place, rank in enumerate(group.ranks):
            right, left = (place + 1) % size, (place - 1) % size
            for name, other in (("post", left), ("start", right)):
                call = f"{{ MPI_Group g = member({group.comm}, {other}); "
                call += f"MPI_Win_{name}(g, 0, window); MPI_Group_free(&g); }}"
                self.write(rank, call, f"win_{name} 0 {other}{group.suffix}")
            self._access(rank, group, right)
            self.write(rank, "MPI_Win_complete(window);", f"win_complete 0{group.suffix}")
            self.write(rank, "MPI_Win_wait(window);", f"win_wait 0{group.suffix}")

    def _locks(self, group: Group) -> None:
        for rank in group.ranks:
            target = self.rng.randrange(len(group.ranks))
            kind = self.rng.choice(["exclusive", "shared"])
            call = f"MPI_Win_lock(MPI_LOCK_{kind.upper()}, {target}, 0, window);"
            self.write(rank, call, f"win_lock 0 {target} {kind}{group.suffix}")
            self._passive(rank, group, target)
            call = f"MPI_Win_unlock({target}, window);"
            self.write(rank, call, f"win_unlock 0 {target}{group.suffix}")

    def _locks_of_all(self, group: Group) -> None:
        for rank in group.ranks:
            self.write(rank, "MPI_Win_lock_all(0, window);", f"win_lock_all 0{group.suffix}")
            self._passive(rank, group, self.rng.randrange(len(group.ranks)))
            self.write(rank, "MPI_Win_unlock_all(window);", f"win_unlock_all 0{group.suffix}")

    def _passive(self, rank: int, group: Group, target: int) -> None:
        """Accesses with and without a request, and flushes."""
        me = self.ranks[rank]
        for _ in range(self.rng.randrange(4)):
            what = self.rng.choice(["access", "request", "flush"])
            if what == "access":
                self._access(rank, group, target)
            elif what == "request":
                self._access_with_request(me, group, target)
            else:
                name = self.rng.choice(["flush", "flush_local"])
                call = f"MPI_Win_{name}({target}, window);"
                self.write(rank, call, f"win_{name} 0 {target}{group.suffix}")

    def _access(self, rank: int, group: Group, target: int) -> None:
        name = self.rng.choice(["Put", "Get", "Accumulate", "Get_accumulate", "Fetch_and_op"])
        kind = self.rng.choice(REDUCED if name not in ("Put", "Get") else list(TYPES))
        count, bytes_ = self.choose_count(kind)
        origin = "fetched" if name == "Get" else "out"
        at_target = f"{target}, 0, {count}, {kind}"
        statement = {
            "Accumulate": f"{origin}, {count}, {kind}, {at_target}, MPI_SUM, window",
            "Get_accumulate": f"out, {count}, {kind}, fetched, {count}, {kind}, {at_target}, "
            "MPI_SUM, window",
            "Fetch_and_op": f"out, fetched, {kind}, {target}, 0, MPI_SUM, window",
        }.get(name, f"{origin}, {count}, {kind}, {at_target}, window")
        if name == "Fetch_and_op":
            bytes_ = TYPES[kind][0]
        line = f"{name.lower()} 0 {target} {bytes_}"
        self.write(rank, f"MPI_{name}({statement});", line + group.suffix)

    def _access_with_request(self, me: Rank, group: Group, target: int) -> None:
        name = self.rng.choice(["Rput", "Rget"])
        kind = self.rng.choice(list(TYPES))
        count, bytes_ = self.choose_count(kind)
        variable, number = me.make_request()
        place = f"&request[{variable}]"
        me.statements.append(
            f"MPI_{name}({'fetched' if name == 'Rget' else 'out'}, {count}, {kind}, {target}, 0, "
            f"{count}, {kind}, window, {place}); MPI_Wait({place}, MPI_STATUS_IGNORE);"
        )
        me.lines += [
            f"{name.lower()} 0 {target} {bytes_}{group.suffix} request={number}",
            f"wait request={number}",
        ]
        me.complete(variable, number)
