"""The fixed decisions of Open MPI's component `coll/tuned`.

Facts of `ompi/mca/coll/tuned/coll_tuned_decision_fixed.c`, the same in Open MPI 4.1.4 and 5.0.6,
for operations that commute, with the names that its comments give the algorithms. Each row holds
below a number of ranks, each entry of a row below a number of bytes.
"""

from __future__ import annotations

from tisim.actions.selectors.choice import REST, Entry, Table

# fmt: off

BARRIER: tuple[Entry, ...] = (
    (4, "recursive_doubling"),
    (8, "linear"),
    (64, "recursive_doubling"),
    (256, "bruck"),
    (512, "tree"),
    (1024, "bruck"),
    (4096, "tree"),
    (REST, "bruck"),
)

BCAST: Table = (
    (4, ((32, "pipeline"), (256, "binary_tree"), (512, "pipeline"), (1024, "knomial"),
     (32768, "basic_linear"), (131072, "binary_tree"), (262144, "chain"), (524288,
     "basic_linear"), (1048576, "binomial"), (REST, "binary_tree"))),
    (8, ((64, "binary_tree"), (128, "binomial"), (2048, "binary_tree"), (8192, "binomial"),
     (1048576, "basic_linear"), (REST, "chain"))),
    (16, ((8, "knomial"), (64, "binary_tree"), (4096, "knomial"), (16384, "binary_tree"),
     (32768, "binomial"), (REST, "basic_linear"))),
    (32, ((4096, "knomial"), (1048576, "binomial"), (REST, "scatter_allgather"))),
    (64, ((2048, "binomial"), (REST, "knomial"))),
    (128, ((REST, "knomial"),)),
    (256, ((2, "binomial"), (16384, "binary_tree"), (32768, "basic_linear"), (65536,
     "binary_tree"), (REST, "knomial"))),
    (1024, ((16384, "knomial"), (32768, "split_binary_tree"), (REST, "knomial"))),
    (2048, ((524288, "knomial"), (REST, "scatter_allgather"))),
    (4096, ((262144, "knomial"), (REST, "scatter_allgather"))),
    (REST, ((8192, "knomial"), (16384, "binary_tree"), (262144, "knomial"), (REST,
     "scatter_allgather"))),
)

REDUCE: Table = (
    (4, ((8, "rabenseifner"), (16, "binary"), (32, "pipeline"), (262144, "linear"), (524288,
     "pipeline"), (1048576, "chain"), (REST, "pipeline"))),
    (8, ((4096, "binary"), (65536, "chain"), (262144, "binomial"), (524288, "linear"),
     (1048576, "binomial"), (REST, "linear"))),
    (16, ((8192, "binary"), (REST, "binomial"))),
    (32, ((4096, "binary"), (REST, "binomial"))),
    (256, ((REST, "binomial"),)),
    (512, ((8192, "binomial"), (16384, "in-order_binary"), (REST, "binomial"))),
    (2048, ((REST, "binomial"),)),
    (4096, ((512, "binomial"), (1024, "in-order_binary"), (8192, "binomial"), (16384,
     "in-order_binary"), (REST, "binomial"))),
    (REST, ((16, "binomial"), (32, "in-order_binary"), (1024, "binomial"), (2048,
     "in-order_binary"), (8192, "binomial"), (16384, "in-order_binary"), (REST, "binomial"))),
)

ALLREDUCE: Table = (
    (4, ((8, "ring"), (4096, "recursive_doubling"), (8192, "ring"), (16384,
     "recursive_doubling"), (65536, "ring"), (262144, "segmented_ring"), (REST,
     "rabenseifner"))),
    (8, ((16, "ring"), (8192, "recursive_doubling"), (REST, "rabenseifner"))),
    (16, ((8192, "recursive_doubling"), (REST, "rabenseifner"))),
    (32, ((64, "segmented_ring"), (4096, "recursive_doubling"), (REST, "rabenseifner"))),
    (64, ((128, "segmented_ring"), (REST, "rabenseifner"))),
    (128, ((262144, "recursive_doubling"), (REST, "rabenseifner"))),
    (256, ((131072, "nonoverlapping"), (262144, "recursive_doubling"), (REST,
     "rabenseifner"))),
    (512, ((4096, "nonoverlapping"), (REST, "rabenseifner"))),
    (2048, ((2048, "nonoverlapping"), (16384, "recursive_doubling"), (REST,
     "rabenseifner"))),
    (4096, ((2048, "nonoverlapping"), (4096, "segmented_ring"), (16384,
     "recursive_doubling"), (REST, "rabenseifner"))),
    (REST, ((2048, "nonoverlapping"), (16384, "segmented_ring"), (32768,
     "recursive_doubling"), (REST, "rabenseifner"))),
)

GATHER: Table = (
    (4, ((2, "linear_sync"), (4, "basic_linear"), (32768, "binomial"), (65536,
     "basic_linear"), (131072, "binomial"), (REST, "linear_sync"))),
    (8, ((1024, "binomial"), (8192, "basic_linear"), (32768, "binomial"), (262144,
     "basic_linear"), (REST, "linear_sync"))),
    (256, ((REST, "binomial"),)),
    (512, ((2048, "binomial"), (8192, "basic_linear"), (REST, "binomial"))),
    (REST, ((REST, "binomial"),)),
)

SCATTER: Table = (
    (4, ((2, "linear_nb"), (131072, "basic_linear"), (262144, "linear_nb"), (REST,
     "basic_linear"))),
    (8, ((2048, "binomial"), (4096, "basic_linear"), (8192, "binomial"), (32768,
     "basic_linear"), (1048576, "linear_nb"), (REST, "basic_linear"))),
    (16, ((16384, "binomial"), (1048576, "linear_nb"), (REST, "basic_linear"))),
    (32, ((16384, "binomial"), (32768, "basic_linear"), (REST, "linear_nb"))),
    (64, ((512, "binomial"), (8192, "linear_nb"), (16384, "binomial"), (REST,
     "linear_nb"))),
    (REST, ((512, "binomial"), (REST, "linear_nb"))),
)

ALLGATHER: Table = (
    (3, ((REST, "two_proc"),)),
    (32, ((REST, "recursive_doubling"),)),
    (64, ((1024, "recursive_doubling"), (65536, "neighbor"), (REST, "ring"))),
    (128, ((512, "recursive_doubling"), (65536, "neighbor"), (REST, "ring"))),
    (256, ((512, "recursive_doubling"), (131072, "neighbor"), (524288, "ring"), (1048576,
     "neighbor"), (REST, "ring"))),
    (512, ((32, "recursive_doubling"), (128, "bruck"), (1024, "recursive_doubling"),
     (131072, "neighbor"), (524288, "ring"), (1048576, "neighbor"), (REST, "ring"))),
    (1024, ((64, "recursive_doubling"), (256, "bruck"), (2048, "recursive_doubling"), (REST,
     "neighbor"))),
    (2048, ((4, "recursive_doubling"), (8, "bruck"), (16, "recursive_doubling"), (32,
     "bruck"), (256, "recursive_doubling"), (512, "bruck"), (4096, "recursive_doubling"), (REST,
     "neighbor"))),
    (4096, ((32, "bruck"), (128, "recursive_doubling"), (512, "bruck"), (4096,
     "recursive_doubling"), (REST, "neighbor"))),
    (REST, ((2, "recursive_doubling"), (8, "bruck"), (16, "recursive_doubling"), (512,
     "bruck"), (4096, "recursive_doubling"), (REST, "neighbor"))),
)

ALLGATHERV: Table = (
    (3, ((2048, "ring"), (4096, "two_proc"), (8192, "ring"), (REST, "two_proc"))),
    (8, ((256, "default"), (4096, "neighbor"), (8192, "ring"), (16384, "neighbor"), (262144,
     "bruck"), (REST, "neighbor"))),
    (16, ((1024, "default"), (REST, "bruck"))),
    (32, ((128, "default"), (262144, "bruck"), (REST, "ring"))),
    (64, ((256, "default"), (8192, "bruck"), (REST, "ring"))),
    (128, ((256, "default"), (4096, "bruck"), (REST, "ring"))),
    (256, ((1024, "bruck"), (65536, "neighbor"), (REST, "ring"))),
    (512, ((1024, "bruck"), (REST, "ring"))),
    (1024, ((512, "bruck"), (1024, "default"), (4096, "bruck"), (1048576, "neighbor"),
     (REST, "ring"))),
    (REST, ((4096, "bruck"), (REST, "neighbor"))),
)

ALLTOALL: Table = (
    (3, ((2, "pairwise"), (4, "two_proc"), (16, "pairwise"), (64, "two_proc"), (256,
     "pairwise"), (4096, "two_proc"), (32768, "pairwise"), (262144, "linear_sync"), (1048576,
     "two_proc"), (REST, "pairwise"))),
    (8, ((8192, "linear_sync"), (16384, "linear"), (65536, "linear_sync"), (524288,
     "linear"), (1048576, "pairwise"), (REST, "linear"))),
    (16, ((262144, "linear_sync"), (REST, "linear"))),
    (32, ((4, "linear_sync"), (512, "modified_bruck"), (8192, "linear_sync"), (32768,
     "linear"), (262144, "linear_sync"), (524288, "linear"), (REST, "linear_sync"))),
    (64, ((512, "modified_bruck"), (524288, "linear"), (REST, "linear_sync"))),
    (128, ((1024, "modified_bruck"), (2048, "linear"), (4096, "linear_sync"), (262144,
     "linear"), (REST, "pairwise"))),
    (256, ((1024, "modified_bruck"), (2048, "linear_sync"), (262144, "linear"), (REST,
     "pairwise"))),
    (512, ((1024, "modified_bruck"), (8192, "linear_sync"), (32768, "linear"), (REST,
     "pairwise"))),
    (1024, ((512, "modified_bruck"), (8192, "linear_sync"), (16384, "linear"), (131072,
     "linear_sync"), (262144, "linear"), (REST, "pairwise"))),
    (2048, ((512, "modified_bruck"), (1024, "linear_sync"), (2048, "linear"), (16384,
     "linear_sync"), (262144, "linear"), (REST, "linear_sync"))),
    (4096, ((1024, "modified_bruck"), (4096, "linear_sync"), (8192, "linear"), (131072,
     "linear_sync"), (REST, "linear"))),
    (REST, ((2048, "modified_bruck"), (8192, "linear_sync"), (16384, "linear"), (32768,
     "linear_sync"), (65536, "linear"), (REST, "linear_sync"))),
)

ALLTOALLV: tuple[Entry, ...] = (
    (4, "pairwise"),
    (64, "basic_linear"),
    (128, "pairwise"),
    (256, "basic_linear"),
    (1024, "pairwise"),
    (REST, "basic_linear"),
)

REDUCE_SCATTER: Table = (
    (4, ((65536, "ring"), (131072, "butterfly"), (REST, "ring"))),
    (8, ((8, "non-overlapping"), (262144, "recursive_halving"), (REST, "ring"))),
    (32, ((262144, "recursive_halving"), (REST, "ring"))),
    (64, ((64, "non-overlapping"), (2048, "recursive_halving"), (524288, "butterfly"),
     (REST, "ring"))),
    (128, ((256, "non-overlapping"), (512, "recursive_halving"), (2048, "butterfly"), (4096,
     "recursive_halving"), (REST, "butterfly"))),
    (256, ((256, "non-overlapping"), (512, "recursive_halving"), (REST, "butterfly"))),
    (512, ((256, "non-overlapping"), (1024, "recursive_halving"), (REST, "butterfly"))),
    (1024, ((512, "non-overlapping"), (2048, "recursive_halving"), (8192, "butterfly"),
     (16384, "recursive_halving"), (REST, "butterfly"))),
    (2048, ((512, "non-overlapping"), (4096, "recursive_halving"), (16384, "butterfly"),
     (32768, "recursive_halving"), (REST, "butterfly"))),
    (4096, ((512, "non-overlapping"), (4096, "recursive_halving"), (REST, "butterfly"))),
    (REST, ((1024, "non-overlapping"), (8192, "recursive_halving"), (REST, "butterfly"))),
)
