"""A worker process: takes jobs from a connection and sends outcomes back.

Run as ``python -m tisim.studies.sweep.process DESCRIPTOR``. It is a program of its own and not a
process of `multiprocessing`, which would run the user's script again from its beginning.
"""

from __future__ import annotations

import os
import sys
from multiprocessing.connection import Connection

from tisim.errors import TisimError
from tisim.studies.sweep.scenario import Answer, Inputs, Message
from tisim.studies.sweep.worker import Worker


def main(descriptor: int) -> None:
    """Serve until the connection ends.

    The first message is the `Inputs`, which is answered by None or by what is wrong with them; each
    further one is a number and a `Job`, which is answered by the number and the outcome.
    """
    parent = os.getppid()

    def end_with_parent(simulated_time: float, actions: int, fraction: float) -> None:
        if os.getppid() != parent:
            os._exit(1)

    channel: Connection[Answer, Message] = Connection(descriptor)
    try:
        try:
            inputs = channel.recv()
            assert isinstance(inputs, Inputs)
            worker = Worker(inputs, end_with_parent)
        except (ImportError, AttributeError, TisimError) as error:
            channel.send(f"{type(error).__name__}: {error}")
            return
        channel.send(None)
        while True:
            message = channel.recv()
            assert not isinstance(message, Inputs)
            number, job = message
            channel.send((number, worker.run(job)))
    except (EOFError, ConnectionError):
        pass  # the sweep is over


if __name__ == "__main__":
    main(int(sys.argv[1]))
