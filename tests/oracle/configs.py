"""Random configurations: factor tables, thresholds, overheads, and the options of the network."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

SELECTORS = ("default", "ompi", "mpich", "mvapich2", "impi")
THRESHOLDS = ("smpi/async-small-thresh", "smpi/send-is-detached-thresh")
TABLES = ("smpi/bw-factor", "smpi/lat-factor", "smpi/os", "smpi/ois", "smpi/or")


def boundaries(rng: random.Random) -> list[int]:
    """Where the segments of a table begin."""
    first = 0 if rng.random() < 0.8 else rng.randint(1, 2000)
    later = {int(10 ** rng.uniform(1.5, 6)) for _ in range(rng.randint(0, 4))}
    return [first, *sorted(size for size in later if size > first)]


def factors(rng: random.Random, low: float, high: float) -> str:
    return ";".join(f"{size}:{round(rng.uniform(low, high), 6)}" for size in boundaries(rng))


def overheads(rng: random.Random) -> str:
    """Segments ``size:seconds:seconds per byte``."""

    def segment(size: int) -> str:
        base = rng.choice([0, 1e-6, round(rng.uniform(0, 3e-5), 9)])
        slope = rng.choice([0, 1e-9, round(rng.uniform(0, 1e-9), 13)])
        return f"{size}:{base:g}:{slope:g}"

    return ";".join(segment(size) for size in boundaries(rng))


def draw_config(rng: random.Random, selectors: Iterable[str] = ("default",)) -> dict[str, str]:
    """Options of SimGrid, each with its value; those not drawn keep their default."""
    config: dict[str, str] = {}
    if rng.random() < 0.4:
        low, high = sorted(rng.choice([0, 1, 512, 1000, 65536, 327680]) for _ in range(2))
        config["smpi/async-small-thresh"] = str(low)
        config["smpi/send-is-detached-thresh"] = str(high)
    elif rng.random() < 0.3:
        config["smpi/send-is-detached-thresh"] = str(rng.choice([0, 4096, 1 << 20]))
    if rng.random() < 0.4:
        config["smpi/bw-factor"] = factors(rng, 0.3, 1.2)
    if rng.random() < 0.4:
        config["smpi/lat-factor"] = factors(rng, 0.5, 12)
    for key in ("smpi/os", "smpi/ois", "smpi/or"):
        if rng.random() < 0.35:
            config[key] = overheads(rng)
    if rng.random() < 0.3:
        config["network/crosstraffic"] = "0"
    if rng.random() < 0.3:
        config["network/TCP-gamma"] = rng.choice(["0", "65536", "20000000"])
    if rng.random() < 0.3:
        config["network/weight-S"] = rng.choice(["0", "20537", "1000"])
    if rng.random() < 0.1:
        config["smpi/grow-injected-times"] = "no"
    choices = list(selectors)
    if choices != ["default"]:
        config["smpi/coll-selector"] = rng.choice(choices)
    return config


def thresholds(config: Mapping[str, str]) -> list[int]:
    """The sizes, in bytes, at which a configuration changes something."""
    found = [int(config[key]) for key in THRESHOLDS if key in config]
    for key in TABLES:
        found += [int(part.split(":")[0]) for part in config.get(key, "").split(";") if part]
    return sorted({size for size in found if size > 0})
