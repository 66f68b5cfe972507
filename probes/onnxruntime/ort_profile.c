#include "onnxruntime/ort_profile.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MAX_PROFILES 256 /* of a process: each is a file */
#define MAX_OWN	     64	 /* options that the program profiles with */
#define CUT_NS	     500 /* times of a profile are whole microseconds, cut off: by so much in the mean */

static char folder[PATH_MAX]; /* RUN/traces; "": no nodes are wanted */
static uint32_t n_profiles;   /* atomic */
static pid_t owner;	      /* the process that the profiles are of: a forked child has none */

void ort_profile_configure(void)
{
	const char *run = getenv("TACHO_RUN_DIR"), *wanted = getenv("TACHO_ONNX_NODES");

	if (!run || !wanted || strcmp(wanted, "1") != 0 ||
	    snprintf(folder, sizeof(folder), "%s/%s", run, TRACE_ADDED_FOLDER) >=
		    (int)sizeof(folder))
		folder[0] = '\0';
}

bool ort_profile_is_wanted(void)
{
	return folder[0] != '\0';
}

/* --- the program's own ---------------------------------------------------------------------- */

static const struct ort_options *own[MAX_OWN]; /* atomic */
static bool has_too_many;

void ort_profile_enabled(const struct ort_options *options)
{
	for (int i = 0; i < MAX_OWN; i++) {
		const struct ort_options *nobody = NULL;

		if (__atomic_load_n(&own[i], __ATOMIC_RELAXED) == options ||
		    __atomic_compare_exchange_n(&own[i], &nobody, options, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED))
			return;
	}
	__atomic_store_n(&has_too_many, true, __ATOMIC_RELAXED);
}

void ort_profile_disabled(const struct ort_options *options)
{
	for (int i = 0; i < MAX_OWN; i++) {
		const struct ort_options *expected = options;

		__atomic_compare_exchange_n(&own[i], &expected, NULL, false, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED);
	}
}

static bool is_own(const struct ort_options *options)
{
	for (int i = 0; options && i < MAX_OWN; i++)
		if (__atomic_load_n(&own[i], __ATOMIC_RELAXED) == options)
			return true;
	return __atomic_load_n(&has_too_many, __ATOMIC_RELAXED);
}

void ort_profile_cloned(const struct ort_options *from, const struct ort_options *to)
{
	if (is_own(from))
		ort_profile_enabled(to);
}

/* --- files ---------------------------------------------------------------------------------- */

static const char *host(void)
{
	static struct utsname names;
	const char *pretended = getenv("TACHO_TEST_HOST");

	if (pretended)
		return pretended;
	return uname(&names) == 0 ? names.nodename : "unknown";
}

/* The folder of a profile, hidden until it is whole. False: its name is too long. */
static bool name_folder(char *path, size_t size, uint32_t profile, bool is_hidden)
{
	int n = snprintf(path, size, "%s/%s%s-%d-onnx-%" PRIu32, folder, is_hidden ? "." : "",
			 host(), (int)getpid(), profile);

	return n > 0 && (size_t)n < size;
}

static bool write_facts(const char *path, uint64_t begin_ns)
{
	char name[PATH_MAX];
	FILE *file;
	bool is_written;

	if (snprintf(name, sizeof(name), "%s/%s", path, TRACE_ADDED_FILE) >= (int)sizeof(name))
		return false;
	file = fopen(name, "we");
	if (!file)
		return false;
	is_written = fprintf(file, "[trace]\nhost=%s\npid=%d\nbase_ns=%" PRIu64 "\n", host(),
			     (int)getpid(), begin_ns) > 0;
	return fclose(file) == 0 && is_written;
}

/* --- a session's ---------------------------------------------------------------------------- */

struct wish {
	const struct ort_library *library;
	const struct ort_options *options;
	uint32_t profile;
	struct ort_options *clone;
};

static void prepare(void *wish_pointer)
{
	struct wish *wish = wish_pointer;
	const struct ort_functions *real = &wish->library->real;
	char path[PATH_MAX], prefix[PATH_MAX];

	if (!name_folder(path, sizeof(path), wish->profile, true) ||
	    snprintf(prefix, sizeof(prefix), "%s/profile", path) >= (int)sizeof(prefix))
		return;
	if ((mkdir(folder, 0700) != 0 && errno != EEXIST) || mkdir(path, 0700) != 0)
		return;
	if (!ort_succeeds(wish->library,
			  wish->options ? real->CloneSessionOptions(wish->options, &wish->clone)
					: real->CreateSessionOptions(&wish->clone)))
		wish->clone = NULL;
	if (wish->clone &&
	    !ort_succeeds(wish->library, real->EnableProfiling(wish->clone, prefix))) {
		real->ReleaseSessionOptions(wish->clone);
		wish->clone = NULL;
	}
	if (!wish->clone)
		rmdir(path);
}

struct ort_options *ort_profile_options(const struct ort_library *library,
					const struct ort_options *options, uint32_t *ret_profile)
{
	struct wish wish = { .library = library, .options = options };

	if (!ort_profile_is_wanted() || is_own(options))
		return NULL;
	wish.profile = __atomic_add_fetch(&n_profiles, 1, __ATOMIC_RELAXED);
	if (wish.profile > MAX_PROFILES) {
		tacho_say("of the sessions of ONNX Runtime behind the first %d no nodes are "
			  "recorded",
			  MAX_PROFILES);
		return NULL;
	}
	tacho_run_aside(prepare, &wish);
	*ret_profile = wish.profile;
	return wish.clone;
}

static void remove_folder(void *profile_pointer)
{
	const uint32_t *profile = profile_pointer;
	char path[PATH_MAX];

	/* what ONNX Runtime wrote there stays, hidden */
	if (name_folder(path, sizeof(path), *profile, true))
		rmdir(path);
}

static void end_at_exit(struct ort_known_session *known)
{
	if (!__atomic_load_n(&known->n_running, __ATOMIC_ACQUIRE))
		ort_profile_end(known->library, known);
}

/* Sessions that nobody releases. The library is still there: it was loaded before this was registered. */
static void at_exit(void)
{
	ort_session_each(end_at_exit);
}

void ort_profile_begun(const struct ort_library *library, struct ort_known_session *known,
		       uint32_t profile)
{
	static bool is_registered;

	if (!known || !ort_succeeds(library, library->real.SessionGetProfilingStartTimeNs(
						     known->session, &known->profile_begin_ns))) {
		tacho_run_aside(remove_folder, &profile);
		return;
	}
	owner = getpid();
	if (!__atomic_exchange_n(&is_registered, true, __ATOMIC_RELAXED))
		atexit(at_exit);
	__atomic_store_n(&known->profile, profile, __ATOMIC_RELEASE);
}

struct ending {
	const struct ort_library *library;
	struct ort_known_session *known;
	uint32_t profile;
};

static void lay_in(void *ending_pointer)
{
	struct ending *ending = ending_pointer;
	const struct ort_functions *real = &ending->library->real;
	struct ort_allocator *allocator = NULL;
	char hidden[PATH_MAX], shown[PATH_MAX];
	char *name = NULL;

	if (!ort_succeeds(ending->library, real->GetAllocatorWithDefaultOptions(&allocator)) ||
	    !ort_succeeds(ending->library,
			  real->SessionEndProfiling(ending->known->session, allocator, &name)))
		return;
	if (name)
		ort_succeeds(ending->library, real->AllocatorFree(allocator, name));
	if (name_folder(hidden, sizeof(hidden), ending->profile, true) &&
	    name_folder(shown, sizeof(shown), ending->profile, false) &&
	    write_facts(hidden, ending->known->profile_begin_ns + CUT_NS))
		rename(hidden, shown);
}

void ort_profile_end(const struct ort_library *library, struct ort_known_session *known)
{
	struct ending ending = { .library = library, .known = known };
	int cause = errno;

	ending.profile = __atomic_exchange_n(&known->profile, 0, __ATOMIC_ACQ_REL);
	if (ending.profile && owner == getpid()) {
		tacho_writer.is_inside++;
		tacho_run_aside(lay_in, &ending);
		tacho_writer.is_inside--;
	}
	errno = cause;
}
