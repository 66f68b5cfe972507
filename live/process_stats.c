#include "live/process_stats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/for_each.h"
#include "live/proc_text.h"

/* Between two looks: who looks each second never waits for two. */
#define LEAST_US (G_USEC_PER_SEC * 9 / 10)

/* A process when it was looked at last. */
struct seen {
	guint64 delay_ns;
	gint64 at_us;
	gdouble share;
};

struct _ProcessStats {
	GHashTable *seen; /* pid -> struct seen */
	gint64 looked_us;
	guint n_looked; /* ranks, then */
};

ProcessStats *process_stats_new(void)
{
	ProcessStats *stats = g_new0(ProcessStats, 1);

	stats->seen = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	return stats;
}

void process_stats_free(ProcessStats *stats)
{
	if (!stats)
		return;
	g_hash_table_unref(stats->seen);
	g_free(stats);
}

/* What is resident and of no file; `status` says the same, and takes ten times as long. */
static gint64 anonymous_bytes(guint32 pid)
{
	gchar text[PROC_TEXT_BYTES];
	gint64 resident, shared;

	proc_text_read(pid, "statm", text);
	return sscanf(text, "%*u %" G_GINT64_FORMAT " %" G_GINT64_FORMAT, &resident, &shared) == 2
		       ? (resident - shared) * sysconf(_SC_PAGESIZE)
		       : -1;
}

static gchar process_state(guint32 pid)
{
	gchar text[PROC_TEXT_BYTES];
	const gchar *place;

	proc_text_read(pid, "stat", text);
	place = strrchr(text, ')');
	return place && place[1] ? place[2] : 0;
}

/* Of the time since the process was looked at last. */
static gdouble delayed_share(ProcessStats *stats, guint32 pid)
{
	gchar text[PROC_TEXT_BYTES];
	struct seen *seen = g_hash_table_lookup(stats->seen, GUINT_TO_POINTER(pid));
	gint64 now_us = g_get_monotonic_time();
	unsigned long long run_ns, delay_ns;

	proc_text_read(pid, "schedstat", text);
	if (sscanf(text, "%llu %llu", &run_ns, &delay_ns) != 2)
		return NAN;
	if (!seen) {
		seen = g_new0(struct seen, 1);
		seen->share = NAN;
		seen->delay_ns = delay_ns;
		seen->at_us = now_us;
		g_hash_table_insert(stats->seen, GUINT_TO_POINTER(pid), seen);
	}
	if (now_us == seen->at_us || delay_ns < seen->delay_ns)
		return seen->share;
	seen->share = (gdouble)(delay_ns - seen->delay_ns) / 1e3 / (gdouble)(now_us - seen->at_us);
	seen->delay_ns = delay_ns;
	seen->at_us = now_us;
	return seen->share;
}

void process_stats_look(ProcessStats *stats, GArray *ranks)
{
	gint64 now_us = g_get_monotonic_time();

	if (ranks->len == stats->n_looked && now_us - stats->looked_us < LEAST_US)
		return;
	stats->looked_us = now_us;
	stats->n_looked = ranks->len;
	FOR_EACH(TachoLiveRank, rank, ranks) {
		gboolean is_here = rank->end == TACHO_END_RUNNING &&
				   g_strcmp0(rank->host, g_get_host_name()) == 0;

		rank->anonymous_bytes = is_here ? anonymous_bytes(rank->pid) : -1;
		rank->delayed_share = is_here ? delayed_share(stats, rank->pid) : NAN;
		rank->state = is_here ? process_state(rank->pid) : 0;
	}
}
