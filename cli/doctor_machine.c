#include <errno.h>
#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli.h"
#include "clock_calibration.h"
#include "doctor.h"
#include "kernel_recording.h"
#include "trace/call_filters.h"

#define PACKET_BYTES	 (1 << 20)
#define LITTLE_BYTES	 (G_GUINT64_CONSTANT(1) << 30)
#define TOO_LITTLE_BYTES (G_GUINT64_CONSTANT(64) << 20)
#define STREAM_BYTES	 (G_GUINT64_CONSTANT(64) << 20) /* probes/agent/settings.def: file_kb */
#define LITTLE_SHM_BYTES (G_GUINT64_CONSTANT(256) << 20)

static void look_at_clock(Diagnosis *diagnosis)
{
	GError *error = NULL;
	g_autofree gchar *clock = clock_calibrate(CLOCK_AUTO, &error);
	gdouble hz = 0;

	if (!clock) {
		diagnosis_add(diagnosis, "clock", FINDING_FAILS, g_strdup(error->message), NULL);
		g_error_free(error);
	} else if (g_str_has_prefix(clock, "tsc,")) {
		hz = g_ascii_strtod(clock + strlen("tsc,"), NULL);
		diagnosis_add(
			diagnosis, "clock", FINDING_WORKS,
			g_strdup_printf("the processor's time stamp counter, %.0f MHz", hz / 1e6),
			NULL);
	} else {
		diagnosis_add(diagnosis, "clock", FINDING_WORKS,
			      g_strdup("CLOCK_MONOTONIC: the kernel or the processor does not "
				       "vouch for the time stamp counter; a record costs more"),
			      NULL);
	}
}

/* Do with a file what the agent does with a stream's. NULL: that works; else what does not, and errno says why. */
static const gchar *try_stream(const gchar *folder)
{
	g_autofree gchar *path = g_build_filename(folder, "stream", NULL);
	int fd = g_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	const gchar *failed = NULL;
	void *memory;
	int cause;

	if (fd < 0)
		return "a file cannot be made";
	errno = posix_fallocate(fd, 0, PACKET_BYTES);
	if (errno)
		failed = "no space can be reserved";
	memory = failed ? MAP_FAILED
			: mmap(NULL, PACKET_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		failed = failed ? failed : "a file cannot be mapped";
	} else {
		memset(memory, 1, PACKET_BYTES);
		munmap(memory, PACKET_BYTES);
	}
	cause = errno;
	close(fd);
	g_unlink(path);
	errno = cause;
	return failed;
}

static void look_at_folder(Diagnosis *diagnosis, const gchar *folder)
{
	g_autofree gchar *made = g_build_filename(folder, ".tacho-doctor-XXXXXX", NULL);
	g_autofree gchar *advice = g_strdup("record into another folder: tacho record -o DIR; "
					    "tacho doctor -o FOLDER looks at one");
	struct statvfs status;
	const gchar *failed;
	guint64 bytes;
	g_autofree gchar *size = NULL;
	int cause;

	if (!g_mkdtemp(made)) {
		diagnosis_add(
			diagnosis, "folder", FINDING_FAILS,
			g_strdup_printf("no run can be made in %s: %s", folder, g_strerror(errno)),
			g_steal_pointer(&advice));
		return;
	}
	failed = try_stream(made);
	cause = errno;
	g_rmdir(made);
	if (failed) {
		diagnosis_add(diagnosis, "folder", FINDING_FAILS,
			      g_strdup_printf("in %s %s: %s", folder, failed, g_strerror(cause)),
			      g_steal_pointer(&advice));
		return;
	}
	if (statvfs(folder, &status) < 0)
		return;
	bytes = (guint64)status.f_bavail * status.f_frsize;
	size = g_format_size(bytes);
	if (bytes >= LITTLE_BYTES)
		g_clear_pointer(&advice, g_free);
	diagnosis_add(diagnosis, "folder",
		      bytes < TOO_LITTLE_BYTES ? FINDING_FAILS
		      : bytes < LITTLE_BYTES   ? FINDING_PARTLY
					       : FINDING_WORKS,
		      g_strdup_printf("%s is free in %s", size, folder), g_steal_pointer(&advice));
}

static guint64 limit_of(int resource)
{
	struct rlimit limit;

	return getrlimit((__rlimit_resource_t)resource, &limit) < 0 ||
			       limit.rlim_cur == RLIM_INFINITY
		       ? G_MAXUINT64
		       : limit.rlim_cur;
}

static gchar *size_or_none(guint64 bytes)
{
	return bytes == G_MAXUINT64 ? g_strdup("unlimited")
				    : g_format_size_full(bytes, G_FORMAT_SIZE_IEC_UNITS);
}

static void look_at_limits(Diagnosis *diagnosis)
{
	guint64 file_bytes = limit_of(RLIMIT_FSIZE), address_bytes = limit_of(RLIMIT_AS);
	g_autofree gchar *file = size_or_none(file_bytes), *address = size_or_none(address_bytes);
	g_autofree gchar *locked = size_or_none(limit_of(RLIMIT_MEMLOCK));

	diagnosis_add(diagnosis, "file size",
		      file_bytes < PACKET_BYTES	  ? FINDING_FAILS
		      : file_bytes < STREAM_BYTES ? FINDING_PARTLY
						  : FINDING_WORKS,
		      g_strdup_printf("files may be large: %s (ulimit -f)", file),
		      file_bytes < STREAM_BYTES
			      ? g_strdup("raise it, or records are lost: ulimit -f unlimited")
			      : NULL);
	diagnosis_add(
		diagnosis, "memory", FINDING_WORKS,
		g_strdup_printf("address space %s (ulimit -v), locked memory %s (ulimit -l), of "
				"which tacho uses none",
				address, locked),
		address_bytes == G_MAXUINT64
			? NULL
			: g_strdup("each thread that records maps up to two files of 64 MiB; "
				   "raise ulimit -v where the job runs out of it"));
}

/* Not tacho's need, but what many jobs die of in containers. */
static void look_at_shared_memory(Diagnosis *diagnosis)
{
	struct statvfs status;
	guint64 bytes;
	g_autofree gchar *size = NULL;

	if (statvfs("/dev/shm", &status) < 0) {
		diagnosis_add(
			diagnosis, "/dev/shm", FINDING_ABSENT,
			g_strdup("is not there; tacho does not need it, data loader workers do"),
			NULL);
		return;
	}
	bytes = (guint64)status.f_bavail * status.f_frsize;
	size = g_format_size_full(bytes, G_FORMAT_SIZE_IEC_UNITS);
	diagnosis_add(
		diagnosis, "/dev/shm", bytes < LITTLE_SHM_BYTES ? FINDING_PARTLY : FINDING_WORKS,
		g_strdup_printf("%s is free; tacho does not need it, data loader workers do", size),
		bytes < LITTLE_SHM_BYTES
			? g_strdup("give a container more: docker run --shm-size=2g")
			: NULL);
}

static void look_at_filters(Diagnosis *diagnosis)
{
	guint64 n = call_filters_count();

	diagnosis_add(
		diagnosis, "seccomp", FINDING_WORKS,
		n ? g_strdup_printf("%" G_GUINT64_FORMAT " filter%s of system calls around this "
				    "shell; a process that adds its own is left alone",
				    n, n == 1 ? "" : "s")
		  : g_strdup("no filter of system calls; a process that sets one is left alone"),
		NULL);
}

/* What the loader brings into each program already. */
static void look_at_preloaded(Diagnosis *diagnosis)
{
	const gchar *value = g_getenv("LD_PRELOAD");
	g_auto(GStrv) libraries = g_strsplit_set(value ? value : "", ": ", -1);
	g_autoptr(GString) missing = g_string_new(NULL);

	for (guint i = 0; libraries[i]; i++)
		if (strchr(libraries[i], '/') && !g_file_test(libraries[i], G_FILE_TEST_EXISTS))
			g_string_append_printf(missing, "%s%s", missing->len ? ", " : "",
					       libraries[i]);
	if (missing->len)
		diagnosis_add(diagnosis, "LD_PRELOAD", FINDING_PARTLY,
			      g_strdup_printf("names %s, which is not there: the loader complains "
					      "in each process",
					      missing->str),
			      g_strdup("unset LD_PRELOAD, or take it out"));
	else
		diagnosis_add(
			diagnosis, "LD_PRELOAD", FINDING_WORKS,
			value && *value
				? g_strdup_printf("%s keeps its place before tacho's libraries",
						  value)
				: g_strdup("is free"),
			NULL);
}

/* Where programs find who receives what they tell: one tool can be named. */
static void look_at_variable(Diagnosis *diagnosis, const gchar *variable, const gchar *what)
{
	const gchar *value = g_getenv(variable);

	if (value && *value)
		diagnosis_add(
			diagnosis, variable, FINDING_PARTLY,
			g_strdup_printf("names %s, which stays: %s are that tool's", value, what),
			g_strdup_printf("unset %s to have them recorded", variable));
	else
		diagnosis_add(diagnosis, variable, FINDING_WORKS, g_strdup("is free"), NULL);
}

/* A variable that is a list: several tools may be there. */
static void look_at_list(Diagnosis *diagnosis, const gchar *variable)
{
	const gchar *value = g_getenv(variable);

	diagnosis_add(diagnosis, variable, FINDING_WORKS,
		      value && *value ? g_strdup_printf("%s stays, before tacho's", value)
				      : g_strdup("is free"),
		      NULL);
}

/* What was compiled for which MPI. */
static void look_at_mpi(Diagnosis *diagnosis)
{
	static const struct {
		const gchar *library, *name;
	} flavours[] = { { "libtacho_mpi_openmpi.so", "Open MPI" },
			 { "libtacho_mpi_mpich.so", "MPICH" } };
	g_autoptr(GString) built = g_string_new(NULL);

	for (guint i = 0; i < G_N_ELEMENTS(flavours); i++) {
		g_autofree gchar *path =
			g_build_filename(cli_prefix(), "lib", "tacho", flavours[i].library, NULL);

		if (g_file_test(path, G_FILE_TEST_EXISTS))
			g_string_append_printf(built, "%s%s", built->len ? ", " : "",
					       flavours[i].name);
	}
	diagnosis_add(diagnosis, "mpi", built->len ? FINDING_WORKS : FINDING_ABSENT,
		      built->len ? g_strdup_printf("the probe was built for %s", built->str)
				 : g_strdup("the probe was built for no MPI"),
		      built->len ? NULL
				 : g_strdup("build tacho where an MPI's headers are, if jobs use "
					    "MPI"));
}

/* What --probes kernel would record: who took the threads' cores, faults, disks, retransmits. */
static void look_at_kernel(Diagnosis *diagnosis)
{
	g_autofree gchar *why = NULL;
	KernelAmount amount = kernel_recording_check(&why);
	g_autofree gchar *program =
		g_build_filename(cli_prefix(), "lib", "tacho", "tacho-kernel", NULL);

	if (amount == KERNEL_RECORDS_EVENTS && !why)
		diagnosis_add(diagnosis, "kernel", FINDING_WORKS,
			      g_strdup("--probes all,kernel records switches, faults, disks and "
				       "retransmits, by eBPF"),
			      NULL);
	else if (amount == KERNEL_RECORDS_EVENTS)
		diagnosis_add(diagnosis, "kernel", FINDING_PARTLY, g_steal_pointer(&why), NULL);
	else if (amount == KERNEL_RECORDS_SUMS)
		diagnosis_add(
			diagnosis, "kernel", FINDING_ABSENT,
			g_strdup_printf("--probes all,kernel records sums by thread alone, from "
					"/proc: %s",
					why),
			g_strdup_printf("run tacho as root, or: sudo setcap "
					"cap_bpf,cap_perfmon=ep %s",
					program));
	else
		diagnosis_add(diagnosis, "kernel", FINDING_ABSENT, g_steal_pointer(&why), NULL);
}

void doctor_machine(Diagnosis *diagnosis, const gchar *folder)
{
	diagnosis_area(diagnosis, "This machine");
	look_at_clock(diagnosis);
	look_at_folder(diagnosis, folder);
	look_at_limits(diagnosis);
	look_at_shared_memory(diagnosis);
	look_at_filters(diagnosis);
	look_at_preloaded(diagnosis);
	look_at_variable(diagnosis, "INTEL_LIBITTNOTIFY64",
			 "oneDNN's kernels in wheels, and what programs tell by ITT,");
	look_at_variable(diagnosis, "NVTX_INJECTION64_PATH", "ranges that programs tell by NVTX");
	look_at_variable(diagnosis, "CUDA_INJECTION64_PATH", "calls and kernels of CUDA");
	look_at_list(diagnosis, "OPENCL_LAYERS");
	look_at_list(diagnosis, "ROCP_TOOL_LIBRARIES");
	look_at_mpi(diagnosis);
	look_at_kernel(diagnosis);
}
