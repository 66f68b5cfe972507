/* mpi_calls probe|message: what a call of MPI takes, in nanoseconds: the least of N_ROUNDS rounds, on stderr. One process; mpi_calls.sh compiles and runs
 * it.
 *
 *   probe     a probe for a message that is not there: a call that is one slice
 *   message   a receive that is begun, a send to oneself and a wait: three slices and two transfers */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "../tests/support/paced.h"

#define N_ROUNDS 9
#define N_CALLS	 20000

static void look(void)
{
	int is_there;

	MPI_Iprobe(0, 1, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}

static void send_to_oneself(void)
{
	double out = 1, in;
	MPI_Request request;

	MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
	MPI_Send(&out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
	void (*call)(void) = argc > 1 && strcmp(argv[1], "message") == 0 ? send_to_oneself : look;
	double least = 0;

	MPI_Init(&argc, &argv);
	for (int round = 0; round < N_ROUNDS; round++) {
		double begin_s = paced_now_s(), each;

		for (int i = 0; i < N_CALLS; i++)
			call();
		each = (paced_now_s() - begin_s) * 1e9 / N_CALLS;
		least = round == 0 || each < least ? each : least;
	}
	MPI_Finalize();
	fprintf(stderr, "%.1f\n", least);
	return 0;
}
