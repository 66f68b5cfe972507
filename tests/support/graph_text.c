#include "graph_text.h"

#include "graph/rank_copies.h"
#include "replay/replay_internal.h"

#define NS G_GINT64_FORMAT

/* "-" for none. */
static const gchar *row_text(guint32 row, gchar *buffer, gsize size)
{
	if (row == TACHO_NONE)
		return "-";
	g_snprintf(buffer, size, "%u", row);
	return buffer;
}

#define ROW(row) row_text(row, (gchar[16]){ 0 }, 16)

static void print_nodes(const TachoGraph *graph, FILE *out)
{
	for (guint32 i = 0; i < graph->nodes->len; i++) {
		const struct graph_node *node = graph_node_at(graph, i);

		fprintf(out,
			"node %u %s '%s' lane %u %" NS "+%" NS " slice %s step %s of %s pool %s\n",
			i, tacho_node_kind_name(node->kind),
			tacho_timeline_string(graph->timeline, node->name), node->lane,
			node->begin_ns, node->duration_ns, ROW(node->slice), ROW(node->step),
			ROW(node->transfer), ROW(node->pool));
	}
	for (guint i = 0; i < graph->edges->len; i++) {
		const struct graph_edge *edge = &g_array_index(graph->edges, struct graph_edge, i);

		fprintf(out, "edge %u %u %s\n", edge->from, edge->to,
			tacho_edge_kind_name(edge->kind));
	}
}

static void print_places(const TachoGraph *graph, FILE *out)
{
	for (guint32 i = 0; i < graph->lanes->len; i++) {
		const struct graph_lane *lane = graph_lane_at(graph, i);

		fprintf(out, "lane %u rank %s host %u track %s '%s' set %u%s\n", i,
			ROW(lane->rank_index), lane->host, ROW(lane->track),
			tacho_timeline_string(graph->timeline, lane->name), lane->set,
			lane->is_main ? " main" : "");
	}
	for (guint i = 0; i < graph->links->len; i++) {
		const struct graph_link *link = &g_array_index(graph->links, struct graph_link, i);

		fprintf(out, "link %u host %u %s set %u\n", i, link->host, link->direction,
			link->set);
	}
	for (guint i = 0; i < graph->pools->len; i++) {
		const struct graph_pool *pool = &g_array_index(graph->pools, struct graph_pool, i);

		fprintf(out, "pool %u rank %u group %u: %u%s\n", i, pool->rank_index, pool->group,
			pool->n_workers, pool->is_engine ? " engine" : "");
	}
}

static void print_groups(const TachoGraph *graph, FILE *out)
{
	for (guint32 i = 0; i < graph->groups->len; i++) {
		const struct graph_group *group = graph_group_at(graph, i);

		fprintf(out, "group %u ranks %u%s%s%s%s %u-%u set %u links", i, group->n_ranks,
			group->is_device ? " device" : "", group->is_hops ? " hops" : "",
			group->is_resized ? " resized" : "", group->job > 0 ? " guest" : "",
			group->sender, group->receiver, group->set);
		for (guint32 j = 0; j < group->n_links; j++)
			fprintf(out, " %u",
				g_array_index(graph->group_links, guint32, group->first_link + j));
		fprintf(out,
			": %.9g + %.9g a byte, of %u sizes; +%.9g, at most %.9g, wire %.9g, hop "
			"%.9g",
			group->cost.fixed_ns, group->cost.ns_per_byte, group->cost.n_sizes,
			group->added_latency_ns, group->max_fixed_ns, group->wire_ns_per_byte,
			group->hop_ns);
		if (group->core_wait_ns > 0)
			fprintf(out, " and %.9g beside computing", group->core_wait_ns);
		fprintf(out, "; plan %d %u %" G_GUINT64_FORMAT "\n", (gint)group->plan.algorithm,
			group->plan.n_servers, (guint64)group->plan.partition_bytes);
	}
}

static void print_transfers(const TachoGraph *graph, FILE *out)
{
	for (guint32 i = 0; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);

		fprintf(out,
			"transfer %u node %u group %u #%u '%s' step %s pass %s ranks %u%s%s%s%s", i,
			transfer->node, transfer->group, transfer->sequence,
			tacho_timeline_string(graph->timeline, transfer->name), ROW(transfer->step),
			ROW(transfer->pass), transfer->n_ranks,
			transfer->is_unfolded ? " unfolded" : "", transfer->is_hop ? " hop" : "",
			transfer->is_removed ? " removed" : "",
			transfer->is_device ? " device" : "");
		fprintf(out, " %" G_GUINT64_FORMAT " bytes %" NS "..%" NS ": %.9g + %.9g",
			transfer->bytes, transfer->begin_ns, transfer->end_ns, transfer->fixed_ns,
			transfer->work_ns);
		if (transfer->is_hop)
			fprintf(out, " of %u", transfer->whole);
		fprintf(out, "; whole %.9g + %.9g, hops %.9g + %.9g\n", transfer->whole_fixed_ns,
			transfer->whole_work_ns, transfer->hops_fixed_ns, transfer->hops_work_ns);
	}
}

static void print_passes(const TachoGraph *graph, FILE *out)
{
	for (guint i = 0; i < graph->passes->len; i++) {
		const struct graph_pass *pass = &g_array_index(graph->passes, struct graph_pass, i);

		fprintf(out,
			"pass %u rank %u ordinal %u step %s gradients %u+%u finish %u packing %u\n",
			i, pass->rank_index, pass->ordinal, ROW(pass->step), pass->first_gradient,
			pass->n_gradients, pass->finish_node, pass->packing);
	}
	for (guint i = 0; i < graph->gradients->len; i++) {
		const struct graph_gradient *gradient =
			&g_array_index(graph->gradients, struct graph_gradient, i);

		fprintf(out, "gradient %u %" G_GUINT64_FORMAT " %s ready %u copied %s\n", i,
			gradient->bytes, gradient->dtype, gradient->ready_node,
			ROW(gradient->copy_node));
	}
}

static void print_moment(const struct graph_moment *moment, FILE *out)
{
	fprintf(out, " %" NS " %s %.9g", moment->time_ns, ROW(moment->node), moment->share);
}

static void print_blocks(const TachoGraph *graph, FILE *out)
{
	for (guint i = 0; i < graph->blocks->len; i++) {
		const struct graph_block *block =
			&g_array_index(graph->blocks, struct graph_block, i);

		fprintf(out, "block %u rank %u slice %s device %u %" NS " was %" NS "%s:", i,
			block->rank_index, ROW(block->slice), block->device, block->bytes,
			block->recorded_bytes, block->is_cast ? " cast" : "");
		print_moment(&block->begin, out);
		print_moment(&block->end, out);
		fprintf(out, "\n");
	}
}

static void print_guests(const TachoGraph *graph, FILE *out)
{
	for (guint i = 0; i < graph->guests->len; i++) {
		const struct graph_guest *guest =
			&g_array_index(graph->guests, struct graph_guest, i);

		fprintf(out,
			"guest %u ranks %u+%u steps %u later %" NS
			" alone %u+%u lag %s: %.9g %.9g %.9g\n",
			i, guest->first_rank, guest->n_ranks, guest->n_steps, guest->offset_ns,
			guest->first_alone_step, guest->n_alone_steps, ROW(guest->first_lag),
			guest->taken_share, guest->taken_by_bytes, guest->device_taken_share);
	}
}

static void print_times(const gchar *name, const GArray *times_ns, FILE *out)
{
	fprintf(out, "%s", name);
	for (guint i = 0; i < times_ns->len; i++)
		fprintf(out, " %" NS, g_array_index(times_ns, gint64, i));
	fprintf(out, "\n");
}

static void print_numbers(const gchar *name, const guint32 *numbers, guint32 n, FILE *out)
{
	fprintf(out, "%s", name);
	for (guint32 i = 0; i < n; i++)
		fprintf(out, " %u", numbers[i]);
	fprintf(out, "\n");
}

static void print_frozen(const TachoGraph *graph, FILE *out)
{
	for (guint32 i = 0; i < graph->n_frozen; i++) {
		guint32 first = graph->pred_first[i], next = graph->succ_first[i];

		fprintf(out, "frozen %u %" NS, i, graph->duration_ns[i]);
		print_numbers(" after", graph->pred + first, graph->pred_first[i + 1] - first, out);
		print_numbers(" before", graph->succ + next, graph->succ_first[i + 1] - next, out);
	}
	if (graph->order)
		print_numbers("order", graph->order, graph->n_frozen, out);
	for (guint i = 0; i < graph->pools->len && graph->n_frozen; i++)
		print_numbers("queued", graph->pool_node + graph->pool_first[i],
			      graph->pool_first[i + 1] - graph->pool_first[i], out);
	fprintf(out, "shared %d cores %u\n", graph->is_shared, graph->n_cores);
}

void graph_text_print(const TachoGraph *graph, FILE *out)
{
	fprintf(out, "origin %" NS " whole %" NS " played %u taken %.9g %.9g %.9g\n",
		graph->origin_ns, graph->whole_ns, graph->n_played, graph->taken_share,
		graph->taken_by_bytes, graph->device_taken_share);
	for (guint i = 0; i < N_KERNEL_CLASSES; i++)
		if (graph->class_more_taken[i] != 0)
			fprintf(out, "more taken of %s %.9g\n", kernel_class_name(i),
				graph->class_more_taken[i]);
	print_numbers("steps", (const guint32 *)(void *)graph->steps->data, graph->steps->len, out);
	print_numbers("sets", (const guint32 *)(void *)graph->sets->data, graph->sets->len, out);
	print_times("lags", graph->lags, out);
	print_nodes(graph, out);
	print_places(graph, out);
	print_groups(graph, out);
	print_transfers(graph, out);
	print_passes(graph, out);
	print_blocks(graph, out);
	print_guests(graph, out);
	print_times("guest steps", graph->guest_steps, out);
	print_times("guest lags", graph->guest_lags, out);
	print_frozen(graph, out);
	for (guint i = 0; i < graph->notes->len; i++)
		fprintf(out, "note %s\n", tacho_graph_borrow_note(graph, i));
}

/* --- replays ---------------------------------------------------------------------------------- */

static void print_span(const struct step_span *span, FILE *out)
{
	fprintf(out, " %" NS "..%" NS " %s%s lag %" NS "\n", span->begin_ns, span->end_ns,
		ROW(span->node), span->is_device ? " device" : "", span->lag_ns);
}

static void print_marks(const TachoReplay *replay, const struct step_marks *marks, FILE *out)
{
	g_autofree struct step_span *spans = g_new(struct step_span, MAX(marks->n_steps, 1u));
	g_autoptr(GArray) lags = g_array_new(FALSE, FALSE, sizeof(gint64));

	for (guint32 rank = 0; rank < marks->n_ranks; rank++) {
		step_marks_spans(marks, replay->end_ns, rank, spans);
		for (guint32 step = 0; step < marks->n_steps; step++) {
			gsize cell = step_marks_cell(marks, rank, step);

			fprintf(out, "rank %u of %u step %u: %s %s %s", rank, marks->weights[rank],
				step, ROW(marks->before[cell]), ROW(marks->first[cell]),
				ROW(marks->last[cell]));
			print_span(&spans[step], out);
		}
	}
	step_marks_append_lags(marks, replay->end_ns, lags);
	print_times("lags", lags, out);
}

static void print_steps(const TachoReplay *replay, FILE *out)
{
	const TachoGraph *graph = replay->graph;
	g_autoptr(GArray) steps = replay_step_times(replay);
	g_autofree struct step_span *last = replay_last_spans(replay);
	struct step_marks marks;

	step_marks_init(&marks, graph);
	print_marks(replay, &marks, out);
	step_marks_release(&marks);
	for (guint i = 0; i < graph->guests->len; i++) {
		step_marks_init_guest(&marks, graph,
				      &g_array_index(graph->guests, struct graph_guest, i));
		print_marks(replay, &marks, out);
		step_marks_release(&marks);
	}
	for (guint i = 0; i < steps->len; i++) {
		fprintf(out, "step %u %" NS " last", i, g_array_index(steps, gint64, i));
		print_span(&last[i], out);
	}
	fprintf(out, "median %.9g, %u bound by devices\n", replay_median_step_ns(replay),
		replay_n_device_bound_steps(replay));
}

void replay_text_print(const TachoReplay *replay, FILE *out)
{
	for (guint32 i = 0; i < replay->n_nodes; i++)
		fprintf(out, "%u %" NS " %" NS " %s\n", i, replay->begin_ns[i], replay->end_ns[i],
			ROW(replay->cause[i]));
	if (replay->graph->steps->len > 0)
		print_steps(replay, out);
	fprintf(out, "overlap %.9g\n", replay_kernel_overlap(replay));
}
