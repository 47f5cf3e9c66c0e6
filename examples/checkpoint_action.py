"""A custom action: what do checkpoints cost?

The trace has lines such as ``2 checkpoint 2e7``. Their meaning is defined here, in Python: the rank
waits for one of the two slots of the storage server, transfers its data there, and lets the server
write it.
"""

import tempfile
from pathlib import Path

import simpy

import tisim

ROOT = Path(__file__).resolve().parents[1]
RANKS, STEPS = 4, 12
SLOTS = 2
WRITING = 4e8  # bytes/s per slot
STORAGE = "c-255.me"


@tisim.action("checkpoint")
def checkpoint(rank, nbytes):
    """Write `nbytes` bytes to the storage server."""
    env, size = rank.env, float(nbytes)
    if not hasattr(env, "storage"):
        env.storage = simpy.Resource(env, SLOTS)
    with env.storage.request() as slot:
        yield slot
        yield env.transfer(rank.host, STORAGE, size)
        yield env.timeout(size / WRITING)


def write_trace(directory, interval):
    """Write time steps of a computation with an exchange, and a checkpoint every few steps."""
    for rank in range(RANKS):
        lines = []
        for step in range(1, STEPS + 1):
            lines += [f"{rank} compute 1e9", f"{rank} allreduce 8 1e3"]
            if interval and step % interval == 0:
                lines.append(f"{rank} checkpoint 2e7")
        Path(directory, f"rank-{rank}.txt").write_text("\n".join(lines) + "\n")


def main():
    platform = tisim.Platform.load(ROOT / "platforms" / "backbone.xml")
    print("a checkpoint          simulated  computing      MPI  checkpoints")
    for interval, words in (0, "never"), (6, "every 6 steps"), (2, "every 2"), (1, "every step"):
        with tempfile.TemporaryDirectory() as directory:
            write_trace(directory, interval)
            result = tisim.replay(directory, platform=platform)
        shares = result.compute.mean(), result.communication.mean(), result.other.mean()
        columns = "  ".join(f"{share:7.4f} s" for share in (result.simulated_time, *shares))
        print(f"{words:<20}  {columns}")


if __name__ == "__main__":
    main()
