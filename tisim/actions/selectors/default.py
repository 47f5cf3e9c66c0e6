"""The selector `default`: simple algorithms, one per operation whatever the sizes.

SimGrid's choice when nothing is configured (`smpi_default_selector.cpp`): mostly linear
exchanges of non-blocking messages, which no MPI library would use on many ranks.
"""

from __future__ import annotations

from tisim.actions.collectives import nonblocking
from tisim.actions.collectives.catalogue import algorithm
from tisim.actions.script import Endpoint
from tisim.actions.selectors.choice import Argument

_ALGORITHMS = {"barrier": "ompi_basic_linear", "bcast": "binomial_tree", "alltoall": "ompi"}


def write(operation: str, s: Endpoint, *arguments: Argument) -> None:
    """Write the algorithm of an operation; if none is named, wait for its non-blocking form."""
    if operation in _ALGORITHMS:
        algorithm(operation, _ALGORITHMS[operation])(s, *arguments)
    elif operation == "allreduce":
        write("reduce", s, *arguments, 0)
        write("bcast", s, *arguments, 0)
    elif operation == "reduce_scatter":
        counts, width = arguments
        assert not isinstance(counts, int)
        if any(count != counts[0] for count in counts):
            algorithm(operation, "mpich")(s, *arguments)
        else:
            write("reduce", s, sum(counts), width, 0)
            write("scatterv", s, counts, width, counts[s.rank], width, 0)
    else:
        s.waitall(getattr(nonblocking, f"i{operation}")(s, *arguments))
