"""The measured calls, simulated on the calibrated platform.

The model is not reimplemented here: the calls run in a `tisim.kernel.Environment`, so the results
are those of a replay of these calls.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tisim.studies.calibration.factors import ENVELOPE, Route
from tisim.studies.calibration.separation import ROUND_TRIPS_BEFORE

if TYPE_CHECKING:
    import pandas as pd
    import simpy

    from tisim.kernel import Environment
    from tisim.kernel.mpi import MpiRank
    from tisim.platform import Platform

    #: A call inside a simulation: a generator that a SimPy process runs. The value sent to it is
    #: that of the event: the request for `wait`, or nothing.
    Calls = Generator[simpy.Event, int, None]

_DONE = 1  # tag of the message that ends the measurement at one size
# One-way times between a send and its receive, after which the message has arrived.
_LATE = 4.0
# Disables all random jitter.
_EVEN = {f"tisim/jitter-{what}": "0" for what in ("start", "barrier", "size")}
# No factors, overheads or protocol: only the links of the platform remain.
_NOMINAL = {
    "network/model": "SMPI",
    "smpi/lat-factor": "0:1",
    "smpi/bw-factor": "0:1",
    "smpi/os": "0:0:0",
    "smpi/ois": "0:0:0",
    "smpi/or": "0:0:0",
    "network/ordering": "fair",
}
_SIZES = (1 << 10, 1 << 24)


def simulate(
    platform: Platform,
    hosts: tuple[str, str],
    sizes: Sequence[int],
    config: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Simulate ping-pong, MPI_Send, MPI_Isend and late MPI_Recv between two hosts.

    Parameters
    ----------
    platform
        The platform, calibrated or not.
    hosts
        Names of the two hosts.
    sizes
        Message sizes in bytes.
    config
        Configuration that overrides the platform's.

    Returns
    -------
    DataFrame
        One row per size: ``bytes``, and in seconds ``pingpong`` (one way), ``send``, ``isend``,
        ``recv`` (of a message that had time to arrive).
    """
    import pandas as pd

    from tisim.kernel import Environment

    env = Environment(platform, {**_EVEN, **(config or {})})
    rows: list[dict[str, float]] = [{"bytes": int(size)} for size in sizes]
    first, second = env.mpi(list(hosts))
    env.process(_first(env, first, rows))
    env.process(_second(env, second, rows))
    env.run()
    return pd.DataFrame(rows, columns=["bytes", "pingpong", "send", "isend", "recv"])


def _first(env: Environment, rank: MpiRank, rows: list[dict[str, float]]) -> Calls:
    """Rank 0: ping, wait for the pong; MPI_Isend; a message whose receive is late."""
    for row in rows:
        nbytes = row["bytes"]
        for _ in range(ROUND_TRIPS_BEFORE):
            yield rank.send(1, nbytes)
            yield rank.recv(1, nbytes)
        start = env.now
        yield rank.send(1, nbytes)
        row["send"] = env.now - start
        yield rank.recv(1, nbytes)
        row["pingpong"] = (env.now - start) / 2
        start = env.now
        request = yield rank.isend(1, nbytes)
        row["isend"] = env.now - start
        yield rank.wait(request)
        yield rank.send(1, nbytes)
        yield rank.recv(1, 0, _DONE)


def _second(env: Environment, rank: MpiRank, rows: list[dict[str, float]]) -> Calls:
    """Rank 1: pong; receive; receive late."""
    for row in rows:
        nbytes = row["bytes"]
        for _ in range(ROUND_TRIPS_BEFORE + 1):
            yield rank.recv(0, nbytes)
            yield rank.send(0, nbytes)
        yield rank.recv(0, nbytes)
        yield rank.sleep(_LATE * row["pingpong"])
        start = env.now
        yield rank.recv(0, nbytes)
        row["recv"] = env.now - start
        yield rank.send(0, 0, _DONE)


def simulate_rate(
    platform: Platform,
    hosts: tuple[str, str],
    nbytes: int,
    directions: int,
    config: Mapping[str, str] | None = None,
) -> float:
    """Simulate one message in one direction, or concurrent ones in both directions.

    They share the links: no rank waits for an answer.

    Returns
    -------
    float
        Bytes/s, summed over the directions.
    """
    from tisim.kernel import Environment

    env = Environment(platform, {**_EVEN, "network/ordering": "fair", **(config or {})})
    for rank in env.mpi(list(hosts)):
        env.process(_exchange(rank, nbytes, directions))
    env.run()
    return float(directions * nbytes / env.now)


def _exchange(rank: MpiRank, nbytes: int, directions: int) -> Calls:
    """Rank 0 sends to rank 1; with two directions, rank 1 to rank 0 as well."""
    peer = 1 - rank.number
    if directions == 2 or rank.number == 1:
        yield rank.irecv(peer, nbytes)
    if directions == 2 or rank.number == 0:
        yield rank.isend(peer, nbytes)
    yield rank.waitall()


def simulate_star(
    platform: Platform, hosts: Sequence[str], pattern: str, nbytes: int, weight: float
) -> float:
    """Simulate concurrent messages between the first host and all others.

    Parameters
    ----------
    platform, hosts
        The platform, and the names of its hosts.
    pattern
        ``incast`` or ``fan-out``: into the first host, or out of it.
    nbytes
        Bytes of each message.
    weight
        ``network/weight-S``.

    Returns
    -------
    float
        Seconds until all have arrived.
    """
    from tisim.kernel import Environment

    env = Environment(platform, {**_EVEN, "network/weight-S": str(weight)})
    for rank in env.mpi(list(hosts)):
        env.process(_star_calls(rank, pattern, nbytes))
    env.run()
    return float(env.now)


def _star_calls(rank: MpiRank, pattern: str, nbytes: int) -> Calls:
    others = range(1, rank.size) if rank.number == 0 else [0]
    for other in others:
        if (rank.number == 0) == (pattern == "incast"):
            yield rank.irecv(other, nbytes)
        else:
            yield rank.isend(other, nbytes)
    yield rank.waitall()


def route_between(platform: Platform, hosts: tuple[str, str]) -> Route:
    """Return nominal values of the route between two hosts in the simulator.

    They are derived from two ping-pongs without any factor. So everything else that the simulator
    does to a single message (sharing with acknowledgements, the TCP window bound) is part of the
    bandwidth, and a factor of one means no change.

    Raises
    ------
    InputError
        If a host is unknown, or the route has no latency that a factor could scale.
    """
    times = simulate(platform, hosts, _SIZES, _NOMINAL)["pingpong"].to_numpy()
    sizes = np.array(_SIZES) + ENVELOPE
    slope = float((times[1] - times[0]) / (sizes[1] - sizes[0]))
    latency = float(times[0] - slope * sizes[0])
    # A route without latency leaves the rounding error of the difference.
    return Route(latency if latency > 1e-9 * times[0] else 0.0, 1.0 / slope)
