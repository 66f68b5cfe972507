! Calls of Fortran: a ring by each way of asking for statuses, collectives in place, a communicator of halves.
program mpi_fortran
  use mpi
  implicit none
  integer :: rank, size, next, before, code, half, i, n, indices(2)
  integer :: requests(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  double precision :: out(8), in(8)
  logical :: flag

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, size, code)
  next = mod(rank + 1, size)
  before = mod(rank + size - 1, size)
  out = rank
  do i = 1, 4
    call MPI_Irecv(in, 8, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, requests(1), code)
    call MPI_Isend(out, i, MPI_DOUBLE_PRECISION, next, i, MPI_COMM_WORLD, requests(2), code)
    if (i == 1) call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, code)
    if (i == 2) call MPI_Waitall(2, requests, statuses, code)
    if (i == 3) then
      call MPI_Wait(requests(1), MPI_STATUS_IGNORE, code)
      flag = .false.
      do while (.not. flag)
        call MPI_Test(requests(2), flag, status, code)
      end do
    end if
    if (i == 4) then
      call MPI_Waitany(2, requests, n, status, code)
      call MPI_Waitsome(2, requests, n, indices, statuses, code)
    end if
    if (int(in(1)) /= before) call MPI_Abort(MPI_COMM_WORLD, 3, code)
  end do
  call MPI_Sendrecv(out, 3, MPI_DOUBLE_PRECISION, next, 7, in, 8, MPI_DOUBLE_PRECISION, before, 7, &
       MPI_COMM_WORLD, status, code)
  if (status(MPI_SOURCE) /= before) call MPI_Abort(MPI_COMM_WORLD, 4, code)
  call MPI_Allreduce(MPI_IN_PLACE, out, 8, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, code)
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, 2, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, code)
  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, code)
  call MPI_Bcast(out, 5, MPI_DOUBLE_PRECISION, 0, half, code)
  call MPI_Comm_free(half, code)
  call MPI_Barrier(MPI_COMM_WORLD, code)
  if (rank == 0) print *, 'done'
  call MPI_Finalize(code)
end program
