/* viewer_ids: the real numbers wherever they are free. Others begin above the kernel's largest pid,
 * which is 2^22 (PID_MAX_LIMIT in linux/threads.h). */
#include "export/viewer_ids.h"

#include <string.h>

#include "base/for_each.h"

#define FIRST_FREE_ID ((1 << 22) + 1)

static gboolean claim(GHashTable *taken, guint64 key)
{
	g_autofree guint64 *copy = g_new(guint64, 1);

	*copy = key;
	return g_hash_table_add(taken, g_steal_pointer(&copy));
}

static gint32 choose(struct viewer_ids *ids, GHashTable *taken, guint64 scope, guint32 wanted)
{
	if (wanted > 0 && wanted < FIRST_FREE_ID && claim(taken, scope << 32 | wanted))
		return (gint32)wanted;
	return viewer_ids_new(ids);
}

void viewer_ids_init(struct viewer_ids *ids, const TachoTimeline *timeline)
{
	g_autoptr(GHashTable) pids =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	g_autoptr(GHashTable) tids =
		g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);

	ids->next = FIRST_FREE_ID;
	ids->pids = g_new0(gint32, timeline->processes->len);
	ids->tids = g_new0(gint32, timeline->tracks->len);
	for (guint32 i = 0; i < timeline->processes->len; i++)
		ids->pids[i] = choose(ids, pids, 0, tacho_timeline_process(timeline, i)->pid);
	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks)
		if (track->kind == TACHO_TRACK_THREAD)
			ids->tids[i] = choose(ids, tids, track->process, track->tid);
}

void viewer_ids_release(struct viewer_ids *ids)
{
	g_clear_pointer(&ids->pids, g_free);
	g_clear_pointer(&ids->tids, g_free);
}

gint32 viewer_ids_new(struct viewer_ids *ids)
{
	return ids->next++;
}

/* The program of a command line, without its folder. */
static gchar *program_name(const gchar *command)
{
	g_autofree gchar *program = g_strndup(command, strcspn(command, " "));

	return g_path_get_basename(*program ? program : "process");
}

gchar *viewer_process_name(const TachoTimeline *timeline, guint32 process)
{
	const TachoProcess *row = tacho_timeline_process(timeline, process);
	g_autofree gchar *program = program_name(tacho_timeline_string(timeline, row->command));
	g_autofree gchar *who = row->rank < 0 ? g_steal_pointer(&program)
					      : g_strdup_printf("rank %d%s", row->rank,
								row->is_main ? "" : " worker");
	const gchar *host = tacho_timeline_string(timeline, row->host);

	if (strcmp(host, "unknown") == 0) /* as importers call it, of a trace that does not tell */
		host = "";
	return g_strdup_printf("%s (%s%spid %u)", who, host, *host ? ", " : "", row->pid);
}

gint32 viewer_process_order(const TachoTimeline *timeline, guint32 process)
{
	const TachoProcess *row = tacho_timeline_process(timeline, process);
	gint32 order = 0;

	FOR_EACH_AT(const TachoProcess, other, i, timeline->processes) {
		if (other->rank_index != row->rank_index)
			order += other->rank_index < row->rank_index;
		else if (other->is_main != row->is_main)
			order += other->is_main;
		else
			order += i < process;
	}
	return order;
}

static gchar *track_name(const TachoTimeline *timeline, const TachoTrack *track)
{
	const gchar *name = tacho_timeline_string(timeline, track->name);

	if (*name)
		return g_utf8_make_valid(name, -1);
	return g_strdup_printf("%s %u", track->kind == TACHO_TRACK_THREAD ? "thread" : "track",
			       track->tid);
}

gchar *viewer_track_name(const TachoTimeline *timeline, guint32 track)
{
	const TachoTrack *row = tacho_timeline_track(timeline, track);
	g_autofree gchar *name = track_name(timeline, row);

	switch (row->role) {
	case TACHO_ROLE_WORKER:
		return g_strdup_printf("%s (collective worker)", name);
	case TACHO_ROLE_MESSAGE_LOOP:
		return g_strdup_printf("%s (message loop)", name);
	case TACHO_ROLE_NONE:
		break;
	}
	return g_steal_pointer(&name);
}

gchar *viewer_process_end(const TachoTimeline *timeline, guint32 process)
{
	const TachoProcess *row = tacho_timeline_process(timeline, process);

	switch (row->end) {
	case TACHO_END_KILLED:
		return row->exit_status ? g_strdup_printf("killed by signal %d", row->exit_status)
					: g_strdup("killed");
	case TACHO_END_EXITED:
		return row->exit_status ? g_strdup_printf("exit %d", row->exit_status) : NULL;
	case TACHO_END_UNKNOWN:
		return g_strdup("ended without an exit status");
	case TACHO_END_RUNNING:
		return g_strdup("still running");
	case TACHO_END_STOPPED:
		return g_strdup("recording stopped");
	}
	return NULL;
}
