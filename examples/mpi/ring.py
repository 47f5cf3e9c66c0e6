"""A ring of Python objects with mpi4py.

tisim record -o ring.tit -- mpirun -n 4 python ring.py
"""

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
after, before = (rank + 1) % size, (rank - 1) % size

halves = comm.Split(rank % 2, rank)
request = comm.isend({"from": rank}, dest=after, tag=11)
received = comm.recv(source=before, tag=11)
request.wait()
total = comm.allreduce(received["from"])
halves.Barrier()
halves.Free()
if rank == 0:
    print(size, "ranks, total", total)
