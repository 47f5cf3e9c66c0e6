"""The thresholds of the MVAPICH2 selector.

Facts of MVAPICH2's tuning for the Stampede cluster (Intel Xeon E5-2680, 16 cores a node, Mellanox
FDR), with the algorithms that SimGrid 3.32 has in place of MVAPICH2's
(`smpi_mvapich2_selector_stampede.hpp`): each row holds up to a number of ranks, each entry of a
 row
up to a number of bytes. Entries that SimGrid's lengths of the tables cut off are left out.
"""

from __future__ import annotations

from tisim.actions.selectors.choice import REST, Entry, Table, TwoLevelEntry, TwoLevelTable

# fmt: off

ALLTOALL: Table = (
    (2, ((REST, "pair"),)),
    (4, ((262144, "mvapich2_scatter_dest"), (REST, "pair"))),
    (8, ((8, "rdb"), (REST, "mvapich2_scatter_dest"))),
    (16, ((64, "rdb"), (512, "bruck"), (REST, "mvapich2_scatter_dest"))),
    (32, ((32, "rdb"), (2048, "bruck"), (REST, "mvapich2_scatter_dest"))),
    (REST, ((8, "rdb"), (1024, "bruck"), (REST, "mvapich2_scatter_dest"))),
)

# By ranks of a host.
ALLGATHER: dict[int, TwoLevelTable] = {
    1: (
        (2, ((REST, "ring", False),)),
        (4, ((262144, "rdb", False), (REST, "ring", False))),
        (16, ((131072, "rdb", False), (REST, "ring", False))),
        (32, ((65536, "rdb", False), (REST, "ring", False))),
        (REST, ((32768, "rdb", False), (REST, "ring", False))),
    ),
    2: (
        (4, ((524288, "rdb", False), (REST, "ring", False))),
        (8, ((32768, "rdb", False), (REST, "ring", True))),
        (16, ((16384, "rdb", False), (REST, "ring", True))),
        (32, ((65536, "rdb", True), (REST, "ring", True))),
        (64, ((32768, "rdb", True), (REST, "ring", True))),
        (REST, ((65536, "rdb", True), (REST, "ring", True))),
    ),
    16: (
        (REST, ((1024, "rdb", False), (REST, "ring", False))),
    ),
}

# The gather, and what the two-level one does on a host.
GATHER: tuple[tuple[float, tuple[Entry, ...], str], ...] = (
    (16, ((524288, "ompi_basic_linear"), (REST, "mpich")), "ompi_basic_linear"),
    (32, ((16384, "ompi_basic_linear"), (131072, "mpich"), (REST, "mvapich2_two_level")), "mpich"),
    (64, ((256, "mvapich2_two_level"), (16384, "ompi_basic_linear"),
     (REST, "mvapich2_two_level")), "mpich"),
    (REST, ((512, "mvapich2_two_level"), (16384, "ompi_basic_linear"),
     (REST, "mvapich2_two_level")), "mpich"),
)

ALLGATHERV: Table = (
    (32, ((512, "mpich_rdb"), (REST, "mpich_ring"))),
    (REST, ((256, "mpich_rdb"), (REST, "mpich_ring"))),
)

ALLREDUCE: TwoLevelTable = (
    (16, ((1024, "rdb", True), (REST, "mvapich2_rs", False))),
    (512, ((16384, "rdb", True), (REST, "mvapich2_rs", False))),
    (1024, ((8192, "rdb", True), (65536, "mvapich2_rs", True), (REST, "mvapich2_rs", False))),
    (REST, ((64, "rdb", True), (512, "mvapich2_rs", True), (4096, "rdb", True),
     (REST, "mvapich2_rs", False))),
)

BCAST: TwoLevelTable = (
    (16, ((8192, "mpich", True), (16384, "binomial_tree", True), (65536, "mpich", True),
     (262144, "scatter_LR_allgather", True), (524288, "scatter_rdb_allgather", True),
     (REST, "scatter_LR_allgather", True))),
    (64, ((REST, "mpich", True),)),
    (128, ((524288, "mpich", True), (REST, "scatter_LR_allgather", False))),
    (256, ((131072, "mpich", True), (262144, "scatter_LR_allgather", True),
     (524288, "mpich", True), (REST, "scatter_LR_allgather", True))),
    (512, ((262144, "mpich", True), (REST, "scatter_LR_allgather", True))),
    (REST, ((524288, "mpich", True), (REST, "scatter_LR_allgather", True))),
)

# The reduce, and what the two-level one does on a host.
REDUCE: tuple[tuple[float, tuple[TwoLevelEntry, ...], tuple[Entry, ...]], ...] = (
    (16, ((262144, "mvapich2_knomial", True), (1048576, "binomial", False),
     (REST, "scatter_gather", False)), ((65536, "ompi_basic_linear"), (REST, "binomial"))),
    (32, ((32768, "mvapich2_knomial", True), (65536, "binomial", True),
     (262144, "mvapich2_knomial", False), (1048576, "binomial", False),
     (REST, "scatter_gather", False)), ((8192, "ompi_basic_linear"), (16384, "mvapich2_knomial"),
     (262144, "ompi_basic_linear"), (REST, "binomial"))),
    (64, ((16384, "mvapich2_knomial", True), (65536, "binomial", True),
     (262144, "mvapich2_knomial", True), (REST, "scatter_gather", False)),
     ((8192, "ompi_basic_linear"), (16384, "mvapich2_knomial"), (65536, "ompi_basic_linear"),
     (262144, "mvapich2_knomial"), (REST, "binomial"))),
    (128, ((8192, "mvapich2_knomial", True), (16384, "mvapich2_knomial", False),
     (65536, "binomial", True), (262144, "mvapich2_knomial", False), (1048576, "binomial", True),
     (REST, "scatter_gather", False)), ((8192, "ompi_basic_linear"), (16384, "mvapich2_knomial"),
     (65536, "ompi_basic_linear"), (262144, "mvapich2_knomial"), (REST, "binomial"))),
    (256, ((16384, "mvapich2_knomial", True), (32768, "binomial", True),
     (65536, "binomial", False), (1048576, "binomial", True), (REST, "scatter_gather", False)),
     ((8192, "ompi_basic_linear"), (16384, "mvapich2_knomial"), (65536, "ompi_basic_linear"),
     (262144, "mvapich2_knomial"), (REST, "binomial"))),
    (512, ((8192, "mvapich2_knomial", True), (16384, "mvapich2_knomial", False),
     (1048576, "binomial", True), (REST, "scatter_gather", False)), ((8192, "ompi_basic_linear"),
     (16384, "mvapich2_knomial"), (65536, "ompi_basic_linear"), (262144, "mvapich2_knomial"),
     (REST, "binomial"))),
    (1024, ((8192, "mvapich2_knomial", True), (16384, "mvapich2_knomial", False),
     (REST, "binomial", True)), ((8192, "ompi_basic_linear"), (16384, "mvapich2_knomial"),
     (65536, "ompi_basic_linear"), (262144, "mvapich2_knomial"), (REST, "binomial"))),
    (REST, ((2048, "mvapich2_knomial", True), (4096, "mvapich2_knomial", False),
     (REST, "binomial", True)), ((16384, "ompi_basic_linear"), (65536, "mvapich2_knomial"),
     (131072, "binomial"), (REST, "ompi_basic_linear"))),
)

REDUCE_SCATTER: Table = (
    (16, ((64, "default"), (65536, "ompi_basic_recursivehalving"), (REST, "mpich_pair"))),
    (32, ((64, "default"), (131072, "ompi_basic_recursivehalving"), (REST, "mpich_pair"))),
    (64, ((1024, "default"), (262144, "ompi_basic_recursivehalving"), (REST, "mpich_pair"))),
    (256, ((128, "default"), (REST, "ompi_basic_recursivehalving"))),
    (REST, ((256, "default"), (REST, "ompi_basic_recursivehalving"))),
)

# By ranks of a host: the scatter, and what the two-level ones do on a host.
SCATTER: dict[int, tuple[tuple[float, tuple[Entry, ...], tuple[Entry, ...]], ...]] = {
    1: (
        (2, ((REST, "ompi_binomial"),), ((REST, "ompi_binomial"),)),
        (32, ((REST, "ompi_basic_linear"),), ((REST, "ompi_basic_linear"),)),
        (REST, ((32, "ompi_binomial"), (REST, "ompi_basic_linear")), ((REST, "ompi_binomial"),)),
    ),
    2: (
        (4, ((4096, "ompi_binomial"), (REST, "ompi_basic_linear")),
         ((REST, "ompi_basic_linear"),)),
        (8, ((512, "mvapich2_two_level_direct"), (REST, "ompi_basic_linear")),
         ((REST, "ompi_binomial"),)),
        (32, ((2048, "mvapich2_two_level_direct"), (REST, "ompi_basic_linear")),
         ((REST, "ompi_binomial"),)),
        (64, ((8192, "mvapich2_two_level_direct"), (REST, "ompi_basic_linear")),
         ((REST, "ompi_binomial"),)),
        (REST, ((16, "ompi_binomial"), (128, "mvapich2_two_level_binomial"),
         (16384, "mvapich2_two_level_direct"), (REST, "ompi_basic_linear")),
         ((REST, "ompi_basic_linear"),)),
    ),
    16: (
        (16, ((256, "ompi_binomial"), (REST, "ompi_basic_linear")),
         ((REST, "ompi_basic_linear"),)),
        (32, ((512, "ompi_binomial"), (REST, "ompi_basic_linear")),
         ((REST, "ompi_basic_linear"),)),
        (64, ((1024, "mvapich2_two_level_direct"), (REST, "ompi_basic_linear")),
         ((REST, "ompi_basic_linear"),)),
        (256, ((2048, "mvapich2_two_level_direct"), (REST, "ompi_basic_linear")),
         ((REST, "ompi_basic_linear"),)),
        (512, ((4096, "mvapich2_two_level_direct"), (REST, "ompi_basic_linear")),
         ((REST, "ompi_binomial"),)),
        (1024, ((32, "ompi_binomial"), (4096, "mvapich2_two_level_direct"),
         (REST, "ompi_basic_linear")), ((REST, "ompi_binomial"),)),
        (REST, ((128, "mvapich2_two_level_binomial"), (16384, "mvapich2_two_level_direct"),
         (65536, "ompi_basic_linear"), (REST, "mvapich2_two_level_direct")),
         ((1024, "ompi_binomial"), (REST, "ompi_basic_linear"))),
    ),
}
