/* CTF traces made by others, with what their origins expect of them: the README beside them names each. */
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <tacho/correlate.h>
#include <tacho/import.h>

#include "ctf_lines.h"
#include "foreign_traces.h"
#include "import/ctf/ctf_import.h"
#include "timeline_text.h"

/* --- event counts ----------------------------------------------------------------------------- */

/* Origin: constants of Trace Compass' tests, or babeltrace2's own count. Definitions of OTF2 are no events here: of
 * the 891, 682, 637, 873 and 1680 that Trace Compass counts, 667, 618, 604, 613 and 616 are such. F1 (intersection): the counts of all
 * events, which is what is read; to count those in the intersection alone is a filter of babeltrace2's program. */
static const struct {
	const gchar *name;
	guint64 n_events, n_dropped;
} counts[] = {
	{ "tracecompass/mpi_allreduce", 224, 0 },
	{ "tracecompass/mpi_gather", 64, 0 },
	{ "tracecompass/mpi_ssend_irecv", 33, 0 },
	{ "tracecompass/papi_counters", 260, 0 },
	{ "tracecompass/cyg-profile/glxgears-cyg-profile", 4977, 0 },
	{ "tracecompass/cyg-profile/glxgears-cyg-profile-fast", 5161, 0 },
	{ "tracecompass/debuginfo-test-app2", 41, 0 },
	{ "tracecompass/bandwidth_issue", 1064, 0 },
	{ "babeltrace/intersection/3eventsintersect", 8, 0 },
	{ "babeltrace/intersection/3eventsintersectreverse", 8, 0 },
	{ "babeltrace/intersection/nointersect", 6, 0 },
	{ "babeltrace/intersection/onestream", 3, 0 },
	{ "babeltrace/succeed/2packets", 2, 0 },
	{ "babeltrace/succeed/array-align-elem", 1, 0 },
	{ "babeltrace/succeed/barectf-event-before-packet", 2, 0 },
	{ "babeltrace/succeed/crlf-metadata", 5, 0 },
	{ "babeltrace/succeed/debug-info", 4, 0 },
	{ "babeltrace/succeed/ev-disc-no-ts-begin-end", 3, 17 },
	{ "babeltrace/succeed/lf-metadata", 5, 0 },
	{ "babeltrace/succeed/lttng-crash", 400, 0 },
	{ "babeltrace/succeed/lttng-event-after-packet", 2, 0 },
	{ "babeltrace/succeed/meta-variant-no-underscore", 1, 0 },
	{ "babeltrace/succeed/meta-variant-reserved-keywords", 1, 0 },
	{ "babeltrace/succeed/no-packet-context", 3, 0 },
	{ "babeltrace/succeed/sequence", 10, 0 },
	{ "babeltrace/succeed/smalltrace", 2, 0 },
	{ "babeltrace/succeed/struct-array-align-elem", 1, 0 },
	{ "babeltrace/succeed/trace-with-index", 4000, 0 },
	{ "babeltrace/succeed/wk-heartbeat-u", 20, 0 },
	{ "babeltrace/succeed/multi-domains/kernel", 272, 728 },
	{ "babeltrace/succeed/multi-domains/ust", 4000, 0 },
};

static gchar *sample(const gchar *name)
{
	g_autofree gchar *below = g_strconcat("ctf/", name, NULL);

	return foreign_sample(below);
}

static TachoTimeline *open_sample(const gchar *name)
{
	g_autofree gchar *path = sample(name);
	TachoTimeline *timeline = path ? foreign_open(path) : NULL;

	if (timeline)
		tacho_correlate(timeline);
	return timeline;
}

static void test_counts(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		g_autoptr(TachoTimeline) timeline = open_sample(counts[i].name);

		if (!timeline)
			return;
		g_test_message("%s", counts[i].name);
		g_assert_cmpuint(timeline->n_events, ==, counts[i].n_events);
		g_assert_cmpuint(timeline->n_dropped, ==, counts[i].n_dropped);
		foreign_use(timeline);
	}
}

static void assert_same_slice(const TachoTimeline *a, const TachoTimeline *b, guint32 row)
{
	g_autofree gchar *args_a = tacho_slice_args_json(a, row);
	g_autofree gchar *args_b = tacho_slice_args_json(b, row);

	g_assert_cmpint(a->slices.start_ns[row], ==, b->slices.start_ns[row]);
	g_assert_cmpint(a->slices.duration_ns[row], ==, b->slices.duration_ns[row]);
	g_assert_cmpuint(a->slices.track[row], ==, b->slices.track[row]);
	g_assert_cmpuint(a->slices.parent[row], ==, b->slices.parent[row]);
	g_assert_cmpuint(a->slices.kind[row], ==, b->slices.kind[row]);
	g_assert_cmpstr(tacho_slice_name(a, row), ==, tacho_slice_name(b, row));
	g_assert_cmpstr(args_a, ==, args_b);
}

/* However many processes share the streams of a trace, it is the same timeline. */
static void test_parts(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(counts); i++) {
		g_autofree gchar *folder = sample(counts[i].name);
		struct ctf_parts one = { folder, 1 }, three = { folder, 3 };
		g_autoptr(TachoTimeline) a = NULL, b = NULL;

		if (!folder)
			return;
		g_test_message("%s", counts[i].name);
		a = import_by(ctf_read_parts, &one, NULL);
		b = import_by(ctf_read_parts, &three, NULL);
		g_assert_cmpuint(a->n_events, ==, b->n_events);
		g_assert_cmpuint(a->slices.n, ==, b->slices.n);
		g_assert_cmpuint(a->samples->len, ==, b->samples->len);
		g_assert_cmpuint(a->problems->len, ==, b->problems->len);
		for (guint32 row = 0; row < a->slices.n; row++)
			assert_same_slice(a, b, row);
	}
}

/* Both traces of a session are one run. */
static void test_session(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("babeltrace/succeed/multi-domains");

	if (timeline)
		g_assert_cmpuint(timeline->n_events, ==, 4272);
}

/* What libbabeltrace2 cannot read: an assertion of its own, and a trace without streams. */
static void test_unreadable(void)
{
	g_autofree gchar *broken = sample("babeltrace/succeed/meta-ctx-sequence");
	g_autofree gchar *empty = sample("babeltrace/intersection/nostream");
	g_autofree gchar *why = NULL, *why_empty = NULL;

	if (!broken || !empty)
		return;
	why = foreign_open_fails(broken);
	g_assert_nonnull(strstr(why, "Assertion"));
	g_assert_nonnull(strstr(why, broken));
	why_empty = foreign_open_fails(empty);
	g_assert_nonnull(strstr(why_empty, "no events"));
}

/* --- MPI, from OTF2 --------------------------------------------------------------------------- */

static guint count_named(const TachoTimeline *timeline, const gchar *name)
{
	guint n = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		n += strcmp(tacho_slice_name(timeline, i), name) == 0;
	return n;
}

static void test_mpi(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("tracecompass/mpi_allreduce");
	guint32 main_slice;

	if (!timeline)
		return;
	/* 88 Event_Enter; 8 locations in as many groups of type process */
	g_assert_cmpuint(timeline->ranks->len, ==, 8);
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_FUNCTION) +
				 foreign_count_kind(timeline, TACHO_SLICE_COLLECTIVE),
			 ==, 88);
	g_assert_cmpuint(count_named(timeline, "MPI_Allreduce"), ==, 8);
	main_slice = timeline_find(timeline, "MPI_Allreduce", 0);
	main_slice = timeline->slices.parent[main_slice];
	g_assert_cmpstr(tacho_slice_name(timeline, main_slice), ==, "main");
	g_assert_cmpuint(timeline->problems->len, ==, 0);
}

static void test_mpi_messages(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("tracecompass/bandwidth_issue");
	guint n_messages = 0;

	if (!timeline)
		return;
	for (guint i = 0; i < timeline->flows->len; i++) {
		const TachoFlow *flow = &g_array_index(timeline->flows, TachoFlow, i);

		if (flow->kind != TACHO_FLOW_MESSAGE)
			continue;
		n_messages++;
		g_assert_cmpint(timeline->slices.start_ns[flow->from], <=,
				timeline->slices.start_ns[flow->to]);
	}
	g_assert_cmpuint(count_named(timeline, "MPI send"), ==, 90);
	g_assert_cmpuint(n_messages, ==, 90);
}

static void test_papi(void)
{
	g_autoptr(TachoTimeline) timeline = open_sample("tracecompass/papi_counters");
	const TachoTrack *track;

	if (!timeline)
		return;
	g_assert_cmpuint(timeline->samples->len, ==, 112);
	track = tacho_timeline_track(timeline,
				     g_array_index(timeline->samples, TachoSample, 0).track);
	g_assert_true(g_str_has_prefix(tacho_timeline_string(timeline, track->name), "PAPI_"));
}

/* --- programs --------------------------------------------------------------------------------- */

static void test_functions(void)
{
	g_autoptr(TachoTimeline) timeline =
		open_sample("tracecompass/cyg-profile/glxgears-cyg-profile");

	if (!timeline)
		return;
	/* 2490 entries and 2487 exits: three were open at the end */
	g_assert_cmpuint(foreign_count_kind(timeline, TACHO_SLICE_FUNCTION), ==, 2490);
	g_assert_cmpuint(timeline->problems->len, ==, 0);
	g_assert_cmpstr(
		tacho_timeline_string(timeline,
				      g_array_index(timeline->processes, TachoProcess, 0).command),
		==, "glxgears");
}

/* --- THAPI ------------------------------------------------------------------------------------ */

/* The value of `name = value` in a line of babeltrace's text; "" if there is none. */
static gchar *value_of(const gchar *line, const gchar *name)
{
	g_autofree gchar *key = g_strconcat(" ", name, " = ", NULL);
	const gchar *at = strstr(line, key);

	if (!at)
		return g_strdup("");
	at += strlen(key);
	return *at == '"' ? g_strndup(at + 1, strcspn(at + 1, "\""))
			  : g_strndup(at, strcspn(at, ", }"));
}

/* A line of an expected result as a line of ctf_lines.h. */
static void append_interval(GString *lines, const gchar *line, guint number)
{
	static const gchar *const fields[] = { "dur", "size", "did", "sdid" };
	g_autofree gchar *event = g_strndup(line, strcspn(line, " ") - 1);
	g_autofree gchar *host = value_of(line, "hostname"), *pid = value_of(line, "vpid");
	g_autofree gchar *tid = value_of(line, "vtid"), *ts = value_of(line, "ts");
	g_autofree gchar *name = value_of(line, "name");

	g_string_append_printf(lines, "hostname '%s'\npid %s\nts %s\n%u %s %s name='%s'", host, pid,
			       ts, number, tid, event, name);
	for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
		g_autofree gchar *value = value_of(line, fields[i]);

		if (*value)
			g_string_append_printf(lines, " %s=u:%s", fields[i], value);
	}
	g_string_append_c(lines, '\n');
}

/* Whether the timeline has the interval of the line. */
static gboolean has_interval(const TachoTimeline *timeline, const gchar *line)
{
	g_autofree gchar *name = value_of(line, "name"), *dur = value_of(line, "dur");
	g_autofree gchar *ts = value_of(line, "ts"), *tid = value_of(line, "vtid");
	gboolean is_device = g_str_has_prefix(line, "lttng:device");

	for (guint32 i = 0; i < timeline->slices.n; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[i]);

		if (strcmp(tacho_slice_name(timeline, i), name) == 0 &&
		    (track->kind == TACHO_TRACK_STREAM) == is_device &&
		    (is_device || track->tid == (guint32)atoi(tid)) &&
		    timeline->slices.start_ns[i] + timeline->origin_unix_ns ==
			    g_ascii_strtoll(ts, NULL, 10) &&
		    timeline->slices.duration_ns[i] == g_ascii_strtoll(dur, NULL, 10))
			return TRUE;
	}
	return FALSE;
}

static void check_intervals(const gchar *path)
{
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;
	g_autoptr(GString) trace = g_string_new("context hostname vpid vtid ts\n");
	g_autoptr(TachoTimeline) timeline = NULL;
	gchar *folder;

	g_assert_true(g_file_get_contents(path, &text, NULL, NULL));
	lines = g_strsplit(g_strstrip(text), "\n", -1);
	for (guint i = 0; lines[i]; i++)
		if (g_str_has_prefix(lines[i], "lttng:"))
			append_interval(trace, lines[i], i);
	folder = ctf_lines_new(trace->str);
	timeline = foreign_open(folder);
	for (guint i = 0; lines[i]; i++)
		if (g_str_has_prefix(lines[i], "lttng:host") ||
		    g_str_has_prefix(lines[i], "lttng:device"))
			g_assert_true(has_interval(timeline, lines[i]));
	ctf_lines_remove(folder);
}

/* F2: all intervals that THAPI expects, written as CTF, come out with name, time and duration. */
static void test_thapi(void)
{
	static const gchar *const folders[] = { "thapi/cuda", "thapi/hip", "thapi/opencl" };
	guint n = 0;

	for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
		g_autofree gchar *folder = sample(folders[i]);
		g_autoptr(GDir) entries = folder ? g_dir_open(folder, 0, NULL) : NULL;
		const gchar *name;

		while (entries && (name = g_dir_read_name(entries))) {
			g_autofree gchar *path = g_build_filename(folder, name, NULL);

			if (!g_str_has_suffix(name, ".bt_text_pretty"))
				continue;
			check_intervals(path);
			n++;
		}
	}
	g_assert_true(n == 0 || n == 17);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
#ifndef TACHO_HAVE_BABELTRACE
	return 0; /* there is nothing to test */
#endif
	g_test_add_func("/ctf-samples/counts", test_counts);
	g_test_add_func("/ctf-samples/parts", test_parts);
	g_test_add_func("/ctf-samples/session", test_session);
	g_test_add_func("/ctf-samples/unreadable", test_unreadable);
	g_test_add_func("/ctf-samples/mpi", test_mpi);
	g_test_add_func("/ctf-samples/mpi-messages", test_mpi_messages);
	g_test_add_func("/ctf-samples/papi", test_papi);
	g_test_add_func("/ctf-samples/functions", test_functions);
	g_test_add_func("/ctf-samples/thapi", test_thapi);
	return g_test_run();
}
