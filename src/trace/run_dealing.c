#include "trace/run_dealing.h"

#include "base/for_each.h"
#include "base/hash_mix.h"
#include "trace/process_reader.h"
#include "trace/run_share.h"
#include "trace/source.h"
#include "trace/string_table.h"

static struct process_input *process_at(const GArray *processes, guint i)
{
	return &g_array_index(processes, struct process_input, i);
}

static guint64 count_bytes(const struct process_input *process)
{
	guint64 n_bytes = 0;

	FOR_EACH(const struct stream_input, stream, process->streams)
		n_bytes += stream->n_bytes;
	return n_bytes;
}

/* Processes of one rank, or of one run without ranks, are not parted. */
static gboolean is_of_one_rank(const struct process_input *a, const struct process_input *b)
{
	return a->run == b->run && a->metadata.rank == b->metadata.rank;
}

/* Deal ranks out in the order in which they are, so that each owner has about as many bytes to read. */
static void deal(const GArray *processes, guint n_owners)
{
	guint64 n_all = 0, n_before = 0;

	FOR_EACH(const struct process_input, process, processes)
		n_all += count_bytes(process);
	for (guint first = 0, end; first < processes->len; first = end) {
		guint64 n_bytes = 0;
		guint owner;

		for (end = first;
		     end < processes->len &&
		     is_of_one_rank(process_at(processes, first), process_at(processes, end));
		     end++)
			n_bytes += count_bytes(process_at(processes, end));
		owner = (guint)(((gdouble)n_before + (gdouble)n_bytes / 2) * n_owners /
				MAX((gdouble)n_all, 1));
		for (guint i = first; i < end; i++)
			process_at(processes, i)->owner = MIN(owner, n_owners - 1);
		n_before += n_bytes;
	}
}

/* What all processes must have found alike: the traces, their files, and all names in them. */
static guint64 hash_files(const TachoTimeline *timeline, const GArray *processes)
{
	const struct tacho_string_table *strings = timeline->strings;
	guint64 hash = hash_mix(HASH_MIX_START, string_table_size(strings));

	for (guint32 id = 0; id < string_table_size(strings); id++)
		hash = hash_mix(hash, g_str_hash(string_table_borrow(strings, id)));
	FOR_EACH(const struct process_input, process, processes) {
		hash = hash_mix(hash, g_str_hash(process->path));
		FOR_EACH(const struct stream_input, stream, process->streams)
			hash = hash_mix(hash_mix(hash, stream->number), stream->n_bytes);
	}
	return hash;
}

/* Of others' streams only collectives and messages will be looked at. */
static void expect_little(const TachoTimeline *timeline, const struct process_input *process)
{
	FOR_EACH(const struct stream_input, stream, process->streams)
		FOR_EACH(const struct stream_file_place, place, stream->files)
			tacho_source_expect_little(timeline->source, place->file);
}

gboolean run_dealing_begin(TachoTimeline *timeline, GArray *processes, TachoPeers *peers,
			   GError **error)
{
	gint64 own, least;

	if (!peers)
		return TRUE;
	timeline->share = run_share_new(peers);
	timeline->share->n_strings = string_table_size(timeline->strings);
	own = least = (gint64)hash_files(timeline, processes);
	if (!tacho_peers_least(peers, "files", &least) || least != own)
		return run_share_fail(
			timeline,
			"tacho's processes see different files of the run: it is still "
			"being written, or not on a file system that all of them share",
			error);
	deal(processes, tacho_peers_count(peers));
	FOR_EACH(struct process_input, process, processes) {
		process->is_elsewhere = process->owner != tacho_peers_index(peers);
		if (process->is_elsewhere)
			expect_little(timeline, process);
	}
	return TRUE;
}

void run_dealing_note_owned(TachoTimeline *timeline, const GArray *processes)
{
	struct tacho_run_share *share = timeline->share;

	FOR_EACH(const struct process_input, process, processes) {
		gboolean is_own = !process->is_elsewhere;

		if (share)
			g_array_append_val(share->is_own, is_own);
	}
}

static void keep_of_track(struct tacho_run_share *share, guint32 track, const GArray *kept)
{
	if (track == TACHO_NONE || !kept)
		return;
	if (track >= share->kept->len)
		g_ptr_array_set_size(share->kept, (gint)track + 1);
	share->kept->pdata[track] = g_array_ref((GArray *)kept);
}

void run_dealing_note_kept(TachoTimeline *timeline, const GArray *processes)
{
	struct tacho_run_share *share = timeline->share;

	FOR_EACH(const struct process_input, process, processes) {
		if (!share || process->is_elsewhere)
			continue;
		FOR_EACH(const struct stream_input, stream, process->streams) {
			keep_of_track(share, stream->track, stream->kept);
			keep_of_track(share, stream->queued_track, stream->kept_queued);
		}
	}
}
