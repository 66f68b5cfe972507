/* accumulation: N forward and backward passes for each optimizer step.
 *
 * The pass of each rank's step (pass_nodes.c) is put before itself N - 1 times (pass_copies.c), with its kernels and its
 * collectives but without those of gradients; the last pass, its collectives and the optimizer are as recorded.
 * So hosts run ahead of devices from pass to pass as they do within one, and N passes take about N times what the slower
 * of the two needs. Memory is that of the last pass, in which gradients of those before are held.
 *
 * More passes than MAX_COPIES, or than there is room for, differ from those before them in nothing: they stand
 * as one piece of work on each thread and stream, each of as many times what a pass came to take there. */
#include "edit/pass_copies.h"
#include "edit/graph_memory.h"
#include "edit/change_internal.h"
#include "edit/edit_state.h"

/* The passes of a step, at most.
 * Source: a rule: more passes than steps have. If wrong, more are refused. */
#define MAX_PASSES 65536
/* Passes that are played.
 * Source: a rule: what passes take is the same from one to the next after the first few, in which devices fall behind hosts. If
 * wrong, passes that are not played take too long or too short. */
#define MAX_COPIES 16
#define MIN_COPIES 4 /* to see what a pass comes to take */
/* Nodes of passes.
 * Source: a rule: 8 million nodes of 40 bytes, with edges, are half a gigabyte. If wrong, a change is refused though there was
 * room, or memory runs out. */
#define MAX_ADDED (8 * 1000 * 1000)

static guint32 count_nodes(const struct pass_nodes *pass)
{
	guint32 n = 0;

	for (guint32 i = 0; i < pass->n_nodes; i++)
		n += pass->step_of[i] != TACHO_NONE;
	return n;
}

static gboolean choose_copies(const struct pass_nodes *pass, const struct change *change,
			      guint32 n_more, guint32 *ret_n_copies, GError **error)
{
	guint32 n_nodes = count_nodes(pass);
	guint32 n_copies = MIN(MIN(n_more, MAX_COPIES), MAX_ADDED / MAX(n_nodes, 1u));

	if (n_copies < MIN(n_more, MIN_COPIES))
		return change_refuse(error, change,
				     "a pass of all steps has %u nodes, too many to play it "
				     "several times; choose one step with --step",
				     n_nodes);
	*ret_n_copies = n_copies;
	return TRUE;
}

static void note_passes(TachoGraph *graph, guint32 n_copies, guint32 n_more)
{
	graph_note(graph,
		   "a step takes in %u times as many samples; the passes before the last are like "
		   "the last, without collectives of gradients",
		   n_more + 1);
	if (n_copies < n_more)
		graph_note(graph,
			   "%u of the %u passes before the last are played; the others take as "
			   "long as these",
			   n_copies, n_more);
}

static gboolean accumulate(TachoGraph *graph, const struct pass_nodes *pass,
			   const struct change *change, guint32 n_more, GError **error)
{
	guint32 n_copies = 0;

	if (n_more == 0)
		return TRUE;
	if (!choose_copies(pass, change, n_more, &n_copies, error))
		return FALSE;
	memory_accumulate(graph);
	if (!pass_copies_add(graph, pass, n_copies, n_more, error))
		return FALSE;
	edit_state_of(graph)->has_passes = TRUE;
	note_passes(graph, n_copies, n_more);
	return TRUE;
}

gboolean parse_accumulate(struct change *change, const gchar *text, GError **error)
{
	return quantity_parse_count(text, 1, MAX_PASSES, &change->value.count) ||
	       change_refuse(error, change, "write accumulate=N, with N from 1 to %u", MAX_PASSES);
}

gboolean apply_accumulate(TachoGraph *graph, const struct change *change, GError **error)
{
	struct pass_nodes pass;
	gboolean is_done;

	if (edit_state_read(graph)->has_passes)
		return change_refuse(error, change, "accumulate is already set; give it once");
	is_done = pass_nodes_find(&pass, graph, change, error) &&
		  accumulate(graph, &pass, change, change->value.count - 1, error);
	pass_nodes_release(&pass);
	return is_done;
}
