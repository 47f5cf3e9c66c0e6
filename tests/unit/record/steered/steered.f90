! Rank 0 gives a new task to each worker that completes one: by Waitany, Waitsome, Testany or
! Testsome, by receives from any source, or by probes. The argument is the number of the pattern.
program steered
  use mpi
  implicit none
  integer, parameter :: tasks = 24, most = 16
  integer :: me, ranks, how, worker, given, busy, number, i, ended
  integer :: results(most), done(most)
  logical :: flag
  character(len=8) :: word
  integer :: requests(most), status(MPI_STATUS_SIZE), ierr

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, word)
  read (word, *) how
  if (me > 0) then
    do
      call MPI_Recv(given, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierr)
      if (given == 0) exit
      call work(mod(given * me, 7) * 20000)
      call MPI_Send(given, 1, MPI_INTEGER, 0, 2, MPI_COMM_WORLD, ierr)
    end do
  else
    given = 0
    busy = ranks - 1
    do worker = 1, ranks - 1
      call give(worker)
    end do
    do while (busy > 0)
      number = 1
      flag = .false.
      select case (how)
      case (0)
        call MPI_Waitany(ranks - 1, requests, done(1), MPI_STATUS_IGNORE, ierr)
      case (1)
        call MPI_Waitsome(ranks - 1, requests, number, done, MPI_STATUSES_IGNORE, ierr)
      case (2)
        do while (.not. flag)
          call MPI_Testany(ranks - 1, requests, done(1), flag, MPI_STATUS_IGNORE, ierr)
        end do
      case (3)
        number = 0
        do while (number == 0)
          call MPI_Testsome(ranks - 1, requests, number, done, MPI_STATUSES_IGNORE, ierr)
        end do
      case (4)
        call MPI_Recv(ended, 1, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, status, ierr)
        done(1) = status(MPI_SOURCE)
      case default
        do while (.not. flag)
          call MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, flag, status, ierr)
        end do
        call MPI_Recv(ended, 1, MPI_INTEGER, status(MPI_SOURCE), 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE, ierr)
        done(1) = status(MPI_SOURCE)
      end select
      do i = 1, number
        if (given < tasks) then
          call give(done(i))
        else
          call MPI_Send(0, 1, MPI_INTEGER, done(i), 1, MPI_COMM_WORLD, ierr)
          busy = busy - 1
        end if
      end do
    end do
  end if
  call MPI_Finalize(ierr)

contains

  subroutine give(to)
    integer, intent(in) :: to
    given = given + 1
    call MPI_Send(given, 1, MPI_INTEGER, to, 1, MPI_COMM_WORLD, ierr)
    if (how < 4) then
      call MPI_Irecv(results(to), 1, MPI_INTEGER, to, 2, MPI_COMM_WORLD, requests(to), ierr)
    end if
  end subroutine give

  subroutine work(turns)
    integer, intent(in) :: turns
    real, volatile :: sum
    integer :: turn
    sum = 0
    do turn = 1, turns
      sum = sum + real(turn)
    end do
  end subroutine work
end program steered
