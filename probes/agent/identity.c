#include "agent/identity.h"
#include "agent/tf_config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S UINT64_C(1000000000)

/* In the order asked: torchrun and other DDP launchers; OpenMPI; PMIx; MPICH, Intel MPI and their
 * kin; MVAPICH2; Slurm last, for it sets its variables for the batch script too. */
static const char *const rank_variables[] = {
	"RANK",		"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
	"HOROVOD_RANK", "SLURM_PROCID",		NULL
};
static const char *const local_rank_variables[] = { "LOCAL_RANK",
						    "OMPI_COMM_WORLD_LOCAL_RANK",
						    "MPI_LOCALRANKID",
						    "MV2_COMM_WORLD_LOCAL_RANK",
						    "HOROVOD_LOCAL_RANK",
						    "SLURM_LOCALID",
						    NULL };
static const char *const world_size_variables[] = {
	"WORLD_SIZE",	"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
	"HOROVOD_SIZE", "SLURM_NTASKS",		NULL
};
static const char *const job_variables[] = { "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "PBS_JOBID",
					     "LSB_JOBID",	    "JOB_ID",	    NULL };

static int first_number(const char *const *variables)
{
	for (; *variables; variables++) {
		const char *value = getenv(*variables);
		char *end;
		long number;

		if (!value || *value < '0' || *value > '9')
			continue;
		number = strtol(value, &end, 10);
		if (!*end && number <= INT_MAX)
			return (int)number;
	}
	return -1;
}

static int read_rank(int *world_size)
{
	int rank = first_number(rank_variables);

	if (rank < 0)
		tf_config_read(getenv("TF_CONFIG"), &rank, world_size);
	return rank;
}

int identity_rank(void)
{
	int world_size;

	return read_rank(&world_size);
}

static void copy_text(char *target, size_t size, const char *text)
{
	size_t length = strnlen(text, size - 1);

	memcpy(target, text, length);
	target[length] = '\0';
}

/* The whole of a small file, NUL-terminated; its length, 0 where it cannot be read. */
static size_t read_small_file(const char *path, char *buffer, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? 0 : read(fd, buffer, size - 1);

	if (fd >= 0)
		close(fd);
	if (length < 0)
		length = 0;
	buffer[length] = '\0';
	return (size_t)length;
}

static void read_host(struct identity *identity, const char *test_host)
{
	size_t n;

	if (*test_host) {
		copy_text(identity->host, sizeof(identity->host), test_host);
		copy_text(identity->boot_id, sizeof(identity->boot_id), test_host);
		return;
	}
	if (gethostname(identity->host, sizeof(identity->host) - 1) < 0)
		copy_text(identity->host, sizeof(identity->host), "unknown");
	n = read_small_file("/proc/sys/kernel/random/boot_id", identity->boot_id,
			    sizeof(identity->boot_id));
	if (n && identity->boot_id[n - 1] == '\n')
		identity->boot_id[n - 1] = '\0';
}

/* The kernel tells when the process began in ticks since the machine's start, rounded down. */
static uint64_t read_age_ns(void)
{
	char text[1024];
	unsigned long long start_ticks;
	uint64_t start_ns, now_ns;
	struct timespec now;
	long hz = sysconf(_SC_CLK_TCK);
	const char *fields;

	read_small_file("/proc/self/stat", text, sizeof(text));
	fields = strrchr(text, ')'); /* the name may hold anything */
	if (!fields || hz <= 0 ||
	    sscanf(fields + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d "
		   "%llu",
		   &start_ticks) != 1 ||
	    clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return 0;
	start_ns = start_ticks * (NS_PER_S / (uint64_t)hz);
	now_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	return now_ns > start_ns ? now_ns - start_ns : 0;
}

void identity_read(struct identity *identity, const char *test_host)
{
	const char *started_as = (const char *)getauxval(AT_EXECFN);
	ssize_t length;
	size_t n;

	memset(identity, 0, sizeof(*identity));
	identity->local_rank = first_number(local_rank_variables);
	identity->world_size = first_number(world_size_variables);
	identity->rank = read_rank(&identity->world_size);
	for (const char *const *variable = job_variables; *variable; variable++) {
		const char *value = getenv(*variable);

		if (value && *value) {
			copy_text(identity->job, sizeof(identity->job), value);
			break;
		}
	}
	identity->age_ns = read_age_ns();
	read_host(identity, test_host);
	length = readlink("/proc/self/exe", identity->exe, sizeof(identity->exe) - 1);
	identity->exe[length > 0 ? length : 0] = '\0';
	n = read_small_file("/proc/self/cmdline", identity->command, sizeof(identity->command));
	for (size_t i = 0; i + 1 < n; i++)
		if (!identity->command[i])
			identity->command[i] = ' ';
	/* without /proc: as the program was started */
	if (!*identity->exe && started_as)
		copy_text(identity->exe, sizeof(identity->exe), started_as);
	if (!n)
		copy_text(identity->command, sizeof(identity->command), identity->exe);
}
