"""Replay an application that competes with other traffic on the same network.

A backup runs at the same time as a ring of four ranks: an ordinary SimPy process copies a file over
the link of rank 2, block by block, with occasional pauses. The slowdown of the ring depends on the
size of the blocks.
"""

from pathlib import Path

import tisim
from tisim.kernel import Environment

ROOT = Path(__file__).resolve().parents[1]


def backup(env, source, target, block):
    """Copy blocks of `block` bytes forever, with a pause of 2 ms after every fourth."""
    while True:
        for _ in range(4):
            yield env.transfer(source, target, block)
        yield env.timeout(0.002)


def ring_beside_a_backup(platform, trace, block):
    """Return the result of the replay, with blocks of this size on the network."""
    env = Environment(platform)
    hosts = [host.name for host in platform.hosts[:5]]
    replay = env.replay(trace, hosts[:4])
    if block:
        env.process(backup(env, hosts[4], hosts[2], block))
    return env.run(until=replay)


def main():
    platform = tisim.Platform.load(ROOT / "platforms" / "graphene.xml")
    trace = tisim.Trace.open(ROOT / "traces" / "ring.4")
    alone = ring_beside_a_backup(platform, trace, 0).simulated_time
    print(f"alone                         {alone * 1000:8.3f} ms")
    for block in (10_000, 100_000, 1_000_000):
        time = ring_beside_a_backup(platform, trace, block).simulated_time
        slower = time / alone - 1
        print(f"blocks of {block:9,} bytes     {time * 1000:8.3f} ms  {slower:+.1%}")


if __name__ == "__main__":
    main()
