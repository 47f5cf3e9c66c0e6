"""Collective algorithms: a module for each operation, listed by name in `catalogue`.

Modules cite the sources of their algorithms by these keys.

References
----------
[Bruck] J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby: Efficient Algorithms for All-to-All
    Communications in Multiport Message-Passing Systems. IEEE Trans. Parallel and Distributed
    Systems 8(11), 1997.
[Chen] J. Chen, L. Zhang, Y. Zhang, W. Yuan: Performance Evaluation of Allgather Algorithms on
    Terascale Linux Cluster with Fast Ethernet. HPC Asia, 2005.
[Faraj] A. Faraj, X. Yuan: Automatic Generation and Tuning of MPI Collective Communication
    Routines. Int. Conf. on Supercomputing, 2005.
[Faraj-Patarasuk] A. Faraj, P. Patarasuk, X. Yuan: Bandwidth Efficient All-to-All Broadcast on
    Switched Clusters. IEEE Int. Conf. on Cluster Computing, 2005.
[Mamidala] A. Mamidala, R. Kumar, D. De, D. K. Panda: MPI Collectives on Modern Multicore Clusters:
    Performance Optimizations and Communication Characteristics. CCGrid, 2008.
[Patarasuk] P. Patarasuk, A. Faraj, X. Yuan: Pipelined Broadcast on Ethernet Switched Clusters.
    IPDPS, 2006.
[Pjesivac] J. Pjesivac-Grbovic, T. Angskun, G. Bosilca, G. E. Fagg, E. Gabriel, J. J. Dongarra:
    Performance Analysis of MPI Collective Operations. Cluster Computing 10, 2007.
[Rabenseifner97] R. Rabenseifner: A new optimized MPI reduce and allreduce algorithm. 1997.
[Rabenseifner04] R. Rabenseifner: Optimization of Collective Reduction Operations. ICCS, 2004.
[STAR-MPI] A. Faraj, X. Yuan, D. Lowenthal: STAR-MPI: Self Tuned Adaptive Routines for MPI
    Collective Operations. Int. Conf. on Supercomputing, 2006.
[Thakur] R. Thakur, R. Rabenseifner, W. Gropp: Optimization of Collective Communication Operations
    in MPICH. Int. J. High Performance Computing Applications 19(1), 2005.
"""
