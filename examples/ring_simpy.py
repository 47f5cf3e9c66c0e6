"""A ring of four MPI ranks, written as SimPy processes and replayed from a trace.

Rank 0 computes, sends 1 MB to rank 1 and waits for it to return; every other rank receives,
computes and sends on. `traces/ring.4` contains the same in four small files. Both use the same
simulation, so the times agree to the last digit.
"""

from pathlib import Path

import tisim
from tisim.kernel import Environment

ROOT = Path(__file__).resolve().parents[1]
NBYTES = 1_000_000
FLOPS = 1e6


def member(env, rank, ends):
    """Run one rank of the ring: a SimPy process that makes MPI calls."""
    after, before = (rank.number + 1) % rank.size, (rank.number - 1) % rank.size
    if rank.number == 0:
        yield rank.execute(FLOPS)
        yield rank.send(after, NBYTES)
        yield rank.recv(before, NBYTES)
    else:
        yield rank.recv(before, NBYTES)
        yield rank.execute(FLOPS)
        yield rank.send(after, NBYTES)
    ends[rank.number] = env.now


def main():
    platform = tisim.Platform.load(ROOT / "platforms" / "graphene.xml")
    hosts = [host.name for host in platform.hosts[:4]]

    env = Environment(platform)
    ends = {}
    for rank in env.mpi(hosts):
        env.process(member(env, rank, ends))
    env.run()

    result = tisim.replay(ROOT / "traces" / "ring.4", platform=platform, hosts=hosts)
    print("rank  ends as a process (s)  ends in the trace (s)")
    for number, finish in enumerate(result.finish):
        print(f"{number:4}  {ends[number]:<21.17g}  {finish:<21.17g}".rstrip())
    print("identical" if list(result.finish) == [ends[r] for r in range(4)] else "different")


if __name__ == "__main__":
    main()
