#include "stack_checks.h"

#include <stdio.h>
#include <string.h>

#include "base/byte_stream.h"
#include "base/order.h"
#include "export/pprof.pb-c.h"
#include "export/viewer_ids.h"

#define FRAMES_END '\n' /* that no frame has */

/* Of a stack, or a name. */
struct sums {
	guint64 count, self_ns;
};

/* --- own times: (1) ----------------------------------------------------------------------------- */

static gint compare_times(gconstpointer first, gconstpointer second)
{
	return ORDER(*(const gint64 *)first, *(const gint64 *)second);
}

/* When a slice of the track begins or ends, in order. */
static GArray *boundaries(const TachoTimeline *timeline, const TachoTrack *track)
{
	GArray *times = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		gint64 end_ns = tacho_slice_end_ns(timeline, i);

		g_array_append_val(times, timeline->slices.start_ns[i]);
		g_array_append_val(times, end_ns);
	}
	g_array_sort(times, compare_times);
	return times;
}

/* The slice that began last of those that are open from `begin_ns` to `end_ns`; TACHO_NONE. */
static guint32 owner_of(const TachoTimeline *timeline, const TachoTrack *track, gint64 begin_ns,
			gint64 end_ns)
{
	for (guint32 i = track->first_slice + track->n_slices; i-- > track->first_slice;)
		if (timeline->slices.start_ns[i] <= begin_ns &&
		    tacho_slice_end_ns(timeline, i) >= end_ns)
			return i;
	return TACHO_NONE;
}

static void add_own_times(const TachoTimeline *timeline, const TachoTrack *track, guint64 *own_ns)
{
	g_autoptr(GArray) times = boundaries(timeline, track);

	for (guint i = 0; i + 1 < times->len; i++) {
		gint64 begin_ns = g_array_index(times, gint64, i);
		gint64 end_ns = g_array_index(times, gint64, i + 1);
		guint32 owner = begin_ns < end_ns ? owner_of(timeline, track, begin_ns, end_ns)
						  : TACHO_NONE;

		if (owner != TACHO_NONE)
			own_ns[owner] += (guint64)end_ns - (guint64)begin_ns;
	}
}

/* By slice; what overlaps beside a thread has all of its time. To be freed with g_free(). */
static guint64 *own_times_anew(const TachoTimeline *timeline)
{
	guint64 *own_ns = g_new0(guint64, timeline->slices.n + 1);

	for (guint32 i = 0; i < timeline->tracks->len; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, i);

		if (track->kind != TACHO_TRACK_ASYNC) {
			add_own_times(timeline, track, own_ns);
			continue;
		}
		for (guint32 k = track->first_slice; k < track->first_slice + track->n_slices; k++)
			own_ns[k] = (guint64)timeline->slices.duration_ns[k];
	}
	return own_ns;
}

guint64 stack_total_ns(const TachoTimeline *timeline)
{
	g_autofree guint64 *own_ns = own_times_anew(timeline);
	guint64 sum = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		sum += own_ns[i];
	return sum;
}

/* --- stacks: (2) -------------------------------------------------------------------------------- */

static gchar *clean(const gchar *name)
{
	gchar *text = g_utf8_make_valid(name, -1);

	for (gchar *at = text; *at; at++)
		if ((guchar)*at < ' ' || *at == 0x7f)
			*at = ' ';
	return text;
}

static gchar *name_of(const TachoTimeline *timeline, guint32 slice)
{
	return clean(tacho_slice_name(timeline, slice));
}

/* "rank 0 (a, pid 1) main": the outermost frame. */
static gchar *track_frame(const TachoTimeline *timeline, guint32 index)
{
	g_autofree gchar *process =
		viewer_process_name(timeline, tacho_timeline_track(timeline, index)->process);
	g_autofree gchar *track = viewer_track_name(timeline, index);
	g_autofree gchar *both = g_strconcat(process, " ", track, NULL);

	return clean(both);
}

/* The frames around a slice and its own, each behind the one around it. `empty` is a frame without a name. */
static gchar *stack_of(const TachoTimeline *timeline, guint32 slice, const gchar *empty)
{
	GString *stack = g_string_new(NULL);
	g_autofree gchar *outermost = track_frame(timeline, timeline->slices.track[slice]);

	for (; slice != TACHO_NONE; slice = timeline->slices.parent[slice]) {
		g_autofree gchar *name = name_of(timeline, slice);

		g_string_prepend(stack, *name ? name : empty);
		g_string_prepend_c(stack, FRAMES_END);
	}
	g_string_prepend(stack, outermost);
	return g_string_free(stack, FALSE);
}

static GHashTable *sums_new(void)
{
	return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

static void sums_add(GHashTable *sums, const gchar *key, guint64 count, guint64 self_ns)
{
	struct sums *sum = g_hash_table_lookup(sums, key);

	if (!sum) {
		sum = g_new0(struct sums, 1);
		g_hash_table_insert(sums, g_strdup(key), sum);
	}
	sum->count += count;
	sum->self_ns += self_ns;
}

/* Both have the same keys with the same sums. */
static void sums_compare(GHashTable *found, GHashTable *expected)
{
	GHashTableIter iter;
	gpointer key, value;

	g_hash_table_iter_init(&iter, expected);
	while (g_hash_table_iter_next(&iter, &key, &value)) {
		const struct sums *sum = g_hash_table_lookup(found, key), *right = value;
		g_autofree gchar *told =
			g_strdup_printf("%s: %" G_GUINT64_FORMAT " times, %" G_GUINT64_FORMAT " ns",
					(gchar *)key, sum ? sum->count : 0, sum ? sum->self_ns : 0);
		g_autofree gchar *wanted =
			g_strdup_printf("%s: %" G_GUINT64_FORMAT " times, %" G_GUINT64_FORMAT " ns",
					(gchar *)key, right->count, right->self_ns);

		g_assert_cmpstr(told, ==, wanted);
	}
	g_assert_cmpuint(g_hash_table_size(found), ==, g_hash_table_size(expected));
}

/* --- folded ------------------------------------------------------------------------------------- */

/* What is to be there: stacks with time of their own. A ";" in a name would divide it. */
static GHashTable *expected_folded(const TachoTimeline *timeline)
{
	g_autofree guint64 *own_ns = own_times_anew(timeline);
	GHashTable *sums = sums_new();

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		g_autofree gchar *stack = stack_of(timeline, i, "");

		if (own_ns[i] > 0)
			sums_add(sums, g_strdelimit(g_strdelimit(stack, ";", ':'), "\n", ';'), 0,
				 own_ns[i]);
	}
	return sums;
}

void stack_check_folded(const TachoTimeline *timeline, const gchar *path)
{
	g_autoptr(GHashTable) expected = expected_folded(timeline), found = sums_new();
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i] && lines[i + 1]; i++) {
		gchar *number = strrchr(lines[i], ' ');
		guint64 self_ns;

		g_assert_nonnull(number);
		*number++ = '\0';
		g_assert_true(
			g_ascii_string_to_unsigned(number, 10, 1, G_MAXUINT64, &self_ns, NULL));
		sums_add(found, lines[i], 0, self_ns);
	}
	sums_compare(found, expected);
}

/* --- pprof -------------------------------------------------------------------------------------- */

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__Sample Sample;

static GByteArray *read_decoded(const gchar *path)
{
	g_autoptr(ByteStream) stream = byte_stream_open(path, NULL);
	GByteArray *bytes = g_byte_array_new();
	guint8 block[4096];
	gssize n;

	g_assert_nonnull(stream);
	g_assert_cmpint(byte_stream_coding(stream), ==, BYTE_CODING_GZIP);
	while ((n = byte_stream_read(stream, block, sizeof(block), NULL)) > 0)
		g_byte_array_append(bytes, block, (guint)n);
	g_assert_cmpint(n, ==, 0);
	return bytes;
}

static const gchar *string_at(const Profile *profile, gint64 index)
{
	g_assert_cmpint(index, >=, 0);
	g_assert_cmpuint((guint64)index, <, profile->n_string_table);
	return profile->string_table[index];
}

static const gchar *name_of_function(const Profile *profile, guint64 id)
{
	for (gsize i = 0; i < profile->n_function; i++)
		if (profile->function[i]->id == id)
			return string_at(profile, profile->function[i]->name);
	g_assert_not_reached();
}

static const gchar *name_of_location(const Profile *profile, guint64 id)
{
	for (gsize i = 0; i < profile->n_location; i++)
		if (profile->location[i]->id == id) {
			g_assert_cmpuint(profile->location[i]->n_line, ==, 1);
			return name_of_function(profile,
						profile->location[i]->line[0]->function_id);
		}
	g_assert_not_reached();
}

/* The innermost frame stands first. */
static gchar *stack_of_sample(const Profile *profile, const Sample *sample)
{
	GString *stack = g_string_new(NULL);

	for (gsize i = sample->n_location_id; i-- > 0;) {
		g_string_append(stack, name_of_location(profile, sample->location_id[i]));
		if (i)
			g_string_append_c(stack, FRAMES_END);
	}
	return g_string_free(stack, FALSE);
}

static void check_head(const TachoTimeline *timeline, const Profile *profile)
{
	static const gchar *const types[][2] = { { "calls", "count" }, { "time", "nanoseconds" } };

	g_assert_cmpuint(profile->n_sample_type, ==, G_N_ELEMENTS(types));
	for (guint i = 0; i < G_N_ELEMENTS(types); i++) {
		g_assert_cmpstr(string_at(profile, profile->sample_type[i]->type), ==, types[i][0]);
		g_assert_cmpstr(string_at(profile, profile->sample_type[i]->unit), ==, types[i][1]);
	}
	g_assert_cmpstr(string_at(profile, 0), ==, "");
	g_assert_cmpint(profile->time_nanos, ==, timeline->origin_unix_ns);
	g_assert_cmpint(profile->duration_nanos, ==, timeline->duration_ns);
}

static GHashTable *expected_samples(const TachoTimeline *timeline)
{
	g_autofree guint64 *own_ns = own_times_anew(timeline);
	GHashTable *sums = sums_new();

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		g_autofree gchar *stack = stack_of(timeline, i, "(no name)");

		sums_add(sums, stack, 1, own_ns[i]);
	}
	return sums;
}

void stack_check_pprof(const TachoTimeline *timeline, const gchar *path)
{
	g_autoptr(GHashTable) expected = expected_samples(timeline), found = sums_new();
	g_autoptr(GByteArray) bytes = read_decoded(path);
	Profile *profile = perftools__profiles__profile__unpack(NULL, bytes->len, bytes->data);

	g_assert_nonnull(profile);
	check_head(timeline, profile);
	for (gsize i = 0; i < profile->n_sample; i++) {
		const Sample *sample = profile->sample[i];
		g_autofree gchar *stack = stack_of_sample(profile, sample);

		g_assert_cmpuint(sample->n_value, ==, 2);
		sums_add(found, stack, (guint64)sample->value[0], (guint64)sample->value[1]);
	}
	sums_compare(found, expected);
	perftools__profiles__profile__free_unpacked(profile, NULL);
}

/* --- dot ---------------------------------------------------------------------------------------- */

/* What stands between the quotation mark at `*at` and the next one that nobody escaped. */
static gchar *take_quoted(const gchar **at)
{
	GString *text = g_string_new(NULL);

	g_assert_cmpint(**at, ==, '"');
	for (++*at; **at != '"'; ++*at) {
		g_assert_true(**at && **at != '\n');
		if (**at != '\\') {
			g_string_append_c(text, **at);
			continue;
		}
		++*at;
		g_assert_true(**at == 'n' || **at == '"' || **at == '\\');
		g_string_append_c(text, **at == 'n' ? '\n' : **at);
	}
	++*at;
	return g_string_free(text, FALSE);
}

/* "NAME\n1.250 ms itself, 3 times" */
static gchar *label_of(const TachoTimeline *timeline, guint32 name, GHashTable *names)
{
	const struct sums *sum = g_hash_table_lookup(names, GUINT_TO_POINTER(name));
	g_autofree gchar *text = clean(tacho_timeline_string(timeline, name));

	return g_strdup_printf("%s\n%.3f ms itself, %" G_GUINT64_FORMAT " times", text,
			       (gdouble)sum->self_ns / 1e6, sum->count);
}

/* string id -> struct sums */
static GHashTable *sum_up_names(const TachoTimeline *timeline)
{
	g_autofree guint64 *own_ns = own_times_anew(timeline);
	GHashTable *names = g_hash_table_new_full(NULL, NULL, NULL, g_free);

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		gpointer name = GUINT_TO_POINTER(timeline->slices.name[i]);
		struct sums *sum = g_hash_table_lookup(names, name);

		if (!sum) {
			sum = g_new0(struct sums, 1);
			g_hash_table_insert(names, name, sum);
		}
		sum->count++;
		sum->self_ns += own_ns[i];
	}
	return names;
}

/* Labels of nodes, counted, and of arrows, "FROM\nTO" with how often. Names that look alike may be several nodes. */
static void expect_graph(const TachoTimeline *timeline, GHashTable *nodes, GHashTable *arrows)
{
	g_autoptr(GHashTable) names = sum_up_names(timeline);
	GHashTableIter iter;
	gpointer name;

	g_hash_table_iter_init(&iter, names);
	while (g_hash_table_iter_next(&iter, &name, NULL)) {
		g_autofree gchar *label = label_of(timeline, GPOINTER_TO_UINT(name), names);

		sums_add(nodes, label, 1, 0);
	}
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		guint32 parent = timeline->slices.parent[i];
		g_autofree gchar *from = NULL, *to = NULL, *both = NULL;

		if (parent == TACHO_NONE)
			continue;
		from = label_of(timeline, timeline->slices.name[parent], names);
		to = label_of(timeline, timeline->slices.name[i], names);
		both = g_strconcat(from, "\n", to, NULL);
		sums_add(arrows, both, 1, 0);
	}
}

/* A line of the graph: a node, an arrow, or what is neither. */
static void read_line(const gchar *line, GPtrArray *labels, GHashTable *nodes, GHashTable *arrows)
{
	guint from, to;
	gint length = 0;

	if (sscanf(line, "  n%u -> n%u [label=%n", &from, &to, &length) == 2 && length) {
		const gchar *at = line + length;
		g_autofree gchar *count = take_quoted(&at), *both = NULL;

		g_assert_cmpuint(MAX(from, to), <, labels->len);
		both = g_strconcat(labels->pdata[from], "\n", labels->pdata[to], NULL);
		sums_add(arrows, both, g_ascii_strtoull(count, NULL, 10), 0);
	} else if (sscanf(line, "  n%u [label=%n", &from, &length) == 1 && length) {
		const gchar *at = line + length;
		gchar *label = take_quoted(&at);

		g_assert_cmpuint(from, ==, labels->len);
		g_ptr_array_add(labels, label);
		sums_add(nodes, label, 1, 0);
	}
}

void stack_check_dot(const TachoTimeline *timeline, const gchar *path)
{
	g_autoptr(GHashTable) nodes = sums_new(), arrows = sums_new();
	g_autoptr(GHashTable) expected_nodes = sums_new(), expected_arrows = sums_new();
	g_autoptr(GPtrArray) labels = g_ptr_array_new_with_free_func(g_free);
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++)
		read_line(lines[i], labels, nodes, arrows);
	expect_graph(timeline, expected_nodes, expected_arrows);
	sums_compare(nodes, expected_nodes);
	sums_compare(arrows, expected_arrows);
}
