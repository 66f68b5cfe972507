/* mark: a program says what it does, for `tacho record` to record: ranges, moments, counters, and flows between ranges.
 *
 *     #include <tacho/mark.h>                             // C and C++; this header alone, nothing to link
 *
 *     TACHO_MARK_SCOPE("load batch");                     // a range, to the end of the block
 *
 *     tacho_mark_range range = TACHO_MARK_BEGIN("tokenize");
 *     ...
 *     tacho_mark_end(range);
 *
 *     TACHO_MARK_MOMENT("checkpoint written", step, 0, path);
 *     TACHO_MARK_COUNTER("loss", loss);
 *     TACHO_MARK_FLOW_BEGIN("batch", number);             // in a range; in another, of any thread: TACHO_MARK_FLOW_END()
 *
 * The macros take a name that is the same each time the place is reached (a literal), and look it up once. For names that
 * change there are functions: tacho_mark_begin("step 12"), tacho_mark_counter(name, value) ...
 *
 * (1) Where the program is not recorded, each is a test of a variable. Nothing is linked: the agent, which is in the process if it is
 *     recorded, is looked for at the first mark of each source file, and now and then later. glibc before 2.34 wants -ldl.
 * (2) A range is ended by the thread that began it, and ranges of a thread lie within each other. What does not (a request that
 *     waits while others begin, work that another thread finishes) is a span: TACHO_MARK_START(). What is open when the
 *     process ends or is killed is recorded as open.
 * (3) Everything may be called by any thread at any time, not in a signal handler. Nothing fails: what cannot be recorded is counted by
 *     the agent. After a fork, ending a range that the parent began does nothing.
 * (4) Names that change are kept for as long as the process: put numbers that count without end into tacho_mark_begin_number(). */
#ifndef TACHO_MARK_H
#define TACHO_MARK_H

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the agent offers, by a symbol whose name ends in the version of this struct. */
enum tacho_mark_sort {
	TACHO_MARK_SORT_RANGE,
	TACHO_MARK_SORT_MOMENT,
	TACHO_MARK_SORT_COUNTER,
	TACHO_MARK_SORT_FLOW,
	TACHO_MARK_SORT_SPAN,
};
enum tacho_mark_phase {
	TACHO_MARK_PHASE_BEGIN,
	TACHO_MARK_PHASE_STEP,
	TACHO_MARK_PHASE_END,
};

struct tacho_mark_api {
	/* A number for the name, good for the process and its forked children; 0: there is none now. */
	uint32_t (*name)(int sort, const char *text, uint64_t length);
	void *(*begin)(uint32_t name, uint64_t number); /* NULL: it is not recorded */
	void (*end)(void *range);
	void (*moment)(uint32_t name, int64_t first, int64_t second, const char *text);
	void (*counter)(uint32_t name, double value);
	void (*flow)(uint32_t name, uint64_t number, int phase);
	int (*is_recording)(void);
	void *(*begin_span)(uint32_t name, uint64_t number);
};
#define TACHO_MARK_API_SYMBOL "tacho_mark_api_1"

typedef struct {
	void *slice;
} tacho_mark_range;

/* NULL: nobody records. Who was not there at the first call is looked for once in 1024. Until a look is over its number of calls
 * stands, so that marks of other threads meanwhile look themselves: none of them is lost. */
static inline const struct tacho_mark_api *tacho_mark_find(void)
{
	static const struct tacho_mark_api *found;
	static uint32_t n_calls;
	uint32_t calls = __atomic_load_n(&n_calls, __ATOMIC_ACQUIRE);
	const struct tacho_mark_api *api = __atomic_load_n(&found, __ATOMIC_ACQUIRE);

	if (__builtin_expect(api != 0, 0))
		return api;
	if (__builtin_expect(calls % 1024 == 0, 0)) {
		api = (const struct tacho_mark_api *)dlsym((void *)0, TACHO_MARK_API_SYMBOL);
		if (api)
			__atomic_store_n(&found, api, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&n_calls, calls + 1, __ATOMIC_RELEASE); /* one may be missed */
	return api;
}

/* The number of a name whose number is kept in `cache`. */
static inline uint32_t tacho_mark_name(const struct tacho_mark_api *api, uint32_t *cache, int sort,
				       const char *text)
{
	uint32_t name = __atomic_load_n(cache, __ATOMIC_RELAXED);

	if (__builtin_expect(name == 0, 0)) {
		name = api->name(sort, text, strlen(text));
		__atomic_store_n(cache, name, __ATOMIC_RELAXED);
	}
	return name;
}

/* Whether marks are recorded now: for what is dear to find out for one. */
static inline int tacho_mark_is_recording(void)
{
	const struct tacho_mark_api *api = tacho_mark_find();

	return api && api->is_recording();
}

/* --- ranges --------------------------------------------------------------------------------- */

static inline tacho_mark_range tacho_mark_begin_kept(uint32_t *cache, const char *name,
						     uint64_t number)
{
	const struct tacho_mark_api *api = tacho_mark_find();
	tacho_mark_range range = { 0 };

	if (__builtin_expect(api != 0, 0))
		range.slice = api->begin(tacho_mark_name(api, cache, TACHO_MARK_SORT_RANGE, name),
					 number);
	return range;
}

/* `number` tells ranges of one name apart; 0: nothing does. */
static inline tacho_mark_range tacho_mark_begin_number(const char *name, uint64_t number)
{
	uint32_t cache = 0;

	return tacho_mark_begin_kept(&cache, name, number);
}

static inline tacho_mark_range tacho_mark_begin(const char *name)
{
	return tacho_mark_begin_number(name, 0);
}

static inline tacho_mark_range tacho_mark_start_kept(uint32_t *cache, const char *name,
						     uint64_t number)
{
	const struct tacho_mark_api *api = tacho_mark_find();
	tacho_mark_range span = { 0 };

	if (__builtin_expect(api != 0, 0))
		span.slice = api->begin_span(
			tacho_mark_name(api, cache, TACHO_MARK_SORT_SPAN, name), number);
	return span;
}

/* A span, which any thread may end. */
static inline tacho_mark_range tacho_mark_start(const char *name, uint64_t number)
{
	uint32_t cache = 0;

	return tacho_mark_start_kept(&cache, name, number);
}

/* End a range or span; once. */
static inline void tacho_mark_end(tacho_mark_range range)
{
	const struct tacho_mark_api *api;

	if (__builtin_expect(range.slice == 0, 1))
		return;
	api = tacho_mark_find();
	if (api)
		api->end(range.slice);
}

static inline void tacho_mark_leave(tacho_mark_range *range)
{
	tacho_mark_end(*range);
}

#define TACHO_MARK_BEGIN_NUMBER(name, number)                                                      \
	__extension__({                                                                            \
		static uint32_t tacho_mark_cache_;                                                 \
		tacho_mark_begin_kept(&tacho_mark_cache_, (name), (number));                       \
	})
#define TACHO_MARK_BEGIN(name) TACHO_MARK_BEGIN_NUMBER(name, 0)
#define TACHO_MARK_START(name, number)                                                             \
	__extension__({                                                                            \
		static uint32_t tacho_mark_cache_;                                                 \
		tacho_mark_start_kept(&tacho_mark_cache_, (name), (number));                       \
	})

#define TACHO_MARK_JOIN_(a, b)	 a##b
#define TACHO_MARK_UNIQUE_(a, b) TACHO_MARK_JOIN_(a, b)
/* A range to the end of the block, however that is left. */
#define TACHO_MARK_SCOPE(name)                                                                     \
	__attribute__((cleanup(tacho_mark_leave), unused)) tacho_mark_range TACHO_MARK_UNIQUE_(    \
		tacho_mark_scope_, __LINE__) = TACHO_MARK_BEGIN(name)

/* --- moments, counters, flows --------------------------------------------------------------- */

static inline void tacho_mark_moment_kept(uint32_t *cache, const char *name, int64_t first,
					  int64_t second, const char *text)
{
	const struct tacho_mark_api *api = tacho_mark_find();

	if (__builtin_expect(api != 0, 0))
		api->moment(tacho_mark_name(api, cache, TACHO_MARK_SORT_MOMENT, name), first,
			    second, text);
}

/* Two numbers and a text (NULL: none) that say more of the moment. */
static inline void tacho_mark_moment(const char *name, int64_t first, int64_t second,
				     const char *text)
{
	uint32_t cache = 0;

	tacho_mark_moment_kept(&cache, name, first, second, text);
}

static inline void tacho_mark_counter_kept(uint32_t *cache, const char *name, double value)
{
	const struct tacho_mark_api *api = tacho_mark_find();

	if (__builtin_expect(api != 0, 0))
		api->counter(tacho_mark_name(api, cache, TACHO_MARK_SORT_COUNTER, name), value);
}

/* From now on, the counter of that name has that value. */
static inline void tacho_mark_counter(const char *name, double value)
{
	uint32_t cache = 0;

	tacho_mark_counter_kept(&cache, name, value);
}

static inline void tacho_mark_flow_kept(uint32_t *cache, const char *name, uint64_t number,
					int phase)
{
	const struct tacho_mark_api *api = tacho_mark_find();

	if (__builtin_expect(api != 0, 0))
		api->flow(tacho_mark_name(api, cache, TACHO_MARK_SORT_FLOW, name), number, phase);
}

/* The innermost range, or other slice, that this thread has open is where the flow `number` of that name begins, passes, or ends:
 * an arrow from one to the other, within the process. */
static inline void tacho_mark_flow(const char *name, uint64_t number, enum tacho_mark_phase phase)
{
	uint32_t cache = 0;

	tacho_mark_flow_kept(&cache, name, number, phase);
}

#define TACHO_MARK_KEPT_(call, ...)                                                                \
	do {                                                                                       \
		static uint32_t tacho_mark_cache_;                                                 \
		call(&tacho_mark_cache_, __VA_ARGS__);                                             \
	} while (0)
#define TACHO_MARK_MOMENT(name, first, second, text)                                               \
	TACHO_MARK_KEPT_(tacho_mark_moment_kept, name, first, second, text)
/* A training step begins in this thread, and the one before it ends: for programs of which tacho finds no steps by itself. One more
 * behind the last step ends that. */
#define TACHO_MARK_STEP(number)		TACHO_MARK_MOMENT("step", (int64_t)(number), 0, 0)
#define TACHO_MARK_COUNTER(name, value) TACHO_MARK_KEPT_(tacho_mark_counter_kept, name, value)
#define TACHO_MARK_FLOW_BEGIN(name, number)                                                        \
	TACHO_MARK_KEPT_(tacho_mark_flow_kept, name, number, TACHO_MARK_PHASE_BEGIN)
#define TACHO_MARK_FLOW_STEP(name, number)                                                         \
	TACHO_MARK_KEPT_(tacho_mark_flow_kept, name, number, TACHO_MARK_PHASE_STEP)
#define TACHO_MARK_FLOW_END(name, number)                                                          \
	TACHO_MARK_KEPT_(tacho_mark_flow_kept, name, number, TACHO_MARK_PHASE_END)

#ifdef __cplusplus
}
#endif
#endif
