"""Random configurations: factor tables, thresholds, overheads, and the options of the network."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence

from tests.oracle.programs.algorithms import draw_algorithms
from tisim.actions.collectives.catalogue import ALGORITHMS

SELECTORS = ("default", "ompi", "mpich", "mvapich2", "impi")
THRESHOLDS = ("smpi/async-small-thresh", "smpi/send-is-detached-thresh")
TABLES = ("smpi/bw-factor", "smpi/lat-factor", "smpi/os", "smpi/ois", "smpi/or")


def boundaries(rng: random.Random) -> list[int]:
    """Return the start of each segment of a table."""
    first = 0 if rng.random() < 0.8 else rng.randint(1, 2000)
    later = {int(10 ** rng.uniform(1.5, 6)) for _ in range(rng.randint(0, 4))}
    return [first, *sorted(size for size in later if size > first)]


def factors(rng: random.Random, low: float, high: float) -> str:
    return ";".join(f"{size}:{round(rng.uniform(low, high), 6)}" for size in boundaries(rng))


def overheads(rng: random.Random) -> str:
    """Return segments ``size:seconds:seconds per byte``.

    Not multiples of SimGrid's precision of 1e-9 s: the last bit would decide whether events at this
    distance are at the same instant.
    """

    def segment(size: int) -> str:
        base = rng.choice([0, 1e-6, round(rng.uniform(0, 3e-5), 13)])
        slope = rng.choice([0, 7.654321e-10, round(rng.uniform(0, 1e-9), 16)])
        return f"{size}:{base!r}:{slope!r}"

    return ";".join(segment(size) for size in boundaries(rng))


def draw_thresholds(rng: random.Random) -> dict[str, str]:
    """Draw the thresholds of eager and detached messages."""
    if rng.random() < 0.4:
        low, high = sorted(rng.choice([0, 1, 512, 1000, 65536, 327680]) for _ in range(2))
        return dict(zip(THRESHOLDS, (str(low), str(high)), strict=True))
    if rng.random() < 0.3:
        return {"smpi/send-is-detached-thresh": str(rng.choice([0, 4096, 1 << 20]))}
    return {}


def draw_network(rng: random.Random) -> dict[str, str]:
    """Draw a network model and its parameters."""
    config: dict[str, str] = {}
    if rng.random() < 0.2:
        config["network/model"] = rng.choice(["LV08", "CM02"])
        if rng.random() < 0.5:
            config["network/latency-factor"] = str(round(rng.uniform(0.5, 20), 3))
            config["network/bandwidth-factor"] = str(round(rng.uniform(0.3, 1.2), 3))
    else:
        if rng.random() < 0.4:
            config["smpi/bw-factor"] = factors(rng, 0.3, 1.2)
        if rng.random() < 0.4:
            config["smpi/lat-factor"] = factors(rng, 0.5, 12)
    if rng.random() < 0.3:
        config["network/crosstraffic"] = "0"
    if rng.random() < 0.3:
        config["network/TCP-gamma"] = rng.choice(["0", "65536", "20000000"])
    if rng.random() < 0.3:
        config["network/weight-S"] = rng.choice(["0", "20537", "1000"])
    if rng.random() < 0.15:
        config["network/loopback-bw"] = rng.choice(["498000000", "6e9"])
        config["network/loopback-lat"] = rng.choice(["0.000015", "1e-6"])
    return config


def draw_calls(rng: random.Random) -> dict[str, str]:
    """Draw the overheads of calls."""
    config = {
        key: overheads(rng) for key in ("smpi/os", "smpi/ois", "smpi/or") if chance(rng, 0.35)
    }
    if chance(rng, 0.1):
        config["smpi/grow-injected-times"] = "no"
    if chance(rng, 0.1):
        config["smpi/test"] = rng.choice(["0", "1e-5", "0.0003"])
    if chance(rng, 0.1):
        config["smpi/iprobe"] = rng.choice(["0", "1e-5", "0.0003"])
    return config


def chance(rng: random.Random, probability: float) -> bool:
    return rng.random() < probability


def draw_config(
    rng: random.Random, hosts: Sequence[str], selectors: Iterable[str] = ("default",)
) -> dict[str, str]:
    """Draw options of SimGrid with their values; the others keep their defaults.

    Parameters
    ----------
    rng
        Random number generator.
    hosts
        The host of each rank, which determines the algorithms that SimGrid supports.
    selectors
        The collective selectors to draw from. With selectors other than `default`, some operations
        get their own algorithm.
    """
    config = {**draw_thresholds(rng), **draw_network(rng), **draw_calls(rng)}
    choices = list(selectors)
    if choices != ["default"]:
        config["smpi/coll-selector"] = rng.choice(choices)
        if chance(rng, 0.25):
            config |= draw_algorithms(rng, hosts)
    return config


def names_algorithms(config: Mapping[str, str]) -> bool:
    """Return True if a configuration chooses collective algorithms in any way."""
    chosen = {"smpi/coll-selector", *(f"smpi/{operation}" for operation in ALGORITHMS)}
    return any(config.get(key, "default") != "default" for key in chosen)


def thresholds(config: Mapping[str, str]) -> list[int]:
    """Return the sizes, in bytes, at which a configuration changes something."""
    found = [int(config[key]) for key in THRESHOLDS if key in config]
    for key in TABLES:
        found += [int(part.split(":")[0]) for part in config.get(key, "").split(";") if part]
    return sorted({size for size in found if size > 0})
