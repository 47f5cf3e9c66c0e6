"""Replay a trace several times in one process; `benchmarks.instructions` counts instructions.

``python -m benchmarks.replay_times TIMES TRACE PLATFORM``
"""

import sys

from tisim import Platform, replay

if __name__ == "__main__":
    times, trace, file = sys.argv[1:]
    platform = Platform.load(file)
    for _ in range(int(times)):
        replay(trace, platform=platform)
