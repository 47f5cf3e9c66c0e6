"""The algorithms of Open MPI's `coll/base`, as its component `coll/tuned` calls them.

Written from the sources of Open MPI 4.1.4 (`ompi/mca/coll/base/coll_base_*.c`, which every
function names): each makes the same messages, in the same order on each rank. The fixed decisions
of `coll/tuned` pass a segment size of 0 and a fan-out of 0, so nothing is cut and every chain is
one chain (`coll_tuned_decision_fixed.c`). The algorithms of SimGrid's selector, which cut, are in
`tisim.actions.collectives`.
"""
