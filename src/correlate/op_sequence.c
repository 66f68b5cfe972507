/* op_sequence: what a thread does, in order, at the level where its loop shows.
 *
 * The level is that of the outermost slices, except that a slice which covers more than half of the
 * thread's life (a region somebody put around the whole training) counts as a frame and is looked
 * into.
 *
 * Finding the loop. Something in each turn happens once a turn (the embedding, the loss), and so
 * comes back at regular distances, also when some turns are longer (an evaluation every k turns) or
 * the first ones differ. So, for every pair of neighbouring tokens (or what votes in their place):
 *
 * (1) it is regular if it comes at least three times, spans at least a third of the sequence and
 *     most distances between its occurrences are near their median;
 * (2) each regular pair votes for the number of turns it comes to. Layers vote for layers x turns,
 *     the loop's own work for turns: the smallest number with a tenth of the most votes wins;
 * (3) the most regular of the winner's pairs is the anchor of a turn;
 * (4) a turn begins at the nearest wait before its anchor (the data loader), or if there is none as
 *     far before it as the first turn agrees with a usual one: where the code before the loop ends.
 *
 * Where the thread runs autograd nodes, only they vote: a turn of training holds one backward pass,
 * which layers and evaluations do not. Else, where modules are known, only the outermost ones vote:
 * they are not layers. Cost: one sort of the pairs. */
#include "correlate/op_sequence.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/partition_point.h"
#include "correlate/correlate_internal.h"

enum {
	MIN_TURNS = 3,
	MIN_REGULAR_PERCENT = 60, /* of the distances near the median ... */
	NEAR_SHIFT = 3,		  /* ... within an eighth of it */
	MIN_SPAN_DIVISOR = 3,
	MIN_VOTES_DIVISOR = 10,
	MIN_PAIR_VOTES = 2,
	COUNT_SLACK_DIVISOR = 50, /* numbers of turns within 2 % (and 1) are one number */
};

/* --- the sequence ---------------------------------------------------------------------------- */

/* Annotations often carry a number ("step 17"): equal but for digits is equal. */
static guint32 token_of_annotation(const gchar *name)
{
	guint32 hash = 5381;

	for (; *name; name++)
		if (!g_ascii_isdigit(*name))
			hash = hash * 33 + (guchar)*name;
	return hash;
}

static guint32 token_of(const TachoTimeline *timeline, guint32 slice)
{
	guint8 kind = timeline->slices.kind[slice];

	if (kind == TACHO_SLICE_ANNOTATION)
		return token_of_annotation(tacho_slice_name(timeline, slice)) | 0x80000000u;
	return (timeline->slices.name[slice] * TACHO_N_SLICE_KINDS + kind) & 0x7fffffffu;
}

static gint64 half_life_ns(const TachoTimeline *timeline, const TachoTrack *track)
{
	gint64 first_ns = timeline->slices.start_ns[track->first_slice];
	gint64 last_ns = first_ns;

	for (guint32 i = 0; i < track->n_slices; i++)
		last_ns = MAX(last_ns, tacho_slice_end_ns(timeline, track->first_slice + i));
	return last_ns / 2 - first_ns / 2;
}

/* What the socket probe has seen follows the network, not the loop of the training. */
static gboolean is_traffic(const TachoTimeline *timeline, guint32 slice)
{
	static const gchar *const waits[] = { "epoll_wait", "epoll_pwait", "poll", NULL };
	guint8 kind = timeline->slices.kind[slice];

	return kind == TACHO_SLICE_MESSAGE ||
	       (kind == TACHO_SLICE_WAIT &&
		g_strv_contains(waits, tacho_slice_name(timeline, slice)));
}

OpSequence *op_sequence_new(const TachoTimeline *timeline, guint32 track_number)
{
	const TachoTrack *track = tacho_timeline_track(timeline, track_number);
	const TachoSlices *slices = &timeline->slices;
	OpSequence *sequence = g_new0(OpSequence, 1);
	g_autofree guint8 *is_frame = g_new0(guint8, track->n_slices);
	guint32 end = track->first_slice + track->n_slices;
	gint64 half_ns = track->n_slices ? half_life_ns(timeline, track) : 0;

	sequence->slice = g_new(guint32, track->n_slices);
	sequence->token = g_new(guint32, track->n_slices);
	sequence->has_backward = g_new0(guint8, track->n_slices);
	sequence->is_module = g_new0(guint8, track->n_slices);
	sequence->is_wait = g_new0(guint8, track->n_slices);
	for (guint32 i = track->first_slice; i < end; i++) {
		guint32 parent = slices->parent[i];

		if (parent != TACHO_NONE && !is_frame[parent - track->first_slice]) {
			if (sequence->n && (slices->flags[i] & TACHO_SLICE_BACKWARD))
				sequence->has_backward[sequence->n - 1] = 1;
			continue;
		}
		if (slices->duration_ns[i] > half_ns) {
			is_frame[i - track->first_slice] = 1;
			continue;
		}
		if (is_traffic(timeline, i))
			continue;
		sequence->slice[sequence->n] = i;
		sequence->token[sequence->n] = token_of(timeline, i);
		sequence->is_module[sequence->n] = slices->kind[i] == TACHO_SLICE_MODULE;
		sequence->is_wait[sequence->n] = slices->kind[i] == TACHO_SLICE_WAIT;
		sequence->has_backward[sequence->n++] =
			(slices->flags[i] & TACHO_SLICE_BACKWARD) != 0;
	}
	return sequence;
}

void op_sequence_free(OpSequence *sequence)
{
	if (!sequence)
		return;
	g_free(sequence->slice);
	g_free(sequence->token);
	g_free(sequence->has_backward);
	g_free(sequence->is_module);
	g_free(sequence->is_wait);
	g_free(sequence);
}

guint32 op_sequence_count_before(const OpSequence *sequence, const TachoTimeline *timeline,
				 gint64 time_ns)
{
	return PARTITION_POINT(i, 0, sequence->n,
			       timeline->slices.start_ns[sequence->slice[i]] < time_ns);
}

/* --- the loop -------------------------------------------------------------------------------- */

struct pair {
	guint64 tokens;
	guint32 position;
};

/* A pair that comes back regularly: pairs[first .. first + count). */
struct candidate {
	guint32 first, count;
	guint32 distance; /* usual, between two occurrences */
	guint32 regular_percent;
};

static gint compare_pairs(const void *a, const void *b)
{
	const struct pair *left = a, *right = b;

	return ORDER(left->tokens, right->tokens) ?: ORDER(left->position, right->position);
}

static gint compare_numbers(const void *a, const void *b)
{
	guint32 left = *(const guint32 *)a, right = *(const guint32 *)b;

	return ORDER(left, right);
}

static gint compare_candidates(gconstpointer a, gconstpointer b)
{
	const struct candidate *left = a, *right = b;

	return ORDER(left->count, right->count) ?: ORDER(left->first, right->first);
}

/* Tokens with their right neighbours, or those that `may_vote`, unless it is NULL, on their own. */
static guint32 collect_pairs(const OpSequence *sequence, const guint8 *may_vote, struct pair *pairs)
{
	guint32 n = 0;

	for (guint32 i = 0; i < sequence->n; i++) {
		if (may_vote ? !may_vote[i] : i + 1 == sequence->n)
			continue;
		pairs[n].tokens =
			(guint64)sequence->token[i] << 32 | (may_vote ? 0 : sequence->token[i + 1]);
		pairs[n++].position = i;
	}
	qsort(pairs, n, sizeof(*pairs), compare_pairs);
	return n;
}

/* (1) */
static gboolean measure_candidate(const struct pair *pairs, guint32 length, guint32 *scratch,
				  struct candidate *candidate)
{
	guint32 n_distances = candidate->count - 1, n_near = 0, slack;
	const struct pair *run = pairs + candidate->first;

	if (candidate->count < MIN_TURNS ||
	    run[n_distances].position - run[0].position < length / MIN_SPAN_DIVISOR)
		return FALSE;
	for (guint32 i = 0; i < n_distances; i++)
		scratch[i] = run[i + 1].position - run[i].position;
	qsort(scratch, n_distances, sizeof(*scratch), compare_numbers);
	candidate->distance = scratch[(n_distances - 1) / 2];
	slack = candidate->distance >> NEAR_SHIFT;
	for (guint32 i = 0; i < n_distances; i++)
		n_near += scratch[i] >= candidate->distance - slack &&
			  scratch[i] <= candidate->distance + slack;
	candidate->regular_percent = (guint64)n_near * 100 / n_distances;
	return candidate->regular_percent >= MIN_REGULAR_PERCENT;
}

static GArray *find_candidates(const struct pair *pairs, guint32 n_pairs, guint32 length)
{
	GArray *candidates = g_array_new(FALSE, FALSE, sizeof(struct candidate));
	g_autofree guint32 *scratch = g_new(guint32, n_pairs);

	for (guint32 first = 0, end; first < n_pairs; first = end) {
		struct candidate candidate = { .first = first };

		for (end = first; end < n_pairs && pairs[end].tokens == pairs[first].tokens; end++)
			;
		candidate.count = end - first;
		if (measure_candidate(pairs, length, scratch, &candidate))
			g_array_append_val(candidates, candidate);
	}
	g_array_sort(candidates, compare_candidates);
	return candidates;
}

static guint32 highest_count_alike(guint32 count)
{
	return count + MAX(1, count / COUNT_SLACK_DIVISOR);
}

/* One past the last candidate that votes for the same number as candidates[first]. */
static guint32 end_of_vote(GArray *candidates, guint32 first)
{
	guint32 count = g_array_index(candidates, struct candidate, first).count;
	guint32 end = first;

	while (end < candidates->len &&
	       g_array_index(candidates, struct candidate, end).count <= highest_count_alike(count))
		end++;
	return end;
}

/* (2) and (3) */
static const struct candidate *choose_anchor(GArray *candidates, const struct pair *pairs,
					     guint32 min_votes)
{
	const struct candidate *anchor = NULL;
	guint32 most = 0, end = 0;

	for (guint32 i = 0; i < candidates->len; i++) {
		end = MAX(end, i);
		while (end < candidates->len &&
		       g_array_index(candidates, struct candidate, end).count <=
			       highest_count_alike(
				       g_array_index(candidates, struct candidate, i).count))
			end++;
		most = MAX(most, end - i);
	}
	for (guint32 i = 0; i < candidates->len && !anchor; i++) {
		guint32 votes = end_of_vote(candidates, i) - i;

		if (votes < min_votes || votes < most / MIN_VOTES_DIVISOR)
			continue;
		for (guint32 k = i; k < i + votes; k++) {
			const struct candidate *one =
				&g_array_index(candidates, struct candidate, k);

			if (!anchor || one->regular_percent > anchor->regular_percent ||
			    (one->regular_percent == anchor->regular_percent &&
			     pairs[one->first].position < pairs[anchor->first].position))
				anchor = one;
		}
	}
	return anchor;
}

/* (4): how far before `position` the nearest wait of its turn is; 0: there is none. */
static guint32 distance_to_wait(const OpSequence *sequence, guint32 position,
				const struct candidate *anchor)
{
	for (guint32 lead = 1; lead < anchor->distance && lead <= position; lead++)
		if (sequence->is_wait[position - lead])
			return lead;
	return 0;
}

/* An occurrence of the anchor, not the first, that has the usual distance to the next. */
static guint32 find_usual(const struct pair *run, const struct candidate *anchor)
{
	guint32 usual = 1;

	while (usual + 1 < anchor->count &&
	       run[usual + 1].position - run[usual].position != anchor->distance)
		usual++;
	return run[usual].position;
}

/* (4): how far before their anchors turns without a wait begin. */
static guint32 lead_of_turns(const OpSequence *sequence, const struct pair *run,
			     const struct candidate *anchor)
{
	guint32 usual = find_usual(run, anchor), lead = 0, first = run[0].position;

	while (lead + 1 < anchor->distance && lead < first && lead < usual &&
	       sequence->token[first - lead - 1] == sequence->token[usual - lead - 1])
		lead++;
	return lead;
}

static gboolean find_loop(const OpSequence *sequence, const guint8 *may_vote, GArray *starts,
			  gboolean *ret_is_whole)
{
	g_autofree struct pair *pairs = g_new(struct pair, MAX(sequence->n, 1u));
	guint32 n_pairs = collect_pairs(sequence, may_vote, pairs), lead, last = 0, rest, slack;
	g_autoptr(GArray) candidates = find_candidates(pairs, n_pairs, sequence->n);
	const struct candidate *anchor =
		choose_anchor(candidates, pairs, may_vote ? 1 : MIN_PAIR_VOTES);
	const struct pair *run;

	if (!anchor || (!may_vote && anchor->distance == 1)) /* one op over and over is no loop */
		return FALSE;
	run = pairs + anchor->first;
	lead = lead_of_turns(sequence, run, anchor);
	for (guint32 i = 0; i < anchor->count; i++) {
		guint32 wait = distance_to_wait(sequence, run[i].position, anchor);
		guint32 start = run[i].position - (wait ? wait : lead);

		/* what comes again within a turn does not begin another */
		if (i > 0 && start < last + (anchor->distance + 1) / 2)
			continue;
		last = start;
		g_array_append_val(starts, start);
	}
	rest = sequence->n - last;
	slack = anchor->distance >> NEAR_SHIFT;
	*ret_is_whole = rest >= anchor->distance - slack;
	last = rest <= anchor->distance + slack ? sequence->n : last + anchor->distance;
	g_array_append_val(starts, last);
	return TRUE;
}

gboolean op_sequence_find_loop(const OpSequence *sequence, GArray *starts, gboolean *ret_is_whole)
{
	const guint8 *may_vote = NULL;

	if (memchr(sequence->has_backward, 1, sequence->n))
		may_vote = sequence->has_backward;
	else if (memchr(sequence->is_module, 1, sequence->n))
		may_vote = sequence->is_module;
	return find_loop(sequence, may_vote, starts, ret_is_whole);
}
