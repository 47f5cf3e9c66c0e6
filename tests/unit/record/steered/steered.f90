! Tasks that rank 0 gives to whoever has done one: by Waitany, Waitsome, Testany or Testsome, by
! receives from any source, and by probes. The number of a pattern is the argument.
program steered
  use mpi_f08
  implicit none
  integer, parameter :: tasks = 24, most = 16
  integer :: me, ranks, how, worker, given, busy, number, i, ended
  integer :: results(most), done(most)
  logical :: flag
  character(len=8) :: word
  type(MPI_Request) :: requests(most)
  type(MPI_Status) :: status

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, me)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, word)
  read (word, *) how
  if (me > 0) then
    do
      call MPI_Recv(given, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
      if (given == 0) exit
      call work(mod(given * me, 7) * 20000)
      call MPI_Send(given, 1, MPI_INTEGER, 0, 2, MPI_COMM_WORLD)
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
        call MPI_Waitany(ranks - 1, requests, done(1), MPI_STATUS_IGNORE)
      case (1)
        call MPI_Waitsome(ranks - 1, requests, number, done, MPI_STATUSES_IGNORE)
      case (2)
        do while (.not. flag)
          call MPI_Testany(ranks - 1, requests, done(1), flag, MPI_STATUS_IGNORE)
        end do
      case (3)
        number = 0
        do while (number == 0)
          call MPI_Testsome(ranks - 1, requests, number, done, MPI_STATUSES_IGNORE)
        end do
      case (4)
        call MPI_Recv(ended, 1, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, status)
        done(1) = status%MPI_SOURCE
      case default
        do while (.not. flag)
          call MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, flag, status)
        end do
        call MPI_Recv(ended, 1, MPI_INTEGER, status%MPI_SOURCE, 2, MPI_COMM_WORLD, &
                      MPI_STATUS_IGNORE)
        done(1) = status%MPI_SOURCE
      end select
      do i = 1, number
        if (given < tasks) then
          call give(done(i))
        else
          call MPI_Send(0, 1, MPI_INTEGER, done(i), 1, MPI_COMM_WORLD)
          busy = busy - 1
        end if
      end do
    end do
  end if
  call MPI_Finalize()

contains

  subroutine give(to)
    integer, intent(in) :: to
    given = given + 1
    call MPI_Send(given, 1, MPI_INTEGER, to, 1, MPI_COMM_WORLD)
    if (how < 4) then
      call MPI_Irecv(results(to), 1, MPI_INTEGER, to, 2, MPI_COMM_WORLD, requests(to))
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
