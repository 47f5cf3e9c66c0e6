"""Speed and memory compared with SimGrid's replay; the answers are checked first.

``python -m benchmarks`` runs everything and writes the tables of ``docs/benchmarks.md``.

process       runs a program: its time, its processor time, its peak memory
traces        the traces: provided, repeated, generated
answers       checks that replays give the reference's times, before anything is timed
replays       rates of replays, compared with ``smpirun -replay``
scale         all-to-alls, a million ranks, long traces, packed traces, start-up
instructions  instructions of two small replays under valgrind
report        the tables
"""
