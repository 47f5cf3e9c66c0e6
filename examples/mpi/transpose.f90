! Transposes a distributed matrix repeatedly, with `use mpi_f08`.
!
!     mpif90 -O2 transpose.f90 -o transpose
!     tisim record -o transpose.tit -- mpirun -n 4 ./transpose
!
! Each rank has some columns. Each row of ranks shares a communicator and sums up a checksum in it.
program transpose_matrix
  use mpi_f08
  implicit none
  integer, parameter :: block = 64, iterations = 10
  integer :: rank, ranks, iteration, other
  double precision, allocatable :: matrix(:, :, :), received(:, :, :)
  double precision :: checksum, everything
  type(MPI_Comm) :: row
  type(MPI_Request) :: request

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, row)
  allocate (matrix(block, block, ranks), received(block, block, ranks))
  matrix = rank + 1
  do iteration = 1, iterations
    call MPI_Alltoall(matrix, block * block, MPI_DOUBLE_PRECISION, received, block * block, &
                      MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
    do other = 1, ranks
      matrix(:, :, other) = transpose(received(:, :, other)) * 0.5d0
    end do
    checksum = sum(matrix)
    call MPI_Iallreduce(MPI_IN_PLACE, checksum, 1, MPI_DOUBLE_PRECISION, MPI_SUM, row, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
  end do
  call MPI_Reduce(checksum, everything, 1, MPI_DOUBLE_PRECISION, MPI_MAX, 0, MPI_COMM_WORLD)
  if (rank == 0) print '(i0, a, es16.9)', ranks, ' ranks, checksum ', everything
  call MPI_Comm_free(row)
  call MPI_Finalize()
end program transpose_matrix
