/* mpi_job CASE: programs of four ranks, that use MPI in one way each. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/paced.h"

static int rank, size;

static void must(int is_right, const char *what)
{
	if (is_right)
		return;
	printf("rank %d: wrong: %s\n", rank, what);
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A ring: rank r sends r + 1 doubles to its neighbour, four times; the even send first. */
static void ring(void)
{
	double out[16] = { 0 }, in[16];
	int next = (rank + 1) % size, before = (rank + size - 1) % size, count = 0;
	MPI_Status status;

	for (int i = 0; i < 4; i++) {
		if (rank % 2 == 0)
			MPI_Send(out, rank + 1, MPI_DOUBLE, next, i, MPI_COMM_WORLD);
		MPI_Recv(in, 16, MPI_DOUBLE, before, i, MPI_COMM_WORLD, &status);
		MPI_Get_count(&status, MPI_DOUBLE, &count);
		must(count == before + 1 && status.MPI_SOURCE == before && status.MPI_TAG == i,
		     "ring");
		if (rank % 2)
			MPI_Send(out, rank + 1, MPI_DOUBLE, next, i, MPI_COMM_WORLD);
	}
}

/* Messages of other tags overtake: sent as 1, 2, received as 2, 1. To rank 0 from anywhere. */
static void tags(void)
{
	int a = rank, b = 10 * rank, first[4], second[4];
	MPI_Request requests[8];

	if (rank) {
		MPI_Isend(&a, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &requests[0]);
		MPI_Isend(&b, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, &requests[1]);
		MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
		return;
	}
	for (int i = 0; i < size - 1; i++)
		MPI_Irecv(&second[i], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[i]);
	MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
	for (int i = 0; i < size - 1; i++)
		MPI_Recv(&first[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
	must(first[0] + first[1] + first[2] == 6 && second[0] + second[1] + second[2] == 60,
	     "tags");
}

/* Rank 1 sends 300 ms late, rank 0 waits; then rank 0 receives late. */
static void late(void)
{
	int value = 7;

	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1) {
		usleep(300000);
		MPI_Ssend(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
		MPI_Ssend(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
	} else if (rank == 0) {
		MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		usleep(300000);
		MPI_Recv(&value, 1, MPI_INT, 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Collectives on all, on halves, in place; immediate ones. */
static void collectives(void)
{
	double in[8] = { rank }, out[8], all[32];
	int counts[4] = { 1, 2, 3, 2 }, places[4] = { 0, 1, 3, 6 };
	MPI_Comm half, twin;
	MPI_Request request;

	for (int i = 0; i < 10; i++)
		MPI_Allreduce(in, out, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	must(out[0] == 6, "all-reduce");
	MPI_Allreduce(MPI_IN_PLACE, out, 8, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	MPI_Bcast(in, 4, MPI_DOUBLE, 2, MPI_COMM_WORLD);
	MPI_Reduce(in, out, 8, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
	MPI_Allgather(in, 8, MPI_DOUBLE, all, 8, MPI_DOUBLE, MPI_COMM_WORLD);
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 8, MPI_DOUBLE, MPI_COMM_WORLD);
	MPI_Allgatherv(in, counts[rank], MPI_DOUBLE, out, counts, places, MPI_DOUBLE,
		       MPI_COMM_WORLD);
	MPI_Alltoall(all, 2, MPI_DOUBLE, out, 2, MPI_DOUBLE, MPI_COMM_WORLD);
	MPI_Gather(in, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	if (rank == 0)
		MPI_Scatter(all, 1, MPI_DOUBLE, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 0,
			    MPI_COMM_WORLD);
	else
		MPI_Scatter(NULL, 0, MPI_DATATYPE_NULL, out, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	MPI_Comm_dup(half, &twin);
	MPI_Allreduce(in, out, 4, MPI_DOUBLE, MPI_SUM, twin);
	MPI_Allreduce(in, out, 2, MPI_DOUBLE, MPI_SUM, half);
	MPI_Comm_free(&twin);
	MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &twin);
	MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, twin);
	/* rank 0 of the half is the highest of the job's */
	if (rank / 2 == 1)
		MPI_Send(in, 1, MPI_DOUBLE, 1, 9, half);
	else
		MPI_Recv(in, 1, MPI_DOUBLE, 0, 9, half, MPI_STATUS_IGNORE);
	MPI_Comm_free(&twin);
	MPI_Comm_free(&half);
	MPI_Iallreduce(in, out, 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Persistent requests, exchanges, waits for any and some, matched probes, nobody. */
static void requests(void)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size, out = rank, in, index,
	    flag = 0;
	int indices[2], n;
	MPI_Request pair[2], many[20];
	MPI_Message message;
	MPI_Status status;

	MPI_Send_init(&out, 1, MPI_INT, next, 3, MPI_COMM_WORLD, &pair[0]);
	MPI_Recv_init(&in, 1, MPI_INT, before, 3, MPI_COMM_WORLD, &pair[1]);
	for (int i = 0; i < 5; i++) {
		MPI_Startall(2, pair);
		if (i % 2) {
			MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
		} else {
			MPI_Waitany(2, pair, &index, MPI_STATUS_IGNORE);
			MPI_Waitany(2, pair, &index, &status);
		}
		must(in == before, "persistent");
	}
	MPI_Request_free(&pair[0]);
	MPI_Request_free(&pair[1]);
	MPI_Sendrecv(&out, 1, MPI_INT, next, 1, &in, 1, MPI_INT, before, MPI_ANY_TAG,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	must(in == before, "exchange");
	MPI_Sendrecv_replace(&out, 1, MPI_INT, next, 2, before, 2, MPI_COMM_WORLD, &status);
	must(out == before, "replacing exchange");
	MPI_Irecv(&in, 1, MPI_INT, before, 4, MPI_COMM_WORLD, &pair[0]);
	MPI_Isend(&out, 1, MPI_INT, next, 4, MPI_COMM_WORLD, &pair[1]);
	for (int done = 0; done < 2; done += n)
		MPI_Waitsome(2, pair, &n, indices, MPI_STATUSES_IGNORE);
	MPI_Isend(&out, 1, MPI_INT, next, 6, MPI_COMM_WORLD, &pair[1]);
	MPI_Mprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
	MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
	/* who looks without a pause, while its peer has no core, is recorded without a pause */
	for (; !flag; usleep(100))
		MPI_Test(&pair[1], &flag, MPI_STATUS_IGNORE);
	MPI_Send(&out, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
	MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
	must(status.MPI_SOURCE == MPI_PROC_NULL, "nobody");
	for (int i = 0; i < 10; i++) {
		MPI_Irecv(&in, 1, MPI_INT, before, 7, MPI_COMM_WORLD, &many[i]);
		MPI_Isend(&out, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &many[10 + i]);
	}
	for (flag = 0; !flag; usleep(100))
		MPI_Testall(20, many, &flag, MPI_STATUSES_IGNORE);
	MPI_Barrier(MPI_COMM_WORLD);
}

/* Windows and files. */
static void beside(void)
{
	int *memory, value = rank;
	char path[64] = "beside.dat";
	MPI_Win window;
	MPI_File file;

	MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
	MPI_Win_fence(0, window);
	MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
	MPI_Win_fence(0, window);
	MPI_Win_free(&window);
	MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
	MPI_File_write_at_all(file, rank * 4, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
	MPI_File_close(&file);
}

/* Steps: all compute 4 ms, rank 1 10 ms, then halos and a sum. */
static void steps(void)
{
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	double *halo = calloc(4096, 8), *in = calloc(4096, 8), sum[1024] = { 0 };
	MPI_Request pair[2];

	for (int i = 0; i < 30; i++) {
		MPI_Irecv(in, 4096, MPI_DOUBLE, before, 0, MPI_COMM_WORLD, &pair[0]);
		MPI_Isend(halo, 4096, MPI_DOUBLE, next, 0, MPI_COMM_WORLD, &pair[1]);
		if (rank == 1)
			usleep(10000);
		else
			usleep(4000);
		MPI_Waitall(2, pair, MPI_STATUSES_IGNORE);
		MPI_Allreduce(MPI_IN_PLACE, sum, 1024, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	free(halo);
	free(in);
}

/* Errors are returned as without tacho. */
static void errors(void)
{
	int value = 0, status, class_of;

	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	status = MPI_Send(&value, 1, MPI_INT, 99, 1, MPI_COMM_WORLD);
	MPI_Error_class(status, &class_of);
	must(class_of == MPI_ERR_RANK, "rank");
	status = MPI_Send(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	MPI_Error_class(status, &class_of);
	must(class_of == MPI_ERR_COUNT, "count");
	status = MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD);
	MPI_Error_class(status, &class_of);
	must(class_of == MPI_ERR_TYPE, "type");
	status = MPI_Allreduce(&value, &value, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD);
	must(status != MPI_SUCCESS, "operation");
}

/* A message of 8 KiB to a neighbour and one from it in each round. */
static void paced(void)
{
	double out[1024] = { 0 }, in[1024];
	static struct paced rounds;

	while (paced_goes_on(&rounds)) {
		paced_work();
		MPI_Sendrecv(out, 1024, MPI_DOUBLE, rank ^ 1, 0, in, 1024, MPI_DOUBLE, rank ^ 1, 0,
			     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	if (rank == 0)
		paced_tell(&rounds);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "ring", ring },		{ "tags", tags },
		      { "late", late },		{ "collectives", collectives },
		      { "requests", requests }, { "beside", beside },
		      { "errors", errors },	{ "steps", steps },
		      { "paced", paced } };

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	MPI_Finalize();
	return 0;
}
