#include "export/page_timeline.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "export/export_walk.h"

struct page_track {
	enum export_track_kind kind;
	guint32 process;	/* index in the timeline */
	guint32 process_number; /* of the process's track, counted from 0 */
	gint32 order, tid;
	gchar *name;
	guint32 n_counts;
	guint count_decimals;
	/* while walking */
	gint64 last_ns; /* begin of its last slice that is not left out */
	guint32 depth;
};

struct count {
	gint64 time_ns;
	gdouble value;
};

struct walk_state {
	struct page_timeline *page;
	const TachoTimeline *timeline;
	guint32 *flow_from, *flow_to; /* slice of the page, by flow; TACHO_NONE */
	GArray *counts;		      /* struct count, of the counter being told */
	guint32 counter;	      /* its track; TACHO_NONE: none */
};

static struct page_track *track_at(const struct page_timeline *page, guint32 track)
{
	return &g_array_index(page->tracks, struct page_track, track);
}

static guint32 string_number(struct page_timeline *page, const gchar *string)
{
	gpointer number;
	gchar *valid;

	if (g_hash_table_lookup_extended(page->string_numbers, string, NULL, &number))
		return GPOINTER_TO_UINT(number);
	valid = g_utf8_make_valid(string, -1);
	g_ptr_array_add(page->strings, valid);
	g_hash_table_insert(page->string_numbers, g_strdup(string),
			    GUINT_TO_POINTER(page->strings->len - 1));
	return page->strings->len - 1;
}

/* --- what is left out --------------------------------------------------------------------------- */

static int compare_durations(gconstpointer a, gconstpointer b)
{
	gint64 first = *(const gint64 *)a, second = *(const gint64 *)b;

	return (first < second) - (first > second);
}

/* The duration that no more than `max_slices` slices are longer than or as long as. */
static gint64 shortest_shown(const TachoTimeline *timeline, guint max_slices)
{
	g_autofree gint64 *durations = NULL;
	gint64 shortest;

	if (timeline->slices.n <= max_slices)
		return 0;
	durations =
		g_memdup2(timeline->slices.duration_ns, timeline->slices.n * sizeof(*durations));
	qsort(durations, timeline->slices.n, sizeof(*durations), compare_durations);
	shortest = max_slices ? durations[max_slices - 1] : G_MAXINT64 - 1;
	return durations[max_slices] < shortest ? shortest : shortest + 1;
}

/* --- counters ----------------------------------------------------------------------------------- */

/* How many decimals these are kept with: none where all are whole, else what the largest needs to have
 * PAGE_COUNT_DIGITS. */
static guint count_decimals(const struct count *counts, guint n)
{
	gboolean are_whole = TRUE;
	gdouble largest = 0;

	for (guint i = 0; i < n; i++) {
		are_whole &= counts[i].value == trunc(counts[i].value);
		largest = MAX(largest, fabs(counts[i].value));
	}
	if (are_whole)
		return 0;
	return (guint)CLAMP(PAGE_COUNT_DIGITS - (gint)ceil(log10(largest)), 0,
			    PAGE_MAX_COUNT_DECIMALS);
}

static gint64 scaled_value(const struct page_track *track, const struct count *count)
{
	return number_round(count->value * pow(10, track->count_decimals));
}

static void add_count(struct page_timeline *page, struct page_track *track, struct count *last,
		      const struct count *count)
{
	page_column_add(&page->count_time,
			page_zigzag((gint64)((guint64)count->time_ns - (guint64)last->time_ns)));
	page_column_add(&page->count_value,
			page_zigzag((gint64)((guint64)scaled_value(track, count) -
					     (guint64)scaled_value(track, last))));
	track->n_counts++;
	*last = *count;
}

/* The lowest and the highest of these, in order of time. */
static void add_extremes(struct page_timeline *page, struct page_track *track, struct count *last,
			 const struct count *counts, guint n)
{
	guint lowest = 0, highest = 0;

	for (guint i = 1; i < n; i++) {
		if (counts[i].value < counts[lowest].value)
			lowest = i;
		if (counts[i].value > counts[highest].value)
			highest = i;
	}
	add_count(page, track, last, &counts[MIN(lowest, highest)]);
	if (lowest != highest)
		add_count(page, track, last, &counts[MAX(lowest, highest)]);
}

static void end_counter(struct walk_state *walk)
{
	const struct count *counts = (const struct count *)(gpointer)walk->counts->data;
	struct count last = { 0 };
	struct page_track *track;
	guint n = walk->counts->len, at_once;

	if (walk->counter == TACHO_NONE || n == 0)
		return;
	track = track_at(walk->page, walk->counter);
	track->count_decimals = count_decimals(counts, n);
	at_once = n <= PAGE_MAX_COUNTS ? 1 : n / (PAGE_MAX_COUNTS / 2) + 1;
	for (guint i = 0; i < n; i += at_once)
		add_extremes(walk->page, track, &last, counts + i, MIN(at_once, n - i));
	walk->page->n_counts_thinned += at_once > 1;
	g_array_set_size(walk->counts, 0);
}

static void tell_count(const struct export_track *track, gint64 time_ns, gdouble value,
		       gpointer data)
{
	struct walk_state *walk = data;
	struct count count = { time_ns, value };

	if (walk->counter != track->number - 1)
		end_counter(walk);
	walk->counter = track->number - 1;
	g_array_append_val(walk->counts, count);
}

/* --- slices --------------------------------------------------------------------------------------- */

static void add_arg(struct page_timeline *page, const struct slice_arg *arg)
{
	guint8 head = (guint8)((guint)arg->key << 2 | (guint)arg->type);

	G_STATIC_ASSERT(N_SLICE_ARGS <= 64);
	g_byte_array_append(page->arg_bytes, &head, 1);
	switch (arg->type) {
	case SLICE_ARG_TYPE_TRUE:
		break;
	case SLICE_ARG_TYPE_INTEGER:
		page_append_varint(page->arg_bytes, page_zigzag(arg->integer));
		break;
	case SLICE_ARG_TYPE_UNSIGNED:
		page_append_varint(page->arg_bytes, arg->number);
		break;
	case SLICE_ARG_TYPE_STRING:
		page_append_varint(page->arg_bytes, string_number(page, arg->string));
		break;
	}
}

static void add_args(struct page_timeline *page, const struct slice_args *args)
{
	guint before = page->arg_bytes->len;

	for (guint i = 0; i < args->n; i++)
		add_arg(page, &args->args[i]);
	page_column_add(&page->args, page->arg_bytes->len - before);
}

static void add_slice(struct page_timeline *page, const struct export_track *on,
		      const struct export_slice *slice, enum page_slice_state state)
{
	struct page_track *track = track_at(page, on->number - 1);

	page_column_add(&page->track, on->number - 1);
	page_column_add(&page->begin, page_zigzag(slice->start_ns - track->last_ns));
	page_column_add(&page->duration, (guint64)(slice->end_ns - slice->start_ns));
	page_column_add(&page->name, string_number(page, slice->name));
	page_column_add(&page->kind, string_number(page, slice->category));
	page_column_add(&page->depth, track->depth);
	page_column_add(&page->state, state);
	add_args(page, slice->args);
	track->last_ns = slice->start_ns;
}

static void keep_flows(struct walk_state *walk, const struct export_slice *slice, guint32 row)
{
	for (guint32 i = 0; i < slice->n_links; i++) {
		const struct slice_link *link = &slice->links[i];

		if (link->kind == SLICE_LINK_FLOW_BEGIN)
			walk->flow_from[link->row] = row;
		else if (link->kind == SLICE_LINK_FLOW_END)
			walk->flow_to[link->row] = row;
	}
}

static void tell_begin(const struct export_track *track, const struct export_slice *slice,
		       gpointer data)
{
	struct walk_state *walk = data;
	struct page_timeline *page = walk->page;

	if (slice->end_ns - slice->start_ns < page->shortest_ns) {
		page->n_left_out++;
	} else {
		keep_flows(walk, slice, page->track.n);
		add_slice(page, track, slice, slice->is_open ? PAGE_SLICE_OPEN : 0);
	}
	track_at(page, track->number - 1)->depth++;
}

static void tell_end(const struct export_track *track, gint64 end_ns G_GNUC_UNUSED, gpointer data)
{
	struct walk_state *walk = data;

	track_at(walk->page, track->number - 1)->depth--;
}

static void tell_moment(const struct export_track *track, const struct export_moment *moment,
			gpointer data)
{
	struct walk_state *walk = data;
	struct export_slice slice = {
		.start_ns = moment->time_ns,
		.end_ns = moment->time_ns,
		.name = moment->name,
		.category = moment->category,
		.args = moment->args,
	};

	add_slice(walk->page, track, &slice, PAGE_SLICE_MOMENT);
}

static void tell_track(const struct export_track *track, gpointer data)
{
	struct walk_state *walk = data;
	struct page_track row = {
		.kind = track->kind,
		.process = track->process,
		.process_number = track->process_number - 1,
		.order = track->order,
		.tid = track->tid,
		.name = g_strdup(track->name),
	};

	g_array_append_val(walk->page->tracks, row);
}

static gboolean has_failed(gpointer data G_GNUC_UNUSED)
{
	return FALSE;
}

/* --- the whole ------------------------------------------------------------------------------------ */

/* Flows of which both ends are shown. */
static void add_flows(struct walk_state *walk)
{
	const GArray *flows = walk->timeline->flows;

	for (guint32 i = 0; i < flows->len; i++) {
		if (walk->flow_from[i] == TACHO_NONE || walk->flow_to[i] == TACHO_NONE)
			continue;
		page_column_add(&walk->page->flow_from, walk->flow_from[i]);
		page_column_add(&walk->page->flow_to, walk->flow_to[i]);
		page_column_add(&walk->page->flow_kind, g_array_index(flows, TachoFlow, i).kind);
	}
}

static void clear_track(gpointer track)
{
	g_free(((struct page_track *)track)->name);
}

static void init_page(struct page_timeline *page)
{
	memset(page, 0, sizeof(*page));
#define PAGE_COLUMN_INIT(name) page_column_init(&page->name);
	PAGE_COLUMNS(PAGE_COLUMN_INIT)
#undef PAGE_COLUMN_INIT
	page->arg_bytes = g_byte_array_new();
	page->tracks = g_array_new(FALSE, FALSE, sizeof(struct page_track));
	g_array_set_clear_func(page->tracks, clear_track);
	page->strings = g_ptr_array_new_with_free_func(g_free);
	page->string_numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

/* TACHO_NONE, `n` times. */
static guint32 *new_unset(guint n)
{
	guint32 *numbers = g_new(guint32, n);

	for (guint i = 0; i < n; i++)
		numbers[i] = TACHO_NONE;
	return numbers;
}

gboolean page_timeline_init(struct page_timeline *page, const TachoTimeline *timeline,
			    const TachoExportOptions *options, guint max_slices, GError **error)
{
	static const struct export_target target = {
		tell_track, tell_begin, tell_end, tell_moment, tell_count, tell_count, has_failed,
	};
	struct walk_state walk = { .page = page, .timeline = timeline, .counter = TACHO_NONE };
	gboolean is_told;

	init_page(page);
	page->shortest_ns = shortest_shown(timeline, max_slices);
	walk.counts = g_array_new(FALSE, FALSE, sizeof(struct count));
	walk.flow_from = new_unset(timeline->flows->len);
	walk.flow_to = new_unset(timeline->flows->len);
	is_told = export_walk(timeline, options, &target, &walk, error);
	end_counter(&walk);
	if (is_told)
		add_flows(&walk);
	g_free(walk.flow_from);
	g_free(walk.flow_to);
	g_array_unref(walk.counts);
	if (!is_told)
		page_timeline_release(page);
	return is_told;
}

void page_timeline_release(struct page_timeline *page)
{
#define PAGE_COLUMN_RELEASE(name) page_column_release(&page->name);
	PAGE_COLUMNS(PAGE_COLUMN_RELEASE)
#undef PAGE_COLUMN_RELEASE
	g_byte_array_unref(page->arg_bytes);
	g_array_unref(page->tracks);
	g_ptr_array_unref(page->strings);
	g_hash_table_unref(page->string_numbers);
}

/* --- JSON ----------------------------------------------------------------------------------------- */

static void write_track(const TachoTimeline *timeline, const struct page_track *track,
			JsonWriter *json)
{
	static const gchar *const kinds[] = { "process", "steps",  "bytes", "counter",
					      "counter", "thread", "lane" };
	const TachoProcess *process = tacho_timeline_process(timeline, track->process);

	json_writer_line(json);
	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "kind"), kinds[track->kind]);
	json_writer_string(json_writer_key(json, "name"), track->name);
	json_writer_unsigned(json_writer_key(json, "process"), track->process_number);
	json_writer_integer(json_writer_key(json, "rank"),
			    tacho_timeline_rank(timeline, process->rank_index)->rank);
	json_writer_boolean(json_writer_key(json, "is_main"), process->is_main);
	json_writer_key(json, "tid"); /* 0: no thread */
	json_writer_integer(json, track->kind == EXPORT_TRACK_THREAD ? track->tid : 0);
	json_writer_integer(json_writer_key(json, "order"), track->order);
	json_writer_unsigned(json_writer_key(json, "counts"), track->n_counts);
	json_writer_key(json, "decimals"); /* of its values, which are whole here */
	json_writer_unsigned(json, track->count_decimals);
	json_writer_end_object(json);
}

static void write_names(JsonWriter *json, const gchar *key, guint n, const gchar *(*name)(guint))
{
	json_writer_begin_array(json_writer_key(json, key));
	for (guint i = 0; i < n; i++)
		json_writer_string(json, name(i));
	json_writer_end_array(json);
}

static const gchar *arg_key(guint index)
{
	return slice_arg_key_name((enum slice_arg_key)index);
}

static const gchar *flow_kind(guint index)
{
	return tacho_flow_kind_name((TachoFlowKind)index);
}

void page_timeline_write_json(const struct page_timeline *page, const TachoTimeline *timeline,
			      JsonWriter *json)
{
	json_writer_key(json, "origin_unix_ns"); /* as text: a double does not hold it */
	json_writer_begin_array(json);
	json_writer_integer(json, timeline->origin_unix_ns / G_GINT64_CONSTANT(1000000000));
	json_writer_integer(json, timeline->origin_unix_ns % G_GINT64_CONSTANT(1000000000));
	json_writer_end_array(json);
	json_writer_unsigned(json_writer_key(json, "left_out_slices"), page->n_left_out);
	json_writer_integer(json_writer_key(json, "shortest_ns"), page->shortest_ns);
	json_writer_unsigned(json_writer_key(json, "thinned_counters"), page->n_counts_thinned);
	write_names(json, "arg_keys", N_SLICE_ARGS, arg_key);
	write_names(json, "flow_kinds", TACHO_N_FLOW_KINDS, flow_kind);
	json_writer_begin_array(json_writer_key(json, "tracks"));
	for (guint i = 0; i < page->tracks->len; i++)
		write_track(timeline, track_at(page, i), json);
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "strings"));
	for (guint i = 0; i < page->strings->len; i++)
		json_writer_string(json, g_ptr_array_index(page->strings, i));
	json_writer_end_array(json);
}
