! Conjugate gradients for the one-dimensional Poisson equation, with `use mpi`.
!
!     mpif90 -O2 conjugate_gradient.f90 -o conjugate_gradient
!     tisim record -o cg.tit -- mpirun -n 4 ./conjugate_gradient
!
! Each rank has a part of the line and exchanges one point with each neighbour in every iteration.
program conjugate_gradient
  use mpi
  implicit none
  integer, parameter :: points = 20000, iterations = 50
  integer :: ierror, rank, ranks, left, right, iteration
  integer :: requests(4)
  double precision :: x(points), r(points), p(0:points + 1), q(points)
  double precision :: rho, old_rho, alpha, product

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  left = merge(rank - 1, MPI_PROC_NULL, rank > 0)
  right = merge(rank + 1, MPI_PROC_NULL, rank < ranks - 1)

  x = 0
  r = 1
  p = 0
  p(1:points) = r
  rho = dot(r, r)
  do iteration = 1, iterations
    call MPI_Irecv(p(0), 1, MPI_DOUBLE_PRECISION, left, 1, MPI_COMM_WORLD, requests(1), ierror)
    call MPI_Irecv(p(points + 1), 1, MPI_DOUBLE_PRECISION, right, 2, MPI_COMM_WORLD, &
                   requests(2), ierror)
    call MPI_Isend(p(1), 1, MPI_DOUBLE_PRECISION, left, 2, MPI_COMM_WORLD, requests(3), ierror)
    call MPI_Isend(p(points), 1, MPI_DOUBLE_PRECISION, right, 1, MPI_COMM_WORLD, requests(4), &
                   ierror)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    q = 2 * p(1:points) - p(0:points - 1) - p(2:points + 1)
    product = dot(p(1:points), q)
    alpha = rho / product
    x = x + alpha * p(1:points)
    r = r - alpha * q
    old_rho = rho
    rho = dot(r, r)
    p(1:points) = r + rho / old_rho * p(1:points)
  end do
  if (rank == 0) print '(i0, a, es16.9)', ranks, ' ranks, residual ', sqrt(rho)
  call MPI_Finalize(ierror)

contains

  ! Scalar product over all ranks; the sum replaces the local part in place.
  double precision function dot(a, b)
    double precision, intent(in) :: a(:), b(:)
    dot = sum(a * b)
    call MPI_Allreduce(MPI_IN_PLACE, dot, 1, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  end function dot

end program conjugate_gradient
