/* malloc_probe: the process's heap: what malloc() and its kin hand out and take back.
 *
 * (1) Only blocks of TACHO_MALLOC_MIN bytes and more (4096 by default) are recorded. The allocator's own size of a block
 *     (malloc_usable_size()) decides, when it is handed out and when it is taken back, so that both are recorded or neither.
 * (2) An address is recorded as handed out after it was, and as given back before it is: no other thread's record of the same
 *     address comes in between. realloc() gives the old block back and hands out the new one; where it fails, the old one again.
 * (3) What tacho itself allocates is not recorded: in a hook, aside, or between begin and commit.
 * (4) The real functions are looked up once. dlsym() may allocate itself, and so does the loader before: such a call is
 *     served from a small room of ours, whose blocks are never given back.
 * (5) The allocator may be any: the next definition of each function is called (jemalloc, tcmalloc). A size that it cannot tell
 *     (no malloc_usable_size()) means that the size that was asked for decides, and nothing is recorded as given back. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/memory_events.h"
#include "common/probe.h"

#define DEFAULT_MIN    4096u
#define ROOM_BYTES     65536u
#define ROOM_ALIGNMENT 16u
#define MAX_PAGE_BYTES 65536u

/* Each interposed function: its type, then its name. */
#define EACH_FUNCTION(FUNCTION)                                                                    \
	FUNCTION(void *, malloc, (size_t bytes))                                                   \
	FUNCTION(void, free, (void *address))                                                      \
	FUNCTION(void *, calloc, (size_t count, size_t bytes))                                     \
	FUNCTION(void *, realloc, (void *address, size_t bytes))                                   \
	FUNCTION(void *, reallocarray, (void *address, size_t count, size_t bytes))                \
	FUNCTION(void *, memalign, (size_t alignment, size_t bytes))                               \
	FUNCTION(void *, aligned_alloc, (size_t alignment, size_t bytes))                          \
	FUNCTION(int, posix_memalign, (void **ret_address, size_t alignment, size_t bytes))        \
	FUNCTION(void *, valloc, (size_t bytes))                                                   \
	FUNCTION(void *, pvalloc, (size_t bytes))

/* --- the real functions --------------------------------------------------------------------- */

static struct {
#define MEMBER(type, name, parameters) type(*name) parameters;
	EACH_FUNCTION(MEMBER)
#undef MEMBER
	size_t (*malloc_usable_size)(void *address);
} real;

enum { UNKNOWN, LOOKING, KNOWN };
static int state = UNKNOWN;

/* Blocks handed out before the real functions are known; the size stands before each. */
static char room[ROOM_BYTES] __attribute__((aligned(ROOM_ALIGNMENT)));
static size_t room_used;

static bool is_in_room(const void *address)
{
	return (const char *)address >= room && (const char *)address < room + ROOM_BYTES;
}

static void *take_room(size_t bytes)
{
	size_t wanted, at;

	if (bytes > ROOM_BYTES / 2)
		return NULL;
	wanted = (bytes + 2 * ROOM_ALIGNMENT - 1) / ROOM_ALIGNMENT * ROOM_ALIGNMENT;
	at = __atomic_fetch_add(&room_used, wanted, __ATOMIC_RELAXED);
	if (at > ROOM_BYTES - wanted)
		return NULL;
	*(size_t *)(void *)(room + at) = bytes;
	return room + at + ROOM_ALIGNMENT;
}

static size_t room_bytes(const void *address)
{
	return *(const size_t *)(const void *)((const char *)address - ROOM_ALIGNMENT);
}

static void look_up(void)
{
	void *scope = tacho_scope();

#define LOOK_UP(type, name, parameters) real.name = (type(*) parameters)dlsym(scope, #name);
	EACH_FUNCTION(LOOK_UP)
#undef LOOK_UP
	real.malloc_usable_size = (size_t(*)(void *))dlsym(scope, "malloc_usable_size");
	dlerror();
	__atomic_store_n(&state, real.malloc ? KNOWN : UNKNOWN, __ATOMIC_RELEASE);
}

/* Whether the real functions are known; false: while they are looked up. */
static inline bool is_known(void)
{
	int expected = UNKNOWN;

	if (__builtin_expect(__atomic_load_n(&state, __ATOMIC_ACQUIRE) == KNOWN, 1))
		return true;
	if (!__atomic_compare_exchange_n(&state, &expected, LOOKING, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_ACQUIRE))
		return expected == KNOWN;
	look_up();
	return __atomic_load_n(&state, __ATOMIC_ACQUIRE) == KNOWN;
}

/* --- records -------------------------------------------------------------------------------- */

const struct memory_source memory_source = { .allocator = "malloc", .probe = "malloc" };

static size_t min_bytes = DEFAULT_MIN;

/* What the agent allocates for the record finds is_inside and is not recorded. */
static void write_record(enum trace_kind kind, const void *address, size_t bytes)
{
	int cause = errno;

	tacho_writer.is_inside++;
	memory_events_write(kind, address, bytes);
	tacho_writer.is_inside--;
	errno = cause;
}

static inline bool is_recording(void)
{
	return tacho_is_recording_all() && !tacho_writer.is_inside && !tacho_writer.is_busy &&
	       !tacho_is_aside;
}

/* `address` was handed out; `bytes` were asked for. */
static inline void handed_out(void *address, size_t bytes)
{
	if (address && is_recording() &&
	    (real.malloc_usable_size ? real.malloc_usable_size(address) : bytes) >= min_bytes)
		write_record(TRACE_KIND_ALLOC, address, bytes);
}

/* `address` is about to be given back. */
static inline void given_back(void *address)
{
	size_t bytes;

	if (!address || !is_recording() || !real.malloc_usable_size)
		return;
	bytes = real.malloc_usable_size(address);
	if (bytes >= min_bytes)
		write_record(TRACE_KIND_FREE, address, 0);
}

/* --- what programs call --------------------------------------------------------------------- */

TACHO_EXPORT void *malloc(size_t bytes)
{
	void *address;

	if (TACHO_UNLIKELY(!is_known()))
		return take_room(bytes);
	address = real.malloc(bytes);
	handed_out(address, bytes);
	return address;
}

TACHO_EXPORT void free(void *address)
{
	if (!address || TACHO_UNLIKELY(is_in_room(address)) || TACHO_UNLIKELY(!is_known()))
		return;
	given_back(address);
	real.free(address);
}

TACHO_EXPORT void *calloc(size_t count, size_t bytes)
{
	size_t all;
	void *address;

	if (__builtin_mul_overflow(count, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	if (TACHO_UNLIKELY(!is_known()))
		return take_room(all); /* never used before: zeros */
	address = real.calloc(count, bytes);
	handed_out(address, all);
	return address;
}

/* A block of the room goes where the others are. */
static void *move_out(const void *address, size_t bytes)
{
	size_t had = room_bytes(address);
	void *moved = malloc(bytes);

	if (moved)
		memcpy(moved, address, had < bytes ? had : bytes);
	return moved;
}

TACHO_EXPORT void *realloc(void *address, size_t bytes)
{
	bool was_recorded;
	size_t had = 0;
	void *moved;

	if (TACHO_UNLIKELY(is_in_room(address)))
		return move_out(address, bytes);
	if (TACHO_UNLIKELY(!is_known()))
		return take_room(bytes);
	was_recorded = address && is_recording() && real.malloc_usable_size;
	if (was_recorded) {
		had = real.malloc_usable_size(address);
		was_recorded = had >= min_bytes;
	}
	if (was_recorded)
		write_record(TRACE_KIND_FREE, address, 0);
	moved = real.realloc(address, bytes);
	if (moved)
		handed_out(moved, bytes);
	else if (was_recorded && bytes)
		write_record(TRACE_KIND_ALLOC, address, had);
	return moved;
}

TACHO_EXPORT void *reallocarray(void *address, size_t count, size_t bytes)
{
	size_t all;

	if (__builtin_mul_overflow(count, bytes, &all)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(address, all);
}

TACHO_EXPORT void *memalign(size_t alignment, size_t bytes)
{
	void *address;

	if (TACHO_UNLIKELY(!is_known()) || !real.memalign)
		return NULL;
	address = real.memalign(alignment, bytes);
	handed_out(address, bytes);
	return address;
}

TACHO_EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
	void *address;

	if (TACHO_UNLIKELY(!is_known()) || !real.aligned_alloc)
		return NULL;
	address = real.aligned_alloc(alignment, bytes);
	handed_out(address, bytes);
	return address;
}

TACHO_EXPORT int posix_memalign(void **ret_address, size_t alignment, size_t bytes)
{
	int problem;

	if (TACHO_UNLIKELY(!is_known()) || !real.posix_memalign)
		return ENOMEM;
	problem = real.posix_memalign(ret_address, alignment, bytes);
	if (!problem)
		handed_out(*ret_address, bytes);
	return problem;
}

TACHO_EXPORT void *valloc(size_t bytes)
{
	void *address;

	if (TACHO_UNLIKELY(!is_known()) || !real.valloc)
		return NULL;
	address = real.valloc(bytes);
	handed_out(address, bytes);
	return address;
}

TACHO_EXPORT void *pvalloc(size_t bytes)
{
	void *address;

	if (TACHO_UNLIKELY(!is_known()) || !real.pvalloc)
		return NULL;
	address = real.pvalloc(bytes);
	handed_out(address, bytes);
	return address;
}

/* --- its start ------------------------------------------------------------------------------- */

static void read_min_bytes(void)
{
	const char *value = getenv("TACHO_MALLOC_MIN");
	char *end;
	unsigned long long bytes;

	if (!value || *value < '0' || *value > '9')
		return;
	bytes = strtoull(value, &end, 10);
	if (!*end)
		min_bytes = (size_t)bytes;
}

static void __attribute__((constructor)) start(void)
{
	is_known();
	read_min_bytes();
	memory_events_measure(write_record);
}
