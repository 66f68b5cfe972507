/* fuzz_ctf_trace: whatever bytes as the files of a CTF trace, on the whole way: a process of its own decodes them with
 * libbabeltrace2, another one mends what it refuses, and this one reads what they write. fuzz_ctf is the last part of that
 * way alone, and a hundred times as fast.
 *
 * The input is a row of files (fuzz_folder.h): metadata, then streams, three at most, then what an export carries of its run.
 *
 * (1) The counters of coverage are shared with the processes, so that libFuzzer sees what they do.
 * (2) What libbabeltrace2 does to its process does not matter. What our code does there is a find: what a sanitizer says of
 *     it ends the process, which tells us. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <tacho/import.h>

#include "foreign_traces.h"
#include "fuzz_folder.h"
#include "fuzz_input.h"

enum { MOST_CPU_S = 2 /* of a process: damage can make libbabeltrace2 read in circles */ };

static const gchar *const file_names[] = { "metadata", "stream_0", "stream_1", "stream_2",
					   ".tacho_run" };

#ifdef TACHO_FUZZ
#include <dlfcn.h>
#include <pthread.h>
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <unistd.h>

/* Where the linker puts the counters. In C, the names would be those that the compiler gives them itself. */
__asm__(".pushsection .data.rel, \"aw\"\n"
	".balign 8\n"
	"counters_place: .quad __start___sancov_cntrs, __stop___sancov_cntrs\n"
	".popsection\n");
extern const uintptr_t counters_place[2];

static gint *has_fault; /* shared with the processes */

static void *share(void *place, size_t n)
{
	void *shared = mmap(place, n, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);

	if (shared == MAP_FAILED)
		g_error("no memory can be shared");
	return shared;
}

/* (1), but for those on the first and the last page, which others may be on, too. */
static void share_counters(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t begin = (counters_place[0] + page - 1) / page * page;
	uintptr_t end = counters_place[1] / page * page;
	g_autofree void *counters = NULL;

	if (begin >= end)
		return;
	counters = g_memdup2((void *)begin, end - begin);
	memcpy(share((void *)begin, end - begin), counters, end - begin);
}

/* (2): in whose code it happened. */
static void note_fault(void)
{
	void *place = __asan_report_present() ? __asan_get_report_pc() : NULL;
	Dl_info info;

	if (!place || !dladdr(place, &info) || !strstr(info.dli_fname, "babeltrace"))
		*has_fault = 1;
}

static void begin_child(void)
{
	struct rlimit most = { MOST_CPU_S, MOST_CPU_S };

	signal(SIGABRT, SIG_DFL); /* else libFuzzer takes an assertion for a find */
	setrlimit(RLIMIT_CPU, &most);
	__sanitizer_set_death_callback(note_fault);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	if (access("/dev/shm", W_OK) == 0)
		g_setenv("TMPDIR", "/dev/shm", TRUE); /* what is mended is written there */
	has_fault = share(NULL, sizeof(*has_fault));
	share_counters();
	pthread_atfork(NULL, NULL, begin_child);
	return 0;
}
#else
static gint no_fault, *has_fault = &no_fault;
#endif

/* An assertion of ours, which names its file, is a find, too. */
static void check_problems(const TachoTimeline *timeline)
{
	for (guint i = 0; i < timeline->problems->len; i++) {
		const TachoProblem *problem = &g_array_index(timeline->problems, TachoProblem, i);

		if (strstr(problem->where, "src/import/"))
			FUZZ_FAIL("%s", problem->where);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const gchar *path = fuzz_folder_fill(file_names, G_N_ELEMENTS(file_names), data, size);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = tacho_run_open(&path, 1, NULL, NULL, &error);

	g_assert_true((timeline == NULL) == (error != NULL));
	if (timeline) {
		check_problems(timeline);
		foreign_use(timeline);
	} else if (strstr(error->message, "src/import/")) {
		FUZZ_FAIL("%s", error->message);
	}
	if (*has_fault)
		FUZZ_FAIL("a process that decoded or mended the trace came to harm");
	return 0;
}
