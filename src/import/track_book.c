#include "import/track_book.h"
#include "base/for_each.h"
#include "trace/collective_names.h"

#include <math.h>
#include <string.h>

#include "trace/launch_index.h"
#include "trace/clock_map.h"
#include "trace/mark_kind.h"
#include "trace/slice_columns.h"

#define MAX_SPAN_NS  (G_GINT64_CONSTANT(400) * 24 * 3600 * 1000000000) /* of a file */
#define MIN_EPOCH_NS (G_GINT64_CONSTANT(3600) * 1000000000) /* above: counted from long before */

enum { MAX_PROCESSES = 1 << 16, MAX_TRACKS = 1 << 20 };

enum key_role { KEY_PROCESS, KEY_THREAD, KEY_STREAM, KEY_ASIDE, KEY_COUNTER };

struct book_key {
	guint32 role; /* enum key_role */
	guint32 process, name;
	gint64 first, second;
};

/* A device's slice that waits for its call. */
struct pending_launch {
	guint32 row, process;
	gint64 correlation;
};

/* What the steps of a process are called, and how many there were. */
struct step_sort {
	guint32 word; /* string id */
	gint64 n;
};

struct counted {
	guint64 n;
	gchar *where; /* of the first */
};

struct track_book {
	struct import *import;
	gchar *path;
	guint file;
	guint32 host;
	GHashTable *rows;	/* struct book_key -> row + 1, of a process or track */
	GHashTable *calls;	/* process -> struct launch_index */
	GArray *pending;	/* struct pending_launch */
	GArray *processes;	/* guint32 */
	GHashTable *step_sorts; /* process + 1 -> struct step_sort */
	struct counted broken, unknown;
	/* Where our rows begin. */
	guint32 first_slice;
	guint first_sample, first_mark, first_memory;
	guint64 n_impossible, n_refused;
};

static guint hash_key(gconstpointer data)
{
	const struct book_key *key = data;
	guint64 hash = key->role;

	hash = hash * 0x9E3779B97F4A7C15u + key->process;
	hash = hash * 0x9E3779B97F4A7C15u + key->name;
	hash = hash * 0x9E3779B97F4A7C15u + (guint64)key->first;
	hash = hash * 0x9E3779B97F4A7C15u + (guint64)key->second;
	return (guint)(hash ^ hash >> 32);
}

static gboolean is_equal_key(gconstpointer a, gconstpointer b)
{
	const struct book_key *first = a, *second = b;

	return first->role == second->role && first->process == second->process &&
	       first->name == second->name && first->first == second->first &&
	       first->second == second->second;
}

static void free_index(gpointer index)
{
	launch_index_free(index);
}

struct track_book *track_book_new(struct import *import, const gchar *path)
{
	struct track_book *book = g_new0(struct track_book, 1);
	TachoTimeline *timeline = import->timeline;

	book->import = import;
	book->path = g_strdup(path);
	book->file = import_new_file(import);
	book->host = tacho_timeline_intern(timeline, "unknown", -1);
	book->rows = g_hash_table_new_full(hash_key, is_equal_key, g_free, NULL);
	book->calls = g_hash_table_new_full(NULL, NULL, NULL, free_index);
	book->pending = g_array_new(FALSE, FALSE, sizeof(struct pending_launch));
	book->step_sorts = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	book->processes = g_array_new(FALSE, FALSE, sizeof(guint32));
	book->first_slice = timeline->slices.n;
	book->first_sample = timeline->samples->len;
	book->first_mark = timeline->marks->len;
	book->first_memory = timeline->memory->len;
	return book;
}

void track_book_free(struct track_book *book)
{
	if (!book)
		return;
	g_hash_table_unref(book->rows);
	g_hash_table_unref(book->calls);
	g_array_unref(book->pending);
	g_array_unref(book->processes);
	g_hash_table_unref(book->step_sorts);
	g_free(book->broken.where);
	g_free(book->unknown.where);
	g_free(book->path);
	g_free(book);
}

TachoTimeline *track_book_timeline(const struct track_book *book)
{
	return book->import->timeline;
}

const gchar *track_book_borrow_path(const struct track_book *book)
{
	return book->path;
}

/* --- processes and tracks ------------------------------------------------------------------- */

static guint32 find_row(const struct track_book *book, const struct book_key *key)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(book->rows, key)) - 1;
}

static void keep_row(struct track_book *book, const struct book_key *key, guint32 row)
{
	g_hash_table_insert(book->rows, g_memdup2(key, sizeof(*key)), GUINT_TO_POINTER(row + 1));
}

TachoProcess *track_book_borrow_process(struct track_book *book, guint32 process)
{
	return &g_array_index(book->import->timeline->processes, TachoProcess, process);
}

void track_book_set_host(struct track_book *book, const gchar *host)
{
	book->host = tacho_timeline_intern(book->import->timeline, host, -1);
	for (guint i = 0; i < book->processes->len; i++)
		track_book_borrow_process(book, g_array_index(book->processes, guint32, i))->host =
			book->host;
}

guint32 track_book_process(struct track_book *book, gint64 space, gint64 pid)
{
	struct book_key key = { .role = KEY_PROCESS, .first = space, .second = pid };
	TachoProcess process = { .host = book->host,
				 .pid = (guint32)pid,
				 .rank = import_rank_of_name(book->path),
				 .local_rank = -1,
				 .world_size = -1,
				 .end = TACHO_END_UNKNOWN,
				 .path = book->path };
	guint32 row = find_row(book, &key);

	if (row != TACHO_NONE)
		return row;
	/* what a broken file has too much of all goes to the first */
	if (book->processes->len >= MAX_PROCESSES)
		return g_array_index(book->processes, guint32, 0);
	row = import_add_process(book->import, &process, book->file);
	g_array_append_val(book->processes, row);
	keep_row(book, &key, row);
	return row;
}

gboolean track_book_has_process(const struct track_book *book, gint64 space, gint64 pid,
				guint32 *ret_process)
{
	struct book_key key = { .role = KEY_PROCESS, .first = space, .second = pid };

	*ret_process = find_row(book, &key);
	return *ret_process != TACHO_NONE;
}

void track_book_set_ranks(struct track_book *book, const struct launch_ranks *ranks)
{
	for (guint i = 0; i < book->processes->len; i++) {
		guint32 row = g_array_index(book->processes, guint32, i);

		launch_ranks_apply(ranks, track_book_borrow_process(book, row));
	}
}

/* A track as `key` says; made where there is none. */
static guint32 find_track(struct track_book *book, const struct book_key *key, TachoTrackKind kind,
			  guint32 tid, gint32 device, const gchar *name)
{
	guint32 row = find_row(book, key);

	if (row != TACHO_NONE)
		return row;
	if (g_hash_table_size(book->rows) >= MAX_TRACKS) {
		struct book_key last = { .role = key->role, .process = G_MAXUINT32 };

		row = find_row(book, &last);
		if (row != TACHO_NONE)
			return row;
		keep_row(book, &last, book->import->timeline->tracks->len);
	}
	row = import_add_track(book->import, kind, key->process, tid, name);
	g_array_index(book->import->timeline->tracks, TachoTrack, row).device = device;
	keep_row(book, key, row);
	return row;
}

guint32 track_book_thread(struct track_book *book, guint32 process, gint64 tid)
{
	struct book_key key = { .role = KEY_THREAD, .process = process, .first = tid };

	return find_track(book, &key, TACHO_TRACK_THREAD, (guint32)tid, 0, "");
}

gboolean track_book_has_thread(const struct track_book *book, guint32 process, gint64 tid,
			       guint32 *ret_track)
{
	struct book_key key = { .role = KEY_THREAD, .process = process, .first = tid };

	*ret_track = find_row(book, &key);
	return *ret_track != TACHO_NONE;
}

guint32 track_book_stream(struct track_book *book, guint32 process, gint64 device, gint64 queue)
{
	struct book_key key = {
		.role = KEY_STREAM, .process = process, .first = device, .second = queue
	};
	g_autofree gchar *name = queue == -1 || queue == G_MAXUINT32
					 ? g_strdup_printf("device %" G_GINT64_FORMAT, device)
					 : g_strdup_printf("stream %" G_GINT64_FORMAT, queue);

	return find_track(book, &key, TACHO_TRACK_STREAM, (guint32)queue,
			  (gint32)CLAMP(device, G_MININT32, G_MAXINT32), name);
}

guint32 track_book_aside(struct track_book *book, guint32 process, gint64 tid, const gchar *name)
{
	struct book_key key = {
		.role = KEY_ASIDE,
		.process = process,
		.name = tacho_timeline_intern(book->import->timeline, name, -1),
		.first = tid,
	};

	return find_track(book, &key, TACHO_TRACK_ASYNC, tid < 0 ? 0 : (guint32)tid, 0, name);
}

guint32 track_book_counter(struct track_book *book, guint32 process, const gchar *name)
{
	struct book_key key = {
		.role = KEY_COUNTER,
		.process = process,
		.name = tacho_timeline_intern(book->import->timeline, name, -1),
	};

	return find_track(book, &key, TACHO_TRACK_COUNTER, 0, 0, name);
}

void track_book_name_track(struct track_book *book, guint32 track, const gchar *name)
{
	g_array_index(book->import->timeline->tracks, TachoTrack, track).name =
		tacho_timeline_intern(book->import->timeline, name, -1);
}

/* --- events --------------------------------------------------------------------------------- */

static struct launch_index *calls_of(struct track_book *book, guint32 process)
{
	struct launch_index *index =
		g_hash_table_lookup(book->calls, GUINT_TO_POINTER(process + 1));

	if (!index) {
		index = launch_index_new();
		g_hash_table_insert(book->calls, GUINT_TO_POINTER(process + 1), index);
	}
	return index;
}

static gboolean is_launched(TachoSliceKind kind, TachoTrackKind track)
{
	return kind != TACHO_SLICE_RUNTIME && track == TACHO_TRACK_STREAM;
}

guint32 track_book_add(struct track_book *book, const struct book_slice *slice)
{
	TachoTimeline *timeline = book->import->timeline;
	const TachoTrack *track = tacho_timeline_track(timeline, slice->track);
	struct pending_launch pending = { .process = track->process,
					  .correlation = slice->correlation };
	guint8 flags = slice->flags;
	gint64 duration_ns;

	if (timeline->slices.n >= TACHO_NONE - 1 || !slice_columns_grow(&timeline->slices)) {
		book->n_refused++;
		return TACHO_NONE;
	}
	if (__builtin_sub_overflow(slice->end_ns, slice->start_ns, &duration_ns) ||
	    duration_ns < 0 || duration_ns > MAX_SPAN_NS) {
		duration_ns = 0;
		flags |= TACHO_SLICE_REPAIRED;
		book->n_impossible++;
	}
	pending.row = tacho_timeline_add_slice(timeline, slice->kind, slice->track, slice->name,
					       slice->start_ns, duration_ns, flags, slice->source);
	if (slice->correlation > 0 && slice->kind == TACHO_SLICE_RUNTIME)
		launch_index_add(calls_of(book, track->process), slice->correlation,
				 slice->start_ns, pending.row);
	else if (slice->correlation > 0 && is_launched(slice->kind, track->kind))
		g_array_append_val(book->pending, pending);
	return pending.row;
}

void track_book_end(struct track_book *book, guint32 row, gint64 end_ns)
{
	TachoSlices *slices = &book->import->timeline->slices;
	gint64 duration_ns;

	slices->flags[row] &= (guint8)~TACHO_SLICE_OPEN;
	if (__builtin_sub_overflow(end_ns, slices->start_ns[row], &duration_ns) ||
	    duration_ns < 0 || duration_ns > MAX_SPAN_NS) {
		duration_ns = 0;
		slices->flags[row] |= TACHO_SLICE_REPAIRED;
		book->n_impossible++;
	}
	slices->duration_ns[row] = duration_ns;
}

void track_book_add_sample(struct track_book *book, guint32 track, gint64 time_ns, gdouble value)
{
	TachoSample sample = { .track = track,
			       .time_ns = time_ns,
			       .value = isfinite(value) ? value : 0 };

	g_array_append_val(book->import->timeline->samples, sample);
}

void track_book_add_mark(struct track_book *book, guint32 track, gint64 time_ns, const gchar *name,
			 const gchar *text, gint64 first, gint64 second)
{
	TachoTimeline *timeline = book->import->timeline;
	TachoMark mark = { .track = track, .time_ns = time_ns, .first = first, .second = second };

	mark.name = tacho_timeline_intern(timeline, name, -1);
	mark.text = tacho_timeline_intern(timeline, text, -1);
	g_array_append_val(timeline->marks, mark);
}

void track_book_add_memory(struct track_book *book, const TachoMemoryEvent *event)
{
	g_array_append_val(book->import->timeline->memory, *event);
}

guint32 track_book_find_call(const struct track_book *book, guint32 process, gint64 correlation,
			     gint64 time_ns)
{
	const struct launch_index *index =
		g_hash_table_lookup(book->calls, GUINT_TO_POINTER(process + 1));

	return index && correlation > 0 ? launch_index_find(index, correlation, time_ns)
					: TACHO_NONE;
}

/* --- what is wrong -------------------------------------------------------------------------- */

static void count_one(struct counted *counted, const gchar *where, va_list arguments)
{
	if (counted->n++ == 0)
		counted->where = g_strdup_vprintf(where, arguments);
}

void track_book_count_broken(struct track_book *book, const gchar *where, ...)
{
	va_list arguments;

	va_start(arguments, where);
	count_one(&book->broken, where, arguments);
	va_end(arguments);
}

void track_book_count_broken_row(struct track_book *book, const gchar *table, gint64 row,
				 const gchar *what)
{
	track_book_count_broken(book, "table %s, row %" G_GINT64_FORMAT ": %s", table, row, what);
}

void track_book_count_broken_table(struct track_book *book, const gchar *table, gint64 n,
				   const gchar *why)
{
	track_book_count_broken(book, "table %s, after %" G_GINT64_FORMAT " rows: %s", table, n,
				why);
}

void track_book_count_unknown(struct track_book *book, const gchar *where, ...)
{
	va_list arguments;

	va_start(arguments, where);
	count_one(&book->unknown, where, arguments);
	va_end(arguments);
}

static void report(struct track_book *book)
{
	TachoTimeline *timeline = book->import->timeline;

	if (book->broken.n)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_CORRUPT_RECORD, book->broken.n,
					   "%s: %s", book->path, book->broken.where);
	if (book->unknown.n)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_UNKNOWN_RECORD, book->unknown.n,
					   "%s: %s", book->path, book->unknown.where);
	if (book->n_impossible)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_IMPOSSIBLE_TIME,
					   book->n_impossible,
					   "%s: times of 0, times years away from the others, or "
					   "ends before their begin",
					   book->path);
	if (book->n_refused)
		tacho_timeline_add_problem(timeline, TACHO_PROBLEM_LOST_RECORDS, book->n_refused,
					   "%s: there is not enough memory for its slices",
					   book->path);
}

/* --- times ---------------------------------------------------------------------------------- */

/* What times of the file may be: from the first on that is not 0, where others count from long ago. */
struct time_span {
	gint64 first_ns, base_ns;
	guint64 n_impossible;
};

/* The first time that may be true: of the file's slices and moments all but a few lie within a span, and 0
 * or less is what profilers write for "not known". */
static gint64 find_first(const struct track_book *book)
{
	const TachoTimeline *timeline = book->import->timeline;
	gint64 first_ns = G_MAXINT64, last_ns = 0, least_ns = G_MAXINT64;

	for (guint32 i = book->first_slice; i < timeline->slices.n; i++) {
		gint64 start_ns = timeline->slices.start_ns[i];

		if (start_ns > 0)
			first_ns = MIN(first_ns, start_ns);
		least_ns = MIN(least_ns, start_ns);
		last_ns = MAX(last_ns, start_ns);
	}
	if (first_ns == G_MAXINT64)
		return least_ns == G_MAXINT64 ? 0 : MAX(least_ns, -MAX_SPAN_NS);
	return first_ns > MIN_EPOCH_NS || least_ns < -MAX_SPAN_NS ? first_ns
								  : MIN(first_ns, least_ns);
}

/* True: it was mended. */
static gboolean mend_time(struct time_span *span, gint64 *time_ns)
{
	gint64 since_ns;
	gboolean is_wrong = __builtin_sub_overflow(*time_ns, span->first_ns, &since_ns) ||
			    since_ns > MAX_SPAN_NS || since_ns < -MAX_SPAN_NS ||
			    (*time_ns <= 0 && span->first_ns > MIN_EPOCH_NS);

	if (is_wrong)
		*time_ns = span->first_ns;
	span->n_impossible += is_wrong;
	/* within TACHO_MAX_TIME_NS even at the end of the span */
	*time_ns = clock_map_add(*time_ns, span->base_ns);
	*time_ns = CLAMP(*time_ns, -TACHO_MAX_TIME_NS / 2, TACHO_MAX_TIME_NS / 2);
	return is_wrong;
}

static void mend_times(struct track_book *book, gint64 base_ns)
{
	TachoTimeline *timeline = book->import->timeline;
	struct time_span span = { .first_ns = find_first(book), .base_ns = base_ns };

	for (guint32 i = book->first_slice; i < timeline->slices.n; i++)
		if (mend_time(&span, &timeline->slices.start_ns[i]))
			timeline->slices.flags[i] |= TACHO_SLICE_REPAIRED;
	for (guint i = book->first_sample; i < timeline->samples->len; i++)
		mend_time(&span, &g_array_index(timeline->samples, TachoSample, i).time_ns);
	for (guint i = book->first_mark; i < timeline->marks->len; i++)
		mend_time(&span, &g_array_index(timeline->marks, TachoMark, i).time_ns);
	for (guint i = book->first_memory; i < timeline->memory->len; i++)
		mend_time(&span, &g_array_index(timeline->memory, TachoMemoryEvent, i).time_ns);
	book->n_impossible += span.n_impossible;
}

/* (1) */
static void make_launches(struct track_book *book)
{
	TachoTimeline *timeline = book->import->timeline;

	FOR_EACH(const struct pending_launch, pending, book->pending) {
		guint32 call = track_book_find_call(book, pending->process, pending->correlation,
						    timeline->slices.start_ns[pending->row]);

		if (call != TACHO_NONE)
			tacho_timeline_set_launch(timeline, pending->row, call);
	}
}

/* What had no end lasts as long as the file goes on. */
static void extend_open(struct track_book *book)
{
	TachoTimeline *timeline = book->import->timeline;
	gint64 last_ns = G_MININT64;

	for (guint32 i = book->first_slice; i < timeline->slices.n; i++)
		last_ns = MAX(last_ns,
			      timeline->slices.start_ns[i] + timeline->slices.duration_ns[i]);
	for (guint32 i = book->first_slice; i < timeline->slices.n; i++)
		if (timeline->slices.flags[i] & TACHO_SLICE_OPEN)
			timeline->slices.duration_ns[i] = last_ns - timeline->slices.start_ns[i];
}

void track_book_finish(struct track_book *book, gint64 base_ns)
{
	make_launches(book);
	mend_times(book, base_ns);
	extend_open(book);
	report(book);
}

/* --- names ---------------------------------------------------------------------------------- */

TachoSliceKind track_book_kernel_kind(const gchar *name)
{
	return is_communication_kernel(name, strlen(name)) ? TACHO_SLICE_COLLECTIVE
							   : TACHO_SLICE_KERNEL;
}

/* Whether that is what people call a training step: the length of what names its sort, 0: it is not. The
 * number is -1 where it has none. */
static gsize parse_step(const gchar *name, gint64 *ret_number)
{
	static const gchar *const words[] = { "train_step", "training_step", "training step",
					      "train step", "global_step",   "step",
					      "iteration",  "iter" };

	for (guint i = 0; i < G_N_ELEMENTS(words); i++) {
		gsize n = strlen(words[i]);
		const gchar *rest = name + n;
		gchar *end;

		if (g_ascii_strncasecmp(name, words[i], n) != 0)
			continue;
		*ret_number = -1;
		if (!*rest)
			return n;
		rest += strspn(rest, " _:#=-");
		if (!g_ascii_isdigit(*rest))
			continue;
		*ret_number = (gint64)MIN(g_ascii_strtoull(rest, &end, 10), G_MAXUINT32 - 1);
		return !*end || g_ascii_isspace(*end) ? n : 0;
	}
	return 0;
}

void track_book_note_range(struct track_book *book, guint32 track, const gchar *name,
			   gint64 start_ns)
{
	TachoTimeline *timeline = book->import->timeline;
	gpointer process = GUINT_TO_POINTER(tacho_timeline_track(timeline, track)->process + 1);
	struct step_sort *sort = g_hash_table_lookup(book->step_sorts, process);
	gint64 number;
	gsize n = parse_step(name, &number);
	guint32 word;

	if (!n)
		return;
	word = tacho_timeline_intern(timeline, name, (gssize)n);
	if (!sort) {
		sort = g_new0(struct step_sort, 1);
		sort->word = word;
		g_hash_table_insert(book->step_sorts, process, sort);
	}
	if (sort->word == word)
		track_book_add_mark(book, track, start_ns, mark_kind_name(MARK_STEP), name,
				    number < 0 ? sort->n : number, 0);
	sort->n += sort->word == word;
}
