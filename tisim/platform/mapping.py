"""Mapping of ranks to hosts: block, cyclic, random, or given by a file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.platform.deployment import Deployment

if TYPE_CHECKING:
    from tisim.platform import Platform

_RULE = re.compile(r"(block|cyclic|random)(?::(\d+))?")
_STREAM = 2


@dataclass(frozen=True)
class Mapping:
    """A rule that assigns each rank its host."""

    # ``"block"``: consecutive ranks on one host, as many as it has cores, or `number`;
    # ``"cyclic"``: one rank per host, round-robin, over the first `number` hosts;
    # ``"random"``: cyclic over the hosts in an order drawn from the seed `number`, or from the
    # scenario's seed; ``"given"``: the placement in `deployment`.
    rule: str
    number: int | None = None  # see `rule`; None if not given
    # The placement, for ``"given"``; otherwise the source of the hosts (None: all hosts of the
    # platform in their order).
    deployment: Deployment | None = None

    @classmethod
    def parse(cls, value: object, base: Deployment | None) -> Mapping:
        """Parse a user's value of a mapping.

        `value` is a rule (``"block"``, ``"block:4"``, ``"cyclic:16"``, ``"random"``,
        ``"random:7"`` with a seed), whose hosts are those of `base`, or the name of a
        host file or of a deployment (``.xml``), a `Deployment` or a list of hosts. Raises
        `InputError` if it is none of these.
        """
        if isinstance(value, Deployment):
            return cls("given", deployment=value)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return cls("given", deployment=Deployment.of_hosts(value))
        assert isinstance(value, str | os.PathLike)
        match = _RULE.fullmatch(str(value))
        if match is not None:
            number = None if match[2] is None else int(match[2])
            if number == 0 and match[1] != "random":
                raise InputError(
                    f"mapping {value!r}: the numbers of ranks and hosts must be at least 1"
                )
            return cls(match[1], number, base)
        return cls("given", deployment=load_deployment(value))

    @property
    def is_random(self) -> bool:
        """True if the scenario's seed determines the mapping."""
        return self.rule == "random" and self.number is None

    @property
    def content(self) -> list[object]:
        """The mapping's parts, for the key of a scenario."""
        places = self.deployment or ()
        hosts = [[place.host, place.start_time, place.kill_time] for place in places]
        return [self.rule, self.number, hosts]

    @property
    def text(self) -> str:
        """The rule as the user writes it."""
        return self.rule if self.number is None else f"{self.rule}:{self.number}"

    def place(self, platform: Platform, ranks: int, seed: Sequence[int]) -> Deployment:
        """Return the placement of that many ranks on a platform.

        Raises `InputError` if a given deployment has fewer ranks, or the platform lacks a host.
        """
        if self.rule == "given" and self.deployment is not None:
            return self.deployment.for_ranks(ranks)
        if self.rule == "block":
            places = self._blocks(platform, ranks)
        elif self.rule == "random":
            hosts = self._hosts(platform, None)
            places = [hosts[index] for index in self._order(len(hosts), seed)]
        else:
            most = ranks if self.number is None else min(ranks, self.number)
            places = self._hosts(platform, most)
        return Deployment.cyclic(places, ranks, rule=self.text)

    def _hosts(self, platform: Platform, most: int | None) -> list[str]:
        """Return the candidate hosts, at most `most`."""
        if self.deployment is not None:
            return list(dict.fromkeys(self.deployment.hosts))[:most]
        return [host.name for host in platform.hosts[:most]]

    def _blocks(self, platform: Platform, ranks: int) -> list[str]:
        """Return one host per rank in blocks, until there are enough or each host has its block."""
        places: list[str] = []
        for host in self._hosts(platform, ranks):
            if len(places) >= ranks:
                break
            places += [host] * min(self.number or platform.host(host).cores, ranks)
        return places

    def _order(self, count: int, seed: Sequence[int]) -> list[int]:
        import numpy as np

        entropy = list(seed) if self.number is None else [self.number]
        random = np.random.default_rng([*entropy, _STREAM])
        order: list[int] = random.permutation(count).tolist()
        return order


def is_rule(value: object) -> bool:
    """Return True if a mapping's value is a rule rather than a file name."""
    return isinstance(value, str) and _RULE.fullmatch(value) is not None


def load_deployment(path: str | os.PathLike[str]) -> Deployment:
    """Read a deployment (``.xml``) or a host file.

    Raises `InputError` if there is no such file, or it is neither.
    """
    if not Path(path).exists():
        raise InputError(
            f"the mapping {os.fspath(path)!r} is neither block, cyclic, random nor a file (a host "
            "file, or a deployment that ends in .xml)"
        )
    if Path(path).suffix.lower() == ".xml":
        return Deployment.load(path)
    return Deployment.from_hostfile(path)
