/* scope_places: where in the program's structure each slice belongs.
 *
 * A place is a path: modules (by the parts of their names), regions (by the parts between '/'), and the
 * operations inside each other. What autograd runs for an operation is under "[backward]" of the module
 * that the operation was called in; what it runs for nobody known is under "[backward]" of the root.
 *
 * The autograd engine's record around a node ("autograd::engine::evaluate_function: X") is at the
 * place of its node. Data-loader waits, messages, kernels and the marks of a profiler's steps are no
 * places: what is in them is where they are.
 *
 * By function, places are the program's own functions inside each other, as they ran; operations stand
 * in the innermost function around them. Where functions were sampled (TACHO_TRACK_SAMPLED), that is the one that samples
 * saw when the operation began, and what no operation took is at the function, or under "[data loading]" and "[waiting]" of it.
 *
 * What a graph does again is under "[replay]" of the place where it was captured; where that was not recorded,
 * of the place where the graph was launched, by the names of its kernels.
 *
 * A forward operation may stand on a track that is looked at later: slices that wait for one are
 * placed in a second pass. */
#include "analyze/scope_places.h"

#include "analyze/op_devices.h"

#include <string.h>

#include "analyze/op_cost.h"
#include "analyze/op_flops.h"
#include "analyze/places_exchange.h"
#include "analyze/sampled_time.h"
#include "base/for_each.h"
#include "trace/region_kind.h"
#include "trace/run_share.h"

#define BACKWARD "[backward]"
#define REPLAY	 "[replay]"
#define LOADING	 "[data loading]"
#define WAITING	 "[waiting]"
#define PENDING	 (TACHO_NONE - 1)

static guint label_number(struct scope_places *places, const gchar *label)
{
	guint number = GPOINTER_TO_UINT(g_hash_table_lookup(places->labels, label));

	if (!number) {
		number = g_hash_table_size(places->labels) + 1;
		g_hash_table_insert(places->labels, g_strdup(label), GUINT_TO_POINTER(number));
	}
	return number;
}

/* Of the newest node. */
static void note_stage(struct scope_places *places)
{
	guint8 stage = (guint8)places->stage;

	g_byte_array_append(places->stages, &stage, 1);
}

guint32 scope_places_child(struct scope_places *places, guint32 parent, const gchar *label)
{
	gint64 key = (gint64)parent << 32 | label_number(places, label);
	gpointer found = g_hash_table_lookup(places->children, &key);
	const gchar *above = profile_node_at(places->tree, parent)->name;
	g_autofree gchar *name = NULL;
	guint32 node;

	if (found)
		return GPOINTER_TO_UINT(found);
	name = *above ? g_strdup_printf("%s/%s", above, label) : g_strdup(label);
	node = profile_tree_add(places->tree, name, label, NULL);
	profile_node_at(places->tree, node)->above = parent;
	profile_tree_link(places->tree, parent, node);
	note_stage(places);
	g_hash_table_insert(places->children, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(node));
	return node;
}

/* A node for each part of `path`; empty parts are none. */
static guint32 descend(struct scope_places *places, guint32 node, const gchar *path,
		       const gchar *separator)
{
	g_auto(GStrv) parts = g_strsplit(path, separator, -1);

	for (guint i = 0; parts[i]; i++)
		if (*parts[i])
			node = scope_places_child(places, node, parts[i]);
	return node;
}

/* "SmallCnn.layer1.0.conv1 (Conv2d)" without its class. */
static gchar *module_path(const gchar *name)
{
	const gchar *bracket = strstr(name, " (");

	return bracket ? g_strndup(name, (gsize)(bracket - name)) : g_strdup(name);
}

/* A module's name begins with that of the module around it, which has its place already. */
static guint32 module_node(struct scope_places *places, guint32 parent, guint32 slice)
{
	const TachoTimeline *timeline = places->timeline;
	g_autofree gchar *path = module_path(tacho_slice_name(timeline, slice));
	g_autofree gchar *outer = NULL;
	guint32 around = timeline->slices.parent[slice];
	gsize length;

	while (around != TACHO_NONE && timeline->slices.kind[around] != TACHO_SLICE_MODULE)
		around = timeline->slices.parent[around];
	if (around == TACHO_NONE)
		return descend(places, parent, path, ".");
	outer = module_path(tacho_slice_name(timeline, around));
	length = strlen(outer);
	if (g_str_has_prefix(path, outer) && path[length] == '.')
		return descend(places, parent, path + length + 1, ".");
	return descend(places, parent, path, ".");
}

/* The slice whose flow says where an autograd node belongs: itself, or the node a wrapper holds. */
static guint32 autograd_node(const struct scope_places *places, guint32 slice)
{
	const TachoTimeline *timeline = places->timeline;

	if (region_kind_evaluates(region_kind_of(timeline, slice)) &&
	    slice + 1 < timeline->slices.n && timeline->slices.parent[slice + 1] == slice)
		return slice + 1;
	return slice;
}

static gboolean is_container(const struct scope_places *places, guint32 slice)
{
	TachoSliceKind kind = places->timeline->slices.kind[slice];

	if (places->by_function)
		return kind == TACHO_SLICE_FUNCTION;
	return kind == TACHO_SLICE_MODULE || kind == TACHO_SLICE_ANNOTATION;
}

/* The function that samples saw when the slice of a thread began; 0: none did. */
static guint32 sampled_node(const struct scope_places *places, guint32 slice)
{
	const TachoSlices *slices = &places->timeline->slices;
	guint32 track = places->sampled ? places->sampled[slices->track[slice]] : TACHO_NONE;
	guint32 function = TACHO_NONE;

	if (track != TACHO_NONE)
		function = sampled_function_at(places->timeline, track, slices->start_ns[slice]);
	return function == TACHO_NONE ? 0 : places->nodes[function];
}

/* The innermost module, region or function around a forward operation: where its backward goes. */
static guint32 container_node(const struct scope_places *places, guint32 forward)
{
	const TachoSlices *slices = &places->timeline->slices;
	guint32 op = forward;

	while (op != TACHO_NONE && !is_container(places, op))
		op = slices->parent[op];
	if (op == TACHO_NONE)
		return sampled_node(places, forward);
	return places->nodes[op] == TACHO_NONE ? PENDING : places->nodes[op];
}

static guint32 backward_parent(struct scope_places *places, guint32 slice)
{
	guint32 forward = GPOINTER_TO_UINT(g_hash_table_lookup(
		places->forward, GUINT_TO_POINTER(autograd_node(places, slice))));
	guint32 container = forward ? container_node(places, forward - 1) : 0;

	return container == PENDING ? PENDING : scope_places_child(places, container, BACKWARD);
}

static gboolean has_forward(const struct scope_places *places, guint32 slice)
{
	return g_hash_table_contains(places->forward,
				     GUINT_TO_POINTER(autograd_node(places, slice)));
}

static guint32 op_node(struct scope_places *places, guint32 parent, guint32 slice)
{
	const gchar *name =
		region_evaluated(places->timeline, places->timeline->slices.name[slice]);

	if (parent && strcmp(profile_node_at(places->tree, parent)->label, name) == 0)
		return parent; /* the node in its wrapper */
	return descend(places, parent, name, "/");
}

/* The functions that made an operation of a graph; TACHO_NONE: that is not told. */
static guint32 maker_place(struct scope_places *places, guint32 slice)
{
	const TachoTimeline *timeline = places->timeline;
	guint32 node = 0, function;

	for (guint32 i = 0; (function = tacho_slice_maker(timeline, slice, i)); i++)
		node = scope_places_child(places, node, tacho_timeline_string(timeline, function));
	return node ? scope_places_child(places, node, tacho_slice_name(timeline, slice))
		    : TACHO_NONE;
}

/* Operations of a function stand side by side, whichever calls which. `parent` is the place around. */
static guint32 function_place(struct scope_places *places, guint32 slice, OpPhase phase,
			      guint32 parent)
{
	const TachoSlices *slices = &places->timeline->slices;
	guint32 around = slices->parent[slice], made;

	if (slices->kind[slice] == TACHO_SLICE_FUNCTION)
		return scope_places_child(places, parent,
					  tacho_slice_name(places->timeline, slice));
	if (slices->kind[slice] != TACHO_SLICE_OP)
		return parent;
	made = maker_place(places, slice);
	if (made != TACHO_NONE)
		return made;
	if (around == TACHO_NONE && (phase == PHASE_BACKWARD || has_forward(places, slice)))
		parent = backward_parent(places, slice);
	else if (around != TACHO_NONE && slices->kind[around] == TACHO_SLICE_OP)
		parent = profile_node_at(places->tree, parent)->above;
	else if (!parent)
		parent = sampled_node(places, slice);
	return parent == PENDING ? PENDING
				 : scope_places_child(places, parent,
						      tacho_slice_name(places->timeline, slice));
}

/* `parent` is the place around. */
static guint32 place(struct scope_places *places, guint32 slice, OpPhase phase, guint32 parent)
{
	const TachoTimeline *timeline = places->timeline;
	gboolean is_outermost = timeline->slices.parent[slice] == TACHO_NONE;
	TachoToldOp told;

	if (places->by_function)
		return function_place(places, slice, phase, parent);
	switch (timeline->slices.kind[slice]) {
	case TACHO_SLICE_MODULE:
		return module_node(places, parent, slice);
	case TACHO_SLICE_ANNOTATION:
		if (region_kind_of(timeline, slice) == REGION_STEP)
			return parent;
		return descend(places, parent, tacho_slice_name(timeline, slice), "/");
	case TACHO_SLICE_OP:
		if (is_outermost && (phase == PHASE_BACKWARD || has_forward(places, slice)) &&
		    !tacho_slice_told(timeline, slice, &told)) /* whose name says where it is */
			parent = backward_parent(places, slice);
		return parent == PENDING ? PENDING : op_node(places, parent, slice);
	default:
		return parent;
	}
}

static void place_track(struct scope_places *places, const TachoTrack *track)
{
	const TachoTimeline *timeline = places->timeline;
	g_autofree guint8 *phases = op_phases_of_track(timeline, track);

	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 slice = track->first_slice + i;
		guint32 around = timeline->slices.parent[slice];
		guint32 parent = around == TACHO_NONE ? 0 : places->nodes[around];

		if (places->nodes[slice] == TACHO_NONE || places->nodes[slice] == PENDING)
			places->nodes[slice] = parent == PENDING
						       ? PENDING
						       : place(places, slice, phases[i], parent);
	}
}

static void index_forward(struct scope_places *places)
{
	const TachoTimeline *timeline = places->timeline;

	FOR_EACH(const TachoFlow, flow, timeline->flows)
		if (flow->kind == TACHO_FLOW_FORWARD_BACKWARD && flow->from < timeline->slices.n)
			g_hash_table_insert(places->forward, GUINT_TO_POINTER(flow->to),
					    GUINT_TO_POINTER(flow->from + 1));
}

/* Of several processes, each looks at its own ranks (places_exchange.h). */
static gboolean takes_track(const struct selection *selection, const TachoTrack *track)
{
	return selection_takes_track(selection, track) &&
	       run_share_owns(selection->timeline, track->process);
}

/* Functions that were sampled have places first: operations are put there. */
static void place_sampled(struct scope_places *places, const struct selection *selection)
{
	const TachoTimeline *timeline = places->timeline;

	places->sampled = g_new(guint32, MAX(timeline->tracks->len, 1u));
	FOR_EACH_AT(const TachoTrack, track, i, timeline->tracks) {
		places->sampled[i] = track->kind == TACHO_TRACK_THREAD
					     ? sampled_track_of(timeline, track)
					     : TACHO_NONE;
		if (track->kind == TACHO_TRACK_SAMPLED && takes_track(selection, track))
			place_track(places, track);
	}
}

void scope_places_init(struct scope_places *places, struct profile_tree *tree,
		       const struct selection *selection, gboolean by_function)
{
	const TachoTimeline *timeline = selection->timeline;

	*places = (struct scope_places){
		.tree = tree,
		.timeline = timeline,
		.by_function = by_function,
		.nodes = g_new(guint32, MAX(timeline->slices.n, 1u)),
		.children = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL),
		.labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.forward = g_hash_table_new(NULL, NULL),
		.stages = g_byte_array_new(),
	};
	note_stage(places); /* of the root */
	memset(places->nodes, 0xff, timeline->slices.n * sizeof(guint32));
	index_forward(places);
	if (by_function)
		place_sampled(places, selection);
	for (places->stage = PLACE_FIRST_PASS; places->stage <= PLACE_SECOND_PASS; places->stage++)
		for (guint i = 0; i < timeline->tracks->len; i++)
			if (takes_track(selection, tacho_timeline_track(timeline, i)))
				place_track(places, tacho_timeline_track(timeline, i));
}

void scope_places_clear(struct scope_places *places)
{
	profile_tree_clear(places->tree);
	g_hash_table_remove_all(places->children);
	g_hash_table_remove_all(places->labels);
	g_byte_array_set_size(places->stages, 1);
}

void scope_places_release(struct scope_places *places)
{
	g_free(places->nodes);
	g_free(places->sampled);
	g_hash_table_unref(places->children);
	g_hash_table_unref(places->labels);
	g_hash_table_unref(places->forward);
	g_byte_array_unref(places->stages);
}

/* --- what was run there ----------------------------------------------------------------------- */

static void visit_track(const struct selection *selection, const TachoTrack *track, OpVisit visit,
			gpointer data)
{
	const TachoTimeline *timeline = selection->timeline;
	guint rank_index = tacho_track_process(timeline, track)->rank_index;
	g_autofree struct op_cost *costs = op_costs_of_track(timeline, track, TRUE);
	g_autofree guint8 *phases = op_phases_of_track(timeline, track);
	guint cursor = 0;

	for (guint32 i = 0; i < track->n_slices; i++) {
		guint32 slice = track->first_slice + i;
		struct op_run run = { .slice = slice,
				      .phase = phases[i],
				      .self_ns = costs[i].self_ns,
				      .flops = costs[i].flops };

		if (timeline->slices.kind[slice] != TACHO_SLICE_OP ||
		    !selection_takes_time(selection, rank_index, timeline->slices.start_ns[slice],
					  &cursor))
			continue;
		run.step = selection_n_steps(selection) ? cursor : rank_index;
		visit(&run, data);
	}
}

void visit_ops(const struct selection *selection, OpVisit visit, gpointer data)
{
	const TachoTimeline *timeline = selection->timeline;

	for (guint i = 0; i < timeline->tracks->len; i++)
		if (takes_track(selection, tacho_timeline_track(timeline, i)))
			visit_track(selection, tacho_timeline_track(timeline, i), visit, data);
}

void profile_add_run(struct profile_tree *tree, guint32 node, const TachoTimeline *timeline,
		     const struct op_facts *facts, const struct op_run *run)
{
	struct profile_node *at = profile_node_at(tree, node);
	struct op_fact fact = op_facts_find(facts, run->slice);
	guint32 type = tacho_slice_type(timeline, run->slice);
	gboolean is_wrapper = region_kind_evaluates(region_kind_of_name(timeline, type));
	TachoToldOp told;

	if (!at->type || at->is_wrapper) {
		at->type = g_string_chunk_insert_const(tree->strings,
						       tacho_timeline_string(timeline, type));
		at->is_wrapper = is_wrapper;
	}
	if (tacho_slice_told(timeline, run->slice, &told) && told.tags)
		at->tags = tacho_timeline_string(timeline, told.tags);
	at->phase = op_phase_name(run->phase);
	if (tree->options->account || tree->options->select >> TACHO_SELECT_DEVICE & 1) {
		if (!at->devices)
			at->devices = g_string_new(NULL);
		op_devices_add(at->devices, timeline, run->slice, &fact);
	}
	if (!at->shapes)
		at->shapes = op_shapes_text(timeline, run->slice);
	at->self[TACHO_METRIC_HOST] += run->self_ns;
	at->self[TACHO_METRIC_DEVICE] += fact.device_ns;
	at->self[TACHO_METRIC_TIME] += run->self_ns + fact.device_ns;
	at->self[TACHO_METRIC_ALLOCATED] += fact.allocated_bytes;
	at->self[TACHO_METRIC_PEAK] += fact.peak_bytes;
	at->self[TACHO_METRIC_RESIDUAL] += fact.residual_bytes;
	at->self[TACHO_METRIC_OUTPUT] += op_output_bytes(timeline, run->slice);
	at->self[TACHO_METRIC_PARAMS] += op_parameters(timeline, run->slice);
	at->self[TACHO_METRIC_FLOPS] += MAX(run->flops, 0);
	at->is_unknown |= run->flops < 0;
	if (!is_wrapper)
		at->self[TACHO_METRIC_RUNS]++;
	profile_tree_mark_present(tree, node, run->step);
}

static guint32 replay_node(struct scope_places *places, const struct graph_replay *replay)
{
	guint32 at = replay->op != TACHO_NONE	     ? replay->op
		     : replay->capture != TACHO_NONE ? replay->capture
						     : replay->launch;
	guint32 node = at == TACHO_NONE ? 0 : places->nodes[at];

	node = scope_places_child(places, node < places->tree->nodes->len ? node : 0, REPLAY);
	return replay->op != TACHO_NONE
		       ? node
		       : scope_places_child(places, node,
					    tacho_slice_name(places->timeline, replay->work));
}

void profile_add_replay(struct profile_tree *tree, guint32 node, const TachoTimeline *timeline,
			const struct graph_replay *replay)
{
	struct profile_node *at = profile_node_at(tree, node);
	gdouble flops = graph_replay_flops(timeline, replay);

	at->type = g_string_chunk_insert_const(
		tree->strings,
		tacho_timeline_string(timeline, graph_replay_name(timeline, replay)));
	at->phase = op_phase_name(PHASE_REPLAY);
	if (!at->shapes && replay->op != TACHO_NONE)
		at->shapes = op_shapes_text(timeline, replay->op);
	at->self[TACHO_METRIC_DEVICE] += replay->device_ns;
	at->self[TACHO_METRIC_TIME] += replay->device_ns;
	at->self[TACHO_METRIC_FLOPS] += MAX(flops, 0);
	at->is_unknown |= flops < 0;
	at->self[TACHO_METRIC_RUNS]++;
	profile_tree_mark_present(tree, node, replay->step);
}

/* --- the view --------------------------------------------------------------------------------- */

struct places_count {
	struct scope_places *places;
	struct op_facts facts;
};

static void count_run(const struct op_run *run, gpointer data)
{
	struct places_count *count = data;
	struct scope_places *places = count->places;
	guint32 node = places->nodes[run->slice];

	if (node < places->tree->nodes->len)
		profile_add_run(places->tree, node, places->timeline, &count->facts, run);
}

static void count_replay(const struct graph_replay *replay, gpointer data)
{
	struct scope_places *places = data;

	profile_add_replay(places->tree, replay_node(places, replay), places->timeline, replay);
}

static void add_sampled(struct scope_places *places, guint32 node, const gchar *label,
			const gchar *type, gint64 ns, guint step)
{
	struct profile_node *at;

	if (ns <= 0)
		return;
	if (label)
		node = scope_places_child(places, node, label);
	at = profile_node_at(places->tree, node);
	if (!at->type)
		at->type = g_string_chunk_insert_const(places->tree->strings, type);
	at->self[TACHO_METRIC_HOST] += (gdouble)ns;
	at->self[TACHO_METRIC_TIME] += (gdouble)ns;
	profile_tree_mark_present(places->tree, node, step);
}

static void count_sampled(const struct sampled_stretch *stretch, gpointer data)
{
	struct scope_places *places = data;
	guint32 node = places->nodes[stretch->slice];

	add_sampled(places, node, NULL, "function", stretch->ns[SAMPLED_PYTHON], stretch->step);
	add_sampled(places, node, LOADING, "data_loading", stretch->ns[SAMPLED_LOADING],
		    stretch->step);
	add_sampled(places, node, WAITING, "waiting", stretch->ns[SAMPLED_WAITING], stretch->step);
}

struct places_profile {
	struct selection selection;
	struct profile_tree tree;
	struct scope_places places;
	struct places_count count;
};

static void places_profile_init(struct places_profile *profile, const TachoTimeline *timeline,
				const TachoFilter *filter, gboolean by_function)
{
	selection_init(&profile->selection, timeline, filter);
	profile_tree_init(&profile->tree, filter ? filter->profile : NULL, &profile->selection);
	profile->tree.keeps_prefixes = profile->tree.has_paths = TRUE;
	profile->tree.trims_node = by_function;
	scope_places_init(&profile->places, &profile->tree, &profile->selection, by_function);
	profile->count.places = &profile->places;
	op_facts_init(&profile->count.facts, timeline, TRUE);
	visit_ops(&profile->selection, count_run, &profile->count);
	visit_replays(&profile->selection, count_replay, &profile->places);
	if (by_function)
		visit_sampled(&profile->selection, count_sampled, &profile->places);
}

static void places_profile_release(struct places_profile *profile)
{
	op_facts_release(&profile->count.facts);
	scope_places_release(&profile->places);
	profile_tree_release(&profile->tree);
	selection_release(&profile->selection);
}

TachoTable *places_view(const gchar *name, const TachoTimeline *timeline, const TachoFilter *filter,
			gboolean by_function)
{
	struct places_profile profile;
	TachoTable *table;

	places_profile_init(&profile, timeline, filter, by_function);
	places_exchange(&profile.places, name);
	profile_tree_select(&profile.tree, &profile.selection);
	table = profile_tree_table(&profile.tree, name);
	profile_tree_note_hidden(&profile.tree, &profile.selection, table);
	selection_note(&profile.selection, table);
	places_profile_release(&profile);
	return table;
}

/* --- the slices of its rows ------------------------------------------------------------------- */

struct shown_slices {
	struct scope_places *places;
	const guint8 *is_shown; /* by node */
	guint n_nodes;
	guint8 *slices;
};

static void mark_replay(const struct graph_replay *replay, gpointer data)
{
	const struct shown_slices *shown = data;
	guint32 node = replay_node(shown->places, replay);

	if (node < shown->n_nodes)
		shown->slices[replay->work] |= shown->is_shown[node];
}

static void mark_track(const struct places_profile *profile, const TachoTrack *track,
		       const struct shown_slices *shown)
{
	const TachoTimeline *timeline = profile->selection.timeline;
	guint rank_index = tacho_track_process(timeline, track)->rank_index;
	guint cursor = 0;

	for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
		guint32 node = profile->places.nodes[i];

		if (node < profile->tree.nodes->len &&
		    selection_takes_time(&profile->selection, rank_index,
					 timeline->slices.start_ns[i], &cursor))
			shown->slices[i] = shown->is_shown[node];
	}
}

/* The work of devices that a call or an operation at a shown place launched. */
static void mark_launched(const TachoTimeline *timeline, guint8 *slices)
{
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		const TachoTrack *track = tacho_timeline_track(timeline, timeline->slices.track[i]);
		guint32 launch = timeline->slices.launch[i];

		if (track->kind == TACHO_TRACK_STREAM && launch != TACHO_NONE)
			slices[i] |= slices[launch];
	}
}

guint8 *places_slices(const TachoTimeline *timeline, const TachoFilter *filter,
		      gboolean by_function)
{
	struct places_profile profile;
	struct shown_slices shown = { .places = &profile.places };
	g_autofree guint8 *is_shown = NULL;

	places_profile_init(&profile, timeline, filter, by_function);
	profile_tree_select(&profile.tree, &profile.selection);
	shown.is_shown = is_shown = profile_tree_shown(&profile.tree);
	shown.n_nodes = profile.tree.nodes->len;
	shown.slices = g_new0(guint8, timeline->slices.n + 1);
	for (guint i = 0; i < timeline->tracks->len; i++)
		if (selection_takes_track(&profile.selection, tacho_timeline_track(timeline, i)))
			mark_track(&profile, tacho_timeline_track(timeline, i), &shown);
	mark_launched(timeline, shown.slices);
	visit_replays(&profile.selection, mark_replay, &shown);
	places_profile_release(&profile);
	return shown.slices;
}
