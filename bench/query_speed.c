/* query_speed [SLICES]: rows a second of queries over a made-up timeline, beside the same rows in an
 * ordinary table of SQLite in memory; the two by turns, medians over some rounds. Eight tracks of
 * slices four deep under 200 names. */
#include <stdio.h>
#include <stdlib.h>

#include "query/query_internal.h"

#define N_TRACKS 8
#define N_NAMES	 200
#define N_ROUNDS 7

static TachoTimeline *make_timeline(guint32 n_slices)
{
	TachoTimeline *timeline = tacho_timeline_new();
	TachoProcess process = { 0 };
	TachoRank rank = { 0 };
	guint32 names[N_NAMES], state = 1;

	g_array_append_val(timeline->processes, process);
	g_array_append_val(timeline->ranks, rank);
	for (guint i = 0; i < N_NAMES; i++) {
		g_autofree gchar *name = g_strdup_printf("aten::operation_%u", i);

		names[i] = tacho_timeline_intern(timeline, name, -1);
	}
	for (guint32 track = 0; track < N_TRACKS; track++) {
		TachoTrack row = { .kind = TACHO_TRACK_THREAD, .tid = track + 1 };

		g_array_append_val(timeline->tracks, row);
		for (guint32 i = 0; i < n_slices / N_TRACKS; i++) {
			guint32 depth = i % 4;

			state = state * 1664525 + 1013904223; /* Numerical Recipes' generator */
			tacho_timeline_add_slice(timeline, TACHO_SLICE_OP, track,
						 names[(state >> 8) % N_NAMES],
						 (gint64)(i / 4) * 1000 + depth * 10,
						 900 - depth * 200 + (state >> 16) % 100, 0, 0);
		}
	}
	g_free(tacho_timeline_finish(timeline));
	return timeline;
}

/* Milliseconds that the statement takes, to its last row and every column of it. */
static gdouble time_ms(sqlite3 *db, const gchar *sql)
{
	gint64 begin_us = g_get_monotonic_time();
	sqlite3_stmt *statement;
	gint64 sum = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
		g_error("%s: %s", sql, sqlite3_errmsg(db));
	while (sqlite3_step(statement) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(statement); i++)
			sum += sqlite3_column_type(statement, i) == SQLITE_TEXT
				       ? *sqlite3_column_text(statement, i)
				       : sqlite3_column_int64(statement, i);
	if (sqlite3_finalize(statement) != SQLITE_OK || sum == 0)
		g_error("%s: %s", sql, sqlite3_errmsg(db));
	return (gdouble)MAX(g_get_monotonic_time() - begin_us, 1) / 1e3;
}

static gint compare(const void *a, const void *b)
{
	gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

	return (x > y) - (x < y);
}

static void measure(sqlite3 *db, const gchar *what, const gchar *sql, guint32 n_rows)
{
	gdouble ours[N_ROUNDS], theirs[N_ROUNDS];

	for (guint i = 0; i < N_ROUNDS; i++) {
		g_autofree gchar *ordinary = g_strdup_printf(sql, "ordinary");
		g_autofree gchar *slice = g_strdup_printf(sql, "slice");

		theirs[i] = time_ms(db, ordinary);
		ours[i] = time_ms(db, slice);
	}
	qsort(ours, N_ROUNDS, sizeof(*ours), compare);
	qsort(theirs, N_ROUNDS, sizeof(*theirs), compare);
	printf("%-34s %8.1f %8.2f [%.2f, %.2f] %9.1f %8.2f [%.2f, %.2f] %7.2f\n", what,
	       ours[N_ROUNDS / 2], n_rows / ours[N_ROUNDS / 2] / 1e3,
	       n_rows / ours[N_ROUNDS - 1] / 1e3, n_rows / ours[0] / 1e3, theirs[N_ROUNDS / 2],
	       n_rows / theirs[N_ROUNDS / 2] / 1e3, n_rows / theirs[N_ROUNDS - 1] / 1e3,
	       n_rows / theirs[0] / 1e3, theirs[N_ROUNDS / 2] / ours[N_ROUNDS / 2]);
}

int main(int argc, char **argv)
{
	guint32 n = argc > 1 ? (guint32)g_ascii_strtoull(argv[1], NULL, 10) : 4000000;
	g_autoptr(TachoTimeline) timeline = make_timeline(n);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoQuery) query = query_open_unguarded(timeline, &error);
	gdouble copy_ms;
	sqlite3 *db;

	if (!query)
		g_error("%s", error->message);
	db = query_borrow_db(query);
	copy_ms = (gdouble)g_get_monotonic_time();
	if (sqlite3_exec(db,
			 "CREATE TABLE ordinary(id INTEGER PRIMARY KEY, ts INT, dur INT, track_id"
			 " INT, category TEXT, name TEXT, depth INT, parent_id INT);"
			 "INSERT INTO ordinary SELECT id, ts, dur, track_id, category, name, depth,"
			 " parent_id FROM slice; CREATE INDEX by_track ON ordinary(track_id, ts);"
			 "CREATE INDEX by_name ON ordinary(name); ANALYZE ordinary",
			 NULL, NULL, NULL) != SQLITE_OK)
		g_error("%s", sqlite3_errmsg(db));
	copy_ms = ((gdouble)g_get_monotonic_time() - copy_ms) / 1e3;
	printf("%u slices; the ordinary table and its two indexes took %.0f ms to make\n\n", n,
	       copy_ms);
	printf("%-34s %8s %23s %9s %23s %7s\n", "", "slice ms", "M rows/s [worst, best]",
	       "SQLite ms", "M rows/s [worst, best]", "times");
	measure(db, "every row, 8 columns",
		"SELECT id, ts, dur, track_id, category, name, depth, parent_id FROM %s", n);
	measure(db, "sum of dur", "SELECT sum(dur) FROM %s", n);
	measure(db, "sum of dur by track", "SELECT track_id, sum(dur) FROM %s GROUP BY track_id",
		n);
	measure(db, "sum of dur by name", "SELECT name, count(*), sum(dur) FROM %s GROUP BY name",
		n);
	measure(db, "one name of 200", "SELECT sum(dur) FROM %s WHERE name = 'aten::operation_7'",
		n);
	measure(db, "a pattern for half of the names",
		"SELECT sum(dur) FROM %s WHERE name GLOB '*[02468]'", n);
	measure(db, "a tenth of the time on each track",
		"SELECT sum(dur) FROM %s WHERE track_id BETWEEN 0 AND 7 AND ts BETWEEN 1000000"
		" AND 13500000",
		n);
	return 0;
}
