/* reader: how fast a run is opened and the durations of its slices are summed.
 *
 *     bench_reader RUN [ROUNDS]        (bench/reader.sh does it)
 *
 * Prints one line for programs: events, slices, sum of durations, then the seconds of the least, the
 * median and the greatest round, and of the median the part that was opening. What the job's probes
 * recorded counts as events, what the reader makes of it (tracks, problems) does not. */
#include <stdio.h>
#include <stdlib.h>
#include <tacho/timeline.h>

#define MAX_ROUNDS 99

struct round {
	gdouble total_s, opening_s;
};

static gint compare_rounds(const void *first, const void *second)
{
	gdouble a = ((const struct round *)first)->total_s;
	gdouble b = ((const struct round *)second)->total_s;

	return (a > b) - (a < b);
}

static gint64 sum_durations(const TachoTimeline *timeline)
{
	gint64 sum_ns = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		sum_ns += timeline->slices.duration_ns[i];
	return sum_ns;
}

int main(int n_arguments, char **arguments)
{
	struct round rounds[MAX_ROUNDS];
	guint n_rounds = n_arguments > 2 ? (guint)strtoul(arguments[2], NULL, 10) : 7;
	guint64 n_events = 0, n_slices = 0;
	gint64 sum_ns = 0;

	if (n_arguments < 2 || n_rounds < 1 || n_rounds > MAX_ROUNDS) {
		fprintf(stderr, "usage: bench_reader RUN [ROUNDS]\n");
		return 2;
	}
	for (guint i = 0; i < n_rounds; i++) {
		const gchar *path = arguments[1];
		g_autoptr(GTimer) timer = g_timer_new();
		g_autoptr(GError) error = NULL;
		g_autoptr(TachoTimeline) timeline = tacho_timeline_open(&path, 1, &error);

		if (!timeline) {
			fprintf(stderr, "bench_reader: %s\n", error->message);
			return 1;
		}
		rounds[i].opening_s = g_timer_elapsed(timer, NULL);
		sum_ns = sum_durations(timeline);
		rounds[i].total_s = g_timer_elapsed(timer, NULL);
		n_events = timeline->n_events;
		n_slices = timeline->slices.n;
	}
	qsort(rounds, n_rounds, sizeof(*rounds), compare_rounds);
	printf("%" G_GUINT64_FORMAT " %" G_GUINT64_FORMAT " %" G_GINT64_FORMAT
	       " %.6f %.6f %.6f %.6f\n",
	       n_events, n_slices, sum_ns, rounds[0].total_s, rounds[n_rounds / 2].total_s,
	       rounds[n_rounds - 1].total_s, rounds[n_rounds / 2].opening_s);
	return 0;
}
