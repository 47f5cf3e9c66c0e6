"""The thresholds of the Open MPI selector.

Facts of Open MPI 4.1's `coll_tuned_decision_fixed.c` for operations that commute, with the
algorithms that SimGrid 3.32 has in place of Open MPI's (`smpi_openmpi_selector.cpp`): each row
holds below a number of ranks, each entry of a row below a number of bytes.
"""

from __future__ import annotations

from tisim.actions.selectors.choice import REST, Entry, Table

# fmt: off

ALLREDUCE: Table = (
    (4, ((8, "lr"), (4096, "rdb"), (8192, "lr"), (16384, "rdb"), (65536, "lr"),
     (262144, "ompi_ring_segmented"), (REST, "rab_rdb"))),
    (8, ((16, "lr"), (8192, "rdb"), (REST, "rab_rdb"))),
    (16, ((8192, "rdb"), (REST, "rab_rdb"))),
    (32, ((64, "ompi_ring_segmented"), (4096, "rdb"), (REST, "rab_rdb"))),
    (64, ((128, "ompi_ring_segmented"), (REST, "rab_rdb"))),
    (128, ((262144, "rdb"), (REST, "rab_rdb"))),
    (256, ((131072, "redbcast"), (262144, "rdb"), (REST, "rab_rdb"))),
    (512, ((4096, "redbcast"), (REST, "rab_rdb"))),
    (2048, ((2048, "redbcast"), (16384, "rdb"), (REST, "rab_rdb"))),
    (4096, ((2048, "redbcast"), (4096, "ompi_ring_segmented"), (16384, "rdb"), (REST, "rab_rdb"))),
    (REST, ((2048, "redbcast"), (16384, "ompi_ring_segmented"), (32768, "rdb"),
     (REST, "rab_rdb"))),
)

ALLTOALL: Table = (
    (2, ((524288, "basic_linear"), (1048576, "pair"), (REST, "basic_linear"))),
    (3, ((2, "pair"), (4, "basic_linear"), (16, "pair"), (64, "basic_linear"), (256, "pair"),
     (4096, "basic_linear"), (32768, "pair"), (1048576, "basic_linear"), (REST, "pair"))),
    (8, ((524288, "basic_linear"), (1048576, "pair"), (REST, "basic_linear"))),
    (16, ((REST, "basic_linear"),)),
    (32, ((4, "basic_linear"), (512, "bruck"), (REST, "basic_linear"))),
    (64, ((512, "bruck"), (REST, "basic_linear"))),
    (256, ((1024, "bruck"), (262144, "basic_linear"), (REST, "pair"))),
    (512, ((1024, "bruck"), (32768, "basic_linear"), (REST, "pair"))),
    (1024, ((512, "bruck"), (262144, "basic_linear"), (REST, "pair"))),
    (2048, ((512, "bruck"), (REST, "basic_linear"))),
    (4096, ((1024, "bruck"), (REST, "basic_linear"))),
    (REST, ((2048, "bruck"), (REST, "basic_linear"))),
)

ALLTOALLV: tuple[Entry, ...] = (
    (4, "pair"),
    (64, "ompi_basic_linear"),
    (128, "pair"),
    (256, "ompi_basic_linear"),
    (1024, "pair"),
    (REST, "ompi_basic_linear"),
)

BARRIER: tuple[Entry, ...] = (
    (4, "ompi_recursivedoubling"),
    (8, "ompi_basic_linear"),
    (64, "ompi_recursivedoubling"),
    (256, "ompi_bruck"),
    (512, "ompi_tree"),
    (1024, "ompi_bruck"),
    (4096, "ompi_tree"),
    (REST, "ompi_bruck"),
)

BCAST: Table = (
    (4, ((32, "ompi_pipeline"), (256, "NTSB"), (512, "ompi_pipeline"),
     (1024, "mvapich2_knomial_intra_node"), (32768, "NTSL"), (131072, "NTSB"),
     (262144, "ompi_pipeline"), (524288, "NTSL"), (1048576, "binomial_tree"), (REST, "NTSB"))),
    (8, ((64, "NTSB"), (128, "binomial_tree"), (2048, "NTSB"), (8192, "binomial_tree"),
     (1048576, "NTSL"), (REST, "ompi_pipeline"))),
    (16, ((8, "mvapich2_knomial_intra_node"), (64, "NTSB"), (4096, "mvapich2_knomial_intra_node"),
     (16384, "NTSB"), (32768, "binomial_tree"), (REST, "NTSL"))),
    (32, ((4096, "mvapich2_knomial_intra_node"), (1048576, "binomial_tree"),
     (REST, "scatter_rdb_allgather"))),
    (64, ((2048, "binomial_tree"), (REST, "mvapich2_knomial_intra_node"))),
    (128, ((REST, "mvapich2_knomial_intra_node"),)),
    (256, ((2, "binomial_tree"), (16384, "NTSB"), (32768, "NTSL"), (65536, "NTSB"),
     (REST, "mvapich2_knomial_intra_node"))),
    (1024, ((16384, "mvapich2_knomial_intra_node"), (32768, "ompi_split_bintree"),
     (REST, "mvapich2_knomial_intra_node"))),
    (2048, ((524288, "mvapich2_knomial_intra_node"), (REST, "scatter_rdb_allgather"))),
    (4096, ((262144, "mvapich2_knomial_intra_node"), (REST, "scatter_rdb_allgather"))),
    (REST, ((8192, "mvapich2_knomial_intra_node"), (16384, "NTSB"),
     (262144, "mvapich2_knomial_intra_node"), (REST, "scatter_rdb_allgather"))),
)

REDUCE: Table = (
    (4, ((8, "ompi_basic_linear"), (16, "ompi_binary"), (32, "ompi_pipeline"),
     (262144, "ompi_basic_linear"), (524288, "ompi_pipeline"), (1048576, "ompi_chain"),
     (REST, "ompi_pipeline"))),
    (8, ((4096, "ompi_binary"), (65536, "ompi_chain"), (262144, "ompi_binomial"),
     (524288, "ompi_basic_linear"), (1048576, "ompi_binomial"), (REST, "ompi_basic_linear"))),
    (16, ((8192, "ompi_binary"), (REST, "ompi_binomial"))),
    (32, ((4096, "ompi_binary"), (REST, "ompi_binomial"))),
    (256, ((REST, "ompi_binomial"),)),
    (512, ((8192, "ompi_binomial"), (16384, "ompi_in_order_binary"), (REST, "ompi_binomial"))),
    (2048, ((REST, "ompi_binomial"),)),
    (4096, ((512, "ompi_binomial"), (1024, "ompi_in_order_binary"), (8192, "ompi_binomial"),
     (16384, "ompi_in_order_binary"), (REST, "ompi_binomial"))),
    (REST, ((16, "ompi_binomial"), (32, "ompi_in_order_binary"), (1024, "ompi_binomial"),
     (2048, "ompi_in_order_binary"), (8192, "ompi_binomial"), (16384, "ompi_in_order_binary"),
     (REST, "ompi_binomial"))),
)

REDUCE_SCATTER: Table = (
    (4, ((65536, "ompi_ring"), (131072, "ompi_butterfly"), (REST, "ompi_ring"))),
    (8, ((8, "default"), (262144, "ompi_basic_recursivehalving"), (REST, "ompi_ring"))),
    (32, ((262144, "ompi_basic_recursivehalving"), (REST, "ompi_ring"))),
    (64, ((64, "default"), (2048, "ompi_basic_recursivehalving"), (524288, "ompi_butterfly"),
     (REST, "ompi_ring"))),
    (128, ((256, "default"), (512, "ompi_basic_recursivehalving"), (2048, "ompi_butterfly"),
     (4096, "ompi_basic_recursivehalving"), (REST, "ompi_butterfly"))),
    (256, ((256, "default"), (512, "ompi_basic_recursivehalving"), (REST, "ompi_butterfly"))),
    (512, ((256, "default"), (1024, "ompi_basic_recursivehalving"), (REST, "ompi_butterfly"))),
    (1024, ((512, "default"), (2048, "ompi_basic_recursivehalving"), (8192, "ompi_butterfly"),
     (16384, "ompi_basic_recursivehalving"), (REST, "ompi_butterfly"))),
    (2048, ((512, "default"), (4096, "ompi_basic_recursivehalving"), (16384, "ompi_butterfly"),
     (32768, "ompi_basic_recursivehalving"), (REST, "ompi_butterfly"))),
    (4096, ((512, "default"), (4096, "ompi_basic_recursivehalving"), (REST, "ompi_butterfly"))),
    (REST, ((1024, "default"), (8192, "ompi_basic_recursivehalving"), (REST, "ompi_butterfly"))),
)

ALLGATHER: Table = (
    (2, ((REST, "rdb"),)),
    (3, ((REST, "pair"),)),
    (32, ((REST, "rdb"),)),
    (64, ((1024, "rdb"), (65536, "ompi_neighborexchange"), (REST, "ring"))),
    (128, ((512, "rdb"), (65536, "ompi_neighborexchange"), (REST, "ring"))),
    (256, ((512, "rdb"), (131072, "ompi_neighborexchange"), (524288, "ring"),
     (1048576, "ompi_neighborexchange"), (REST, "ring"))),
    (512, ((32, "rdb"), (128, "bruck"), (1024, "rdb"), (131072, "ompi_neighborexchange"),
     (524288, "ring"), (1048576, "ompi_neighborexchange"), (REST, "ring"))),
    (1024, ((64, "rdb"), (256, "bruck"), (2048, "rdb"), (REST, "ompi_neighborexchange"))),
    (2048, ((4, "rdb"), (8, "bruck"), (16, "rdb"), (32, "bruck"), (256, "rdb"), (512, "bruck"),
     (4096, "rdb"), (REST, "ompi_neighborexchange"))),
    (4096, ((32, "bruck"), (128, "rdb"), (512, "bruck"), (4096, "rdb"),
     (REST, "ompi_neighborexchange"))),
    (REST, ((2, "rdb"), (8, "bruck"), (16, "rdb"), (512, "bruck"), (4096, "rdb"),
     (REST, "ompi_neighborexchange"))),
)

ALLGATHERV: Table = (
    (2, ((256, "GB"), (4096, "ompi_neighborexchange"), (8192, "mpich_ring"),
     (16384, "ompi_neighborexchange"), (262144, "ompi_bruck"), (REST, "ompi_neighborexchange"))),
    (3, ((2048, "mpich_ring"), (4096, "pair"), (8192, "mpich_ring"), (REST, "pair"))),
    (8, ((256, "GB"), (4096, "ompi_neighborexchange"), (8192, "mpich_ring"),
     (16384, "ompi_neighborexchange"), (262144, "ompi_bruck"), (REST, "ompi_neighborexchange"))),
    (16, ((1024, "GB"), (REST, "ompi_bruck"))),
    (32, ((128, "GB"), (262144, "ompi_bruck"), (REST, "mpich_ring"))),
    (64, ((256, "GB"), (8192, "ompi_bruck"), (REST, "mpich_ring"))),
    (128, ((256, "GB"), (4096, "ompi_bruck"), (REST, "mpich_ring"))),
    (256, ((1024, "ompi_bruck"), (65536, "ompi_neighborexchange"), (REST, "mpich_ring"))),
    (512, ((1024, "ompi_bruck"), (REST, "mpich_ring"))),
    (1024, ((512, "ompi_bruck"), (1024, "GB"), (4096, "ompi_bruck"),
     (1048576, "ompi_neighborexchange"), (REST, "mpich_ring"))),
    (REST, ((4096, "ompi_bruck"), (REST, "ompi_neighborexchange"))),
)

GATHER: Table = (
    (4, ((2, "ompi_linear_sync"), (4, "ompi_basic_linear"), (32768, "ompi_binomial"),
     (65536, "ompi_basic_linear"), (131072, "ompi_binomial"), (REST, "ompi_linear_sync"))),
    (8, ((1024, "ompi_binomial"), (8192, "ompi_basic_linear"), (32768, "ompi_binomial"),
     (262144, "ompi_basic_linear"), (REST, "ompi_linear_sync"))),
    (256, ((REST, "ompi_binomial"),)),
    (512, ((2048, "ompi_binomial"), (8192, "ompi_basic_linear"), (REST, "ompi_binomial"))),
    (REST, ((REST, "ompi_binomial"),)),
)

SCATTER: Table = (
    (4, ((2, "ompi_linear_nb"), (131072, "ompi_basic_linear"), (262144, "ompi_linear_nb"),
     (REST, "ompi_basic_linear"))),
    (8, ((2048, "ompi_binomial"), (4096, "ompi_basic_linear"), (8192, "ompi_binomial"),
     (32768, "ompi_basic_linear"), (1048576, "ompi_linear_nb"), (REST, "ompi_basic_linear"))),
    (16, ((16384, "ompi_binomial"), (1048576, "ompi_linear_nb"), (REST, "ompi_basic_linear"))),
    (32, ((16384, "ompi_binomial"), (32768, "ompi_basic_linear"), (REST, "ompi_linear_nb"))),
    (64, ((512, "ompi_binomial"), (8192, "ompi_linear_nb"), (16384, "ompi_binomial"),
     (REST, "ompi_linear_nb"))),
    (REST, ((512, "ompi_binomial"), (REST, "ompi_linear_nb"))),
)
