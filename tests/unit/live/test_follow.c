/* A run followed in small pieces has the steps, with the figures, that it has when it is read whole; and where steps are
 * passed over, so have those that are not. TACHO_FOLLOW_RUNS names more runs, separated by colons, to try that with; folders of
 * one run have commas between them. */
#include <stdio.h>
#include <string.h>
#include <tacho/correlate.h>
#include <tacho/import.h>

#include "live/live_internal.h"
#include "run_builder.h"

#define PIECE_BYTES 200000
#define WORTH_BYTES 1000 /* less than any step has */

static gchar *table_text(TachoTable *table)
{
	gchar *text = NULL;
	gsize length = 0;
	FILE *file = open_memstream(&text, &length);
	gchar *copy;

	tacho_table_print_json_lines(table, file);
	fclose(file);
	copy = g_strdup(text);
	free(text);
	return copy;
}

static gchar *steps_of_whole(const gchar *path)
{
	TachoFilter filter = TACHO_FILTER_INIT;
	g_auto(GStrv) paths = g_strsplit(path, ",", -1);
	g_autoptr(TachoTimeline) timeline =
		tacho_timeline_open((const gchar *const *)paths, g_strv_length(paths), NULL);
	g_autoptr(TachoTable) table = NULL;

	g_assert_nonnull(timeline);
	tacho_correlate(timeline);
	table = tacho_view_step(timeline, &filter);
	return table_text(table);
}

static gchar *steps_of_pieces(const gchar *path, guint64 piece_bytes)
{
	g_auto(GStrv) paths = g_strsplit(path, ",", -1);
	g_autoptr(TachoFollow) follow =
		tacho_follow_new((const gchar *const *)paths, g_strv_length(paths));
	g_autoptr(TachoTable) table = NULL;
	guint n_told = 0, n_looks = 0, n_beginnings = 0;

	follow_set_look_bytes(follow, piece_bytes);
	while (!tacho_follow_is_over(follow)) {
		g_assert_true(tacho_follow_look(follow, NULL));
		g_assert_cmpuint(n_looks++, <, 100000);
		if (tacho_follow_n_beginnings(follow) != n_beginnings)
			n_told = 0;
		n_beginnings = tacho_follow_n_beginnings(follow);
		n_told += tacho_follow_n_new(follow);
	}
	g_assert_cmpuint(n_told, ==, tacho_follow_borrow_steps(follow, NULL)->len);
	table = tacho_follow_step_table(follow, FALSE, FALSE);
	return table_text(table);
}

/* Fails with the first line that differs. */
static void compare(const gchar *text, const gchar *expected)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1), others = g_strsplit(expected, "\n", -1);

	for (guint i = 0; lines[i] && others[i]; i++) {
		if (strcmp(lines[i], others[i]) == 0)
			continue;
		g_test_message("line %u of %u and %u:\n%s\n%s", i, g_strv_length(lines),
			       g_strv_length(others), lines[i], others[i]);
		g_test_fail();
		return;
	}
	g_assert_cmpuint(g_strv_length(lines), ==, g_strv_length(others));
}

static void check_run(gconstpointer data)
{
	g_autofree gchar *whole = steps_of_whole(data);
	g_autofree gchar *at_once = steps_of_pieces(data, 1 << 30);
	g_autofree gchar *in_pieces = steps_of_pieces(data, PIECE_BYTES);

	g_assert_cmpuint(strlen(whole), >, 0);
	compare(at_once, whole);
	compare(in_pieces, whole);
}

/* --- steps that are passed over --------------------------------------------------------------- */

static TachoFollow *follow_sparingly(const gchar *path, guint64 worth_bytes)
{
	g_auto(GStrv) paths = g_strsplit(path, ",", -1);
	TachoFollow *follow = tacho_follow_new((const gchar *const *)paths, g_strv_length(paths));

	follow_set_look_bytes(follow, 5 * PIECE_BYTES);
	follow_set_sparing(follow, TRUE);
	for (guint n_looks = 0; !tacho_follow_is_over(follow); n_looks++) {
		follow_set_worth(follow, worth_bytes);
		g_assert_true(tacho_follow_look(follow, NULL));
		g_assert_cmpuint(n_looks, <, 100000);
	}
	return follow;
}

static const TachoLiveStep *find_row(const TachoFollow *follow, const TachoLiveStep *like)
{
	const GArray *rows = tacho_follow_borrow_steps(follow, NULL);

	for (guint i = 0; i < rows->len; i++) {
		const TachoLiveStep *row = &g_array_index(rows, TachoLiveStep, i);

		if (row->rank == like->rank && row->number == like->number)
			return row;
	}
	return NULL;
}

static void assert_same_step(const TachoLiveStep *row, const TachoLiveStep *other)
{
	g_assert_nonnull(other);
	g_assert_cmpint(row->start_unix_ns, ==, other->start_unix_ns);
	g_assert_cmpint(row->end_unix_ns, ==, other->end_unix_ns);
	g_assert_cmpfloat(row->compute_ns, ==, other->compute_ns);
	g_assert_cmpfloat(row->communication_ns, ==, other->communication_ns);
	g_assert_cmpfloat(row->exposed_ns, ==, other->exposed_ns);
	g_assert_cmpfloat(row->wait_ns, ==, other->wait_ns);
	g_assert_cmpfloat(row->data_wait_ns, ==, other->data_wait_ns);
}

/* Those that are not passed over have the number and the figures that they have when all are read. Returns how many were. */
static guint64 compare_sparing(const gchar *path)
{
	g_autoptr(TachoFollow) whole = follow_sparingly(path, 1 << 30);
	g_autoptr(TachoFollow) sparing = follow_sparingly(path, WORTH_BYTES);
	const GArray *all = tacho_follow_borrow_steps(whole, NULL);
	const GArray *some = tacho_follow_borrow_steps(sparing, NULL);
	const GArray *ranks = tacho_follow_borrow_ranks(sparing);

	g_test_message("%u rows of %u, %" G_GUINT64_FORMAT " steps passed over", some->len,
		       all->len, follow_n_passed(sparing));
	g_assert_cmpuint(follow_n_passed(whole), ==, 0);
	g_assert_cmpuint(some->len + follow_n_passed(sparing) * ranks->len, ==, all->len);
	for (guint i = 0; i < some->len; i++) {
		const TachoLiveStep *row = &g_array_index(some, TachoLiveStep, i);

		assert_same_step(row, find_row(whole, row));
	}
	for (guint i = 0; i < ranks->len; i++)
		g_assert_cmpuint(
			g_array_index(ranks, TachoLiveRank, i).n_steps, ==,
			g_array_index(tacho_follow_borrow_ranks(whole), TachoLiveRank, i).n_steps);
	return follow_n_passed(sparing);
}

static void check_sparing(gconstpointer data)
{
	compare_sparing(data);
}

/* --- jobs that are told ----------------------------------------------------------------------- */

#define N_STEPS 480
#define N_OPS	150 /* a step */
#define STEP_NS 1000000

struct told_classes {
	guint32 op, optimizer, other, reduce;
};

/* Which regions tell of the update at the end of a step. */
enum told_update { UPDATE_ONCE, UPDATE_TWICE, UPDATE_NESTED_NOW_AND_THEN };

static void tell_step(struct run_builder *run, const struct told_classes *classes, guint number,
		      gint rank, enum told_update how)
{
	guint64 begin = 1000 + (guint64)number * STEP_NS + (guint64)rank * 300;
	guint64 update = begin + 800000;

	for (guint i = 0; i < N_OPS; i++)
		run_builder_op(run, classes->op, begin + i * 3000, begin + i * 3000 + 2000, -1);
	run_builder_slice(run, classes->reduce, begin + 500000, begin + 700000 + number, number);
	if (how == UPDATE_TWICE)
		run_builder_slice(run, classes->other, update - 50000, update - 20000, 0);
	run_builder_slice(run, classes->optimizer, update, update + 90000 + number, 0);
	if (how == UPDATE_NESTED_NOW_AND_THEN && number % 3 == 0)
		run_builder_slice(run, classes->other, update + 10000, update + 50000, 0);
	run_builder_op(run, classes->op, update + 60000, update + 70000, -1);
}

/* A run of two ranks that begins at that time of day; the folder's path is the caller's. */
static gchar *tell_job(enum told_update how, guint64 begin_unix_s)
{
	gchar *folder = g_dir_make_tmp("tacho-follow-XXXXXX", NULL);

	for (gint rank = 0; rank < 2; rank++) {
		struct run_builder *run = run_builder_new(
			folder, &(struct run_builder_process){ .pid = 30 + (guint)rank,
							       .rank = rank,
							       .world_size = 2,
							       .offset_s = begin_unix_s });
		struct told_classes classes = {
			.op = run_builder_class(run, TRACE_KIND_OP, "aten::mm"),
			.optimizer = run_builder_class(run, TRACE_KIND_ANNOTATION,
						       "Optimizer.step#SGD.step"),
			.other = run_builder_class(run, TRACE_KIND_ANNOTATION,
						   "Optimizer.step#Adam.step"),
			.reduce = run_builder_class(run, TRACE_KIND_ANNOTATION, "sync"),
		};

		run_builder_stream(run, 30 + (guint)rank);
		for (guint i = 0; i < N_STEPS; i++)
			tell_step(run, &classes, i, rank, how);
		run_builder_end(run);
	}
	return folder;
}

static void check_told(gconstpointer data)
{
	enum told_update how = (enum told_update)GPOINTER_TO_INT(data);
	g_autofree gchar *folder = tell_job(how, 0);
	guint64 n_passed = compare_sparing(folder);

	/* where regions do not tell how many steps there are, none is passed over */
	if (how == UPDATE_NESTED_NOW_AND_THEN)
		g_assert_cmpuint(n_passed, ==, 0);
	else
		g_assert_cmpuint(n_passed, >, N_STEPS / 8);
	run_builder_remove(folder);
}

/* Who has not taken in all that is there does not know up to when nothing has happened: else a job that goes on would seem to
 * stand still. It is known when all has been read. */
static void check_catching_up(void)
{
	g_autofree gchar *folder =
		tell_job(UPDATE_ONCE, (guint64)g_get_real_time() / G_USEC_PER_SEC);
	g_autoptr(TachoFollow) follow = tacho_follow_new((const gchar *const[]){ folder }, 1);
	gint64 begun_us = g_get_monotonic_time(), until_us = begun_us + 50 * G_USEC_PER_SEC;
	guint n_looks = 0;

	follow_set_look_bytes(follow, 5 * PIECE_BYTES);
	follow_set_sparing(follow, TRUE);
	do {
		g_assert_true(tacho_follow_look(follow, NULL));
		n_looks++;
	} while (tacho_follow_is_behind(follow));
	g_assert_cmpuint(n_looks, >, 4);
	g_assert_cmpint(tacho_follow_unread_ns(follow), >=,
			(g_get_monotonic_time() - begun_us) * 1000);
	while (tacho_follow_unread_ns(follow) > 5 * (gint64)G_USEC_PER_SEC * 1000) {
		g_assert_cmpint(g_get_monotonic_time(), <, until_us);
		g_usleep(100000);
		g_assert_true(tacho_follow_look(follow, NULL));
	}
	run_builder_remove(folder);
}

int main(int argc, char **argv)
{
	g_auto(GStrv) more = g_strsplit(g_getenv("TACHO_FOLLOW_RUNS") ?: "", ":", -1);
	int status;

	g_test_init(&argc, &argv, NULL);
	g_test_add_data_func("/follow/two_ranks", TACHO_TEST_DATA "/two_ranks", check_run);
	g_test_add_data_func("/sparing/one_update", GINT_TO_POINTER(UPDATE_ONCE), check_told);
	g_test_add_data_func("/sparing/two_updates", GINT_TO_POINTER(UPDATE_TWICE), check_told);
	g_test_add_data_func("/sparing/uncountable", GINT_TO_POINTER(UPDATE_NESTED_NOW_AND_THEN),
			     check_told);
	g_test_add_func("/sparing/catching_up", check_catching_up);
	for (guint i = 0; more[i]; i++) {
		g_autofree gchar *base = g_path_get_basename(more[i]);
		g_autofree gchar *name = g_strdup_printf("/follow/%u_%s", i, base);
		g_autofree gchar *sparingly = g_strdup_printf("/sparing/%u_%s", i, base);

		g_test_add_data_func(name, more[i], check_run);
		g_test_add_data_func(sparingly, more[i], check_sparing);
	}
	status = g_test_run();
	return status;
}
