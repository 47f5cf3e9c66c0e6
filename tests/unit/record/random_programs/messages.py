"""The messages of a random MPI program."""

from __future__ import annotations

import heapq

from tests.unit.record.random_programs.ranks import TYPES, Rank, Ranks


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
            # Nobody else may send a message with this tag to the receiver.
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
        """Give the message that a rank has just sent a tag that no other has."""
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
        """Each rank of a group sends to the next one and receives from the one before."""
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
        """A pair of persistent requests, started a few times and freed."""
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
        """A receive that nobody sends to, which is cancelled, then waited for or freed."""
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
