/* fuzz_query: whatever SQL at a small run, in every format of results. What runs long is interrupted, as Ctrl-C would do it,
 * and no statement leaves anything behind: the tables say the same afterwards. */
#include <signal.h>
#include <string.h>
#include <time.h>

#include <tacho/correlate.h>
#include <tacho/query.h>

#include "byte_timeline.h"
#include "fuzz_input.h"
#include "query/query_internal.h"

enum { MOST_MS = 100, MOST_ROWS = 1000, MOST_VALUE_BYTES = 1 << 20, MOST_BYTES = 64 << 20 };

static TachoTimeline *timeline; /* made once, for all inputs */
static TachoQuery *query;

/* Two ranks of three steps each, and some of all else. */
static const guint8 job[] = { 0,  0x0c, 0x61, 0x42, 0x85, 0,	0x0d, 0x62, 0x45, 0x81, 2,    3,
			      0,  0,	0,    9,    0x45, 8,	0x45, 0x42, 10,	  3,	5,    0x21,
			      3,  0,	1,    4,    33,	  0x42, 0x43, 0x11, 0x45, 8,	0x11, 0x82,
			      12, 1,	2,    0x4,  0x5,  0x82, 11,   0x24, 0x81, 0x82, 3 };

static void interrupt(int number)
{
	(void)number;
	tacho_query_interrupt(query);
}

static void set_alarm(timer_t timer, long ms)
{
	struct itimerspec when = { .it_value = { .tv_nsec = ms * 1000000 } };

	timer_settime(timer, 0, &when, NULL);
}

static timer_t make_timer(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };
	struct sigaction action = { .sa_handler = interrupt, .sa_flags = SA_RESTART };
	timer_t timer;

	sigaction(SIGUSR2, &action, NULL);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
		g_error("no timer can be made");
	return timer;
}

/* --- what the run says ---------------------------------------------------------------------- */

static void begin_sum(const gchar *const *names, guint n_columns, gpointer data)
{
	(void)names, (void)n_columns, (void)data;
}

static gboolean add_to_sum(const TachoCell *cells, gpointer data)
{
	*(gint64 *)data = cells[0].integer;
	return TRUE;
}

static void end_sum(gpointer data)
{
	(void)data;
}

static gint64 sum_run(void)
{
	static const TachoQueryHandler handler = { begin_sum, add_to_sum, end_sum };
	g_autoptr(GError) error = NULL;
	gint64 sum = -1;

	tacho_query_run(query,
			"SELECT count(*) + sum(dur) + (SELECT count(*) FROM sqlite_schema) +"
			" (SELECT count(*) FROM pragma_database_list) FROM slice",
			&handler, &sum, &error);
	g_assert_no_error(error);
	return sum;
}

/* --- the input ------------------------------------------------------------------------------ */

static void run(const gchar *sql, TachoQueryFormat format)
{
	FILE *out = fopen("/dev/null", "w");
	TachoResultWriter *writer = tacho_result_writer_new(format, out, 80, MOST_ROWS);
	g_autoptr(GError) error = NULL;

	g_assert_true(tacho_query_run(query, sql, tacho_result_writer_handler(), writer, &error) ==
		      (error == NULL));
	tacho_result_writer_free(writer);
	fclose(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static timer_t timer;
	static gint64 sum;
	g_autofree gchar *sql = g_strndup((const gchar *)data, size);

	if (!query) {
		timeline = byte_timeline_new(job, sizeof(job));
		query = tacho_query_open(timeline, NULL);
		tacho_query_limit_memory(MOST_BYTES);
		/* less than users may have: a sanitizer makes it slow, and nothing looks at the time meanwhile */
		sqlite3_limit(query_borrow_db(query), SQLITE_LIMIT_LENGTH, MOST_VALUE_BYTES);
		timer = make_timer();
		sum = sum_run();
	}
	tacho_query_is_complete(sql);
	set_alarm(timer, MOST_MS);
	run(sql, (TachoQueryFormat)(size % TACHO_N_QUERY_FORMATS));
	set_alarm(timer, 0);
	/* an interrupt that came when nothing ran any more is for the statement below */
	run("", TACHO_QUERY_FORMAT_CSV);
	g_assert_cmpint(sum_run(), ==, sum);
	return 0;
}
