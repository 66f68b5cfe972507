/* mpi_probe: MPI's entry points, of C and Fortran, in a preloaded library that knows no MPI.
 *
 * Open MPI's handles are pointers, MPICH's are integers, and a program may bring either, or none. No argument of these calls is a floating
 * point number, so each entry point takes them as words and hands them on. At the first call, the library that the caller would have
 * reached says which MPI it is, and what records for that is loaded (libtacho_mpi_openmpi.so, libtacho_mpi_mpich.so).
 *
 * (1) An unknown MPI's calls go straight on.
 * (2) MPI that calls itself by these names is recorded once. MPICH's calls of Fortran make those of C, which are recorded instead.
 * (3) Words behind the last argument are read from the caller's stack, and handed on: nobody looks at them. */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "common/probe.h"
#include "common/real_function.h"
#include "mpi/mpi_call.h"

#define VERSION_BYTES 8192 /* more than MPI_MAX_LIBRARY_VERSION_STRING of any */

/* The names of an entry point. */
enum language { LANGUAGE_C, FORTRAN, FORTRAN_TWICE, FORTRAN_2008, N_LANGUAGES };

static struct real_function reals[N_LANGUAGES][MPI_N_CALLS];

static const char *const names[N_LANGUAGES][MPI_N_CALLS] = {
#define CALL(name, fortran, what, arguments) "MPI_" #name,
	{
#include "mpi/mpi_calls.def"
	},
#undef CALL
#define CALL(name, fortran, what, arguments) "mpi_" #fortran "_",
	{
#include "mpi/mpi_calls.def"
	},
#undef CALL
#define CALL(name, fortran, what, arguments) "mpi_" #fortran "__",
	{
#include "mpi/mpi_calls.def"
	},
#undef CALL
#define CALL(name, fortran, what, arguments) "mpi_" #fortran "_f08_",
	{
#include "mpi/mpi_calls.def"
	},
#undef CALL
};

static mpi_function *real_of(enum mpi_call call, enum language language, const void *caller)
{
	struct real_function *function = &reals[language][call];
	void *real = real_function_kept(function, caller);

	return (mpi_function *)(real ? real
				     : real_function_search(function, names[language][call],
							    caller));
}

/* --- which MPI -------------------------------------------------------------------------------- */

static mpi_recorded_call *recorded; /* atomic; NULL: none is known yet */
static bool is_unknown;		    /* atomic */
static bool has_fortran_by_c;	    /* (2); written before `recorded` */

/* "openmpi", "mpich"; NULL: another. */
static const char *flavour_of(void *library)
{
	typedef int get_version(char *text, int *length);
	get_version *version = (get_version *)dlsym(library, "PMPI_Get_library_version");
	char text[VERSION_BYTES] = "";
	int length = 0;

	if (!version || version(text, &length) != 0)
		return NULL;
	text[VERSION_BYTES - 1] = '\0';
	if (strncmp(text, "Open MPI", strlen("Open MPI")) == 0)
		return "openmpi";
	/* those of MPICH's ABI initiative */
	if (strncmp(text, "MPICH", strlen("MPICH")) == 0 ||
	    strncmp(text, "MVAPICH", strlen("MVAPICH")) == 0 ||
	    strncmp(text, "Intel(R) MPI", strlen("Intel(R) MPI")) == 0)
		return "mpich";
	return NULL;
}

/* Beside this library. */
static mpi_recorded_call *load(const char *flavour, void *library)
{
	char path[PATH_MAX];
	mpi_open_flavour *open_flavour;
	const char *slash;
	void *handle;
	Dl_info here;

	if (!dladdr((void *)reals, &here) || !here.dli_fname)
		return NULL;
	slash = strrchr(here.dli_fname, '/');
	if (snprintf(path, sizeof(path), "%.*slibtacho_mpi_%s.so",
		     slash ? (int)(slash - here.dli_fname) + 1 : 0, here.dli_fname,
		     flavour) >= (int)sizeof(path))
		return NULL;
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	open_flavour = handle ? (mpi_open_flavour *)dlsym(handle, "tacho_mpi_flavour") : NULL;
	return open_flavour ? open_flavour(library) : NULL;
}

static mpi_recorded_call *find(void *real)
{
	mpi_recorded_call *found = NULL;
	const char *flavour = NULL;
	void *library;
	Dl_info info;

	library = dladdr(real, &info) && info.dli_fname
			  ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
			  : NULL;
	if (library) {
		flavour = flavour_of(library);
		found = flavour ? load(flavour, library) : NULL;
		has_fortran_by_c = flavour && strcmp(flavour, "mpich") == 0;
	}
	if (!found)
		tacho_unseen("MPI calls",
			     "MPI calls are not recorded: the MPI of %s is not known, "
			     "or tacho was built without it",
			     library ? info.dli_fname : "this program");
	return found;
}

static __attribute__((noinline)) mpi_recorded_call *find_once(void *real)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	mpi_recorded_call *found;

	pthread_mutex_lock(&lock);
	found = recorded;
	if (!found && !is_unknown) {
		found = find(real);
		dlerror(); /* the message of a search of ours is not for the program to see */
		__atomic_store_n(&recorded, found, __ATOMIC_RELEASE);
		__atomic_store_n(&is_unknown, !found, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* --- the entry points ------------------------------------------------------------------------- */

static uintptr_t forward(enum mpi_call call, enum language language,
			 uintptr_t arguments[MPI_CALL_ARGUMENTS], const void *caller)
{
	static _Thread_local bool is_within __attribute__((tls_model("initial-exec"))); /* (2) */
	mpi_function *real = real_of(call, language, caller);
	mpi_recorded_call *record = __atomic_load_n(&recorded, __ATOMIC_ACQUIRE);
	uintptr_t status;

	if (!real)
		return 16; /* MPI_ERR_OTHER of most: nobody has the function */
	if (is_within || __atomic_load_n(&is_unknown, __ATOMIC_RELAXED))
		return mpi_call_real(real, arguments);
	if (!record)
		record = find_once((void *)real);
	if (!record || (language != LANGUAGE_C && has_fortran_by_c))
		return mpi_call_real(real, arguments);
	is_within = true;
	status = record(call, language != LANGUAGE_C, real, arguments);
	is_within = false;
	return status;
}

#define PARAMETERS                                                                                 \
	uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e, uintptr_t f, uintptr_t g, \
		uintptr_t h, uintptr_t i, uintptr_t j, uintptr_t k, uintptr_t l, uintptr_t m,      \
		uintptr_t n

#define ENTRY(symbol, call, language)                                                              \
	TACHO_EXPORT uintptr_t symbol(PARAMETERS);                                                 \
	uintptr_t symbol(PARAMETERS)                                                               \
	{                                                                                          \
		uintptr_t arguments[MPI_CALL_ARGUMENTS] = {                                        \
			a, b, c, d, e, f, g, h, i, j, k, l, m, n                                   \
		};                                                                                 \
                                                                                                   \
		return forward(call, language, arguments, __builtin_return_address(0));            \
	}

#define CALL(name, fortran, what, arguments)                                                       \
	ENTRY(MPI_##name, MPI_CALL_##name, LANGUAGE_C)                                             \
	ENTRY(mpi_##fortran##_, MPI_CALL_##name, FORTRAN)                                          \
	ENTRY(mpi_##fortran##__, MPI_CALL_##name, FORTRAN_TWICE)                                   \
	ENTRY(mpi_##fortran##_f08_, MPI_CALL_##name, FORTRAN_2008)
#include "mpi/mpi_calls.def"
#undef CALL
