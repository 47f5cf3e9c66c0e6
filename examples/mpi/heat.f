C     Heat in a rod, in Fortran 77 with mpif.h and persistent requests.
C
C         mpif77 -O2 heat.f -o heat
C         tisim record -o heat.tit -- mpirun -n 4 ./heat
C
      program heat
      implicit none
      include 'mpif.h'
      integer points, steps
      parameter (points = 10000, steps = 20)
      integer ierror, rank, ranks, left, right, i, step
      integer requests(4), statuses(MPI_STATUS_SIZE, 4)
      double precision rod(0:points + 1), next(points), total, all
      call MPI_INIT(ierror)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierror)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, ranks, ierror)
      left = rank - 1
      if (rank .eq. 0) left = MPI_PROC_NULL
      right = rank + 1
      if (rank .eq. ranks - 1) right = MPI_PROC_NULL
      do 10 i = 0, points + 1
        rod(i) = rank
 10   continue
      call MPI_SEND_INIT(rod(1), 1, MPI_DOUBLE_PRECISION, left, 1,
     &    MPI_COMM_WORLD, requests(1), ierror)
      call MPI_SEND_INIT(rod(points), 1, MPI_DOUBLE_PRECISION, right,
     &    2, MPI_COMM_WORLD, requests(2), ierror)
      call MPI_RECV_INIT(rod(0), 1, MPI_DOUBLE_PRECISION, left, 2,
     &    MPI_COMM_WORLD, requests(3), ierror)
      call MPI_RECV_INIT(rod(points + 1), 1, MPI_DOUBLE_PRECISION,
     &    right, 1, MPI_COMM_WORLD, requests(4), ierror)
      do 40 step = 1, steps
        call MPI_STARTALL(4, requests, ierror)
        call MPI_WAITALL(4, requests, statuses, ierror)
        do 20 i = 1, points
          next(i) = rod(i) + 0.25d0 * (rod(i - 1) - 2 * rod(i)
     &        + rod(i + 1))
 20     continue
        do 30 i = 1, points
          rod(i) = next(i)
 30     continue
 40   continue
      do 50 i = 1, 4
        call MPI_REQUEST_FREE(requests(i), ierror)
 50   continue
      total = 0
      do 60 i = 1, points
        total = total + rod(i)
 60   continue
      call MPI_REDUCE(total, all, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0,
     &    MPI_COMM_WORLD, ierror)
      if (rank .eq. 0) print '(i0, a, es16.9)', ranks, ' ranks, heat ',
     &    all
      call MPI_FINALIZE(ierror)
      end
