"""Random programs of one-sided communication, as far as SimGrid's implementation is correct.

Each window uses one style, because SimGrid 3.32 treats an access after a fence as one without an
epoch if the window was also posted. Its locks are either exclusive or shared, because an exclusive
lock does not wait for shared ones (docs/reference/one_sided.md). SimGrid's MPI_Rget_accumulate
returns no request.
"""

from __future__ import annotations

from tests.oracle.programs.call_programs import CallAuthor
from tests.oracle.programs.program import Peer, Word

STYLES = ("fence", "groups", "exclusive", "shared")
ACCESSES = ("put", "get", "accumulate", "get_accumulate", "fetch_and_op", "compare_and_swap")
WITH_REQUEST = ("rput", "rget", "raccumulate")
MAKERS = ("win_create", "win_allocate", "win_allocate_shared")


class WindowAuthor(CallAuthor):
    """An author of rounds, each on one window: an epoch of all ranks, with accesses in it."""

    numbers: list[int]

    def compose(self, steps: int) -> str:
        self.numbers = [0] * self.ranks
        windows = list(enumerate(self.rng.choices(STYLES, k=self.rng.randint(1, 4))))
        for window, style in windows:
            maker = self.rng.choice(MAKERS)
            self.all_ranks(maker, window, 1000)
            if style == "fence":
                self.all_ranks("win_fence", window, *self.assertion("noprecede"))
        for _ in range(max(1, steps // 8)):
            window, style = self.rng.choice(windows)
            if self.rng.random() < 0.7:
                self.compute()
            getattr(self, f"in_{style}")(window)
        for window, style in windows:
            if style == "fence":
                self.all_ranks("win_fence", window, "nosucceed")
            self.all_ranks("win_free", window)
        return " ".join(style for _, style in windows)

    def all_ranks(self, *words: Word) -> None:
        self.new_event()
        for rank in range(self.ranks):
            self.write(rank, *words)

    def assertion(self, word: str) -> tuple[str, ...]:
        return (word,) if self.rng.random() < 0.5 else ()

    # -- epochs --------------------------------------------------------------------------

    def in_fence(self, window: int) -> None:
        for rank in self.rng.sample(range(self.ranks), self.rng.randint(1, self.ranks)):
            self.accesses(rank, window, list(range(self.ranks)))
        self.all_ranks("win_fence", window)

    def in_groups(self, window: int) -> None:
        self.new_event()
        chosen = {
            rank: sorted(self.rng.sample(range(self.ranks), self.rng.randint(1, self.ranks)))
            for rank in self.rng.sample(range(self.ranks), self.rng.randint(1, self.ranks))
        }
        origins = {
            rank: [origin for origin, targets in chosen.items() if rank in targets]
            for rank in range(self.ranks)
        }
        for rank, group in origins.items():
            if group:
                self.write(rank, "win_post", window, *map(Peer, group))
        for rank, targets in chosen.items():
            self.write(rank, "win_start", window, *map(Peer, targets))
            self.accesses(rank, window, targets)
            self.write(rank, "win_complete", window)
        for rank, group in origins.items():
            if group:
                self.write(rank, "win_wait", window)

    def in_exclusive(self, window: int) -> None:
        self.in_locks(window, "exclusive")

    def in_shared(self, window: int) -> None:
        if self.rng.random() < 0.5:
            self.in_locks(window, "shared")
            return
        self.new_event()
        for rank in self.rng.sample(range(self.ranks), self.rng.randint(1, self.ranks)):
            self.pause(self.event, rank)
            self.write(rank, "win_lock_all", window)
            self.accesses(rank, window, list(range(self.ranks)), flushes=True)
            self.write(rank, "win_unlock_all", window)

    def in_locks(self, window: int, kind: str) -> None:
        for _ in range(self.rng.randint(1, 2 * self.ranks)):
            self.new_event()
            rank, target = self.any_rank(), self.any_rank()
            self.pause(self.event, rank)
            self.write(rank, "win_lock", window, Peer(target), kind)
            self.accesses(rank, window, [target], flushes=True)
            self.write(rank, "win_unlock", window, Peer(target))

    # -- accesses ------------------------------------------------------------------------

    def accesses(
        self, rank: int, window: int, targets: list[int], *, flushes: bool = False
    ) -> None:
        pending: list[int] = []
        for _ in range(self.rng.choice([0, 1, 1, 2, 3, 6])):
            self.pause(self.event, rank)
            target = self.rng.choice(targets)
            count, type_words = self.sizes.draw(self.default_width)
            chance = self.rng.random()
            if chance < 0.2:
                number = self.numbers[rank]
                self.numbers[rank] += 1
                action = self.rng.choice(WITH_REQUEST)
                words = (action, window, Peer(target), count, *type_words, f"request={number}")
                self.write(rank, *words)
                pending.append(number)
                continue
            if flushes and chance < 0.35:
                local = self.rng.choice(["", "_local"])
                if len(targets) > 1 and self.rng.random() < 0.5:
                    self.write(rank, f"win_flush{local}_all", window)
                else:
                    self.write(rank, f"win_flush{local}", window, Peer(target))
                continue
            action = self.rng.choice(ACCESSES)
            if action in ("fetch_and_op", "compare_and_swap"):
                count = 1
            self.write(rank, action, window, Peer(target), count, *type_words)
        for number in pending:
            self.write(rank, "wait", f"request={number}")
