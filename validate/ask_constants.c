/* ask_constants: what the predictions from a recording become when one constant of the model is halved or doubled.
 *
 *     ask_constants CONSTANTS CHANGES RUN...
 *
 * Linked with copies of the stages from cost to predict in which a constant is asked for by its number, constant_asked(), as
 * validate/constants.py makes them. CONSTANTS has a line for each: its value, half of it, twice it. CHANGES has a list of what-ifs on each line, separated by blanks; none: as it is.
 *
 * Prints between tabs, numbers from 0:
 *
 *     base      CHANGE  MS               what is predicted; "refused"
 *     asked     CONSTANT  CHANGE         the constant is asked for in this prediction
 *     half      CONSTANT  CHANGE  MS     what is predicted with half of the constant, where that differs
 *     twice     CONSTANT  CHANGE  MS
 *
 * Exit 2: there is nothing to replay. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tacho/correlate.h>
#include <tacho/import.h>
#include <tacho/replay.h>

#include "base/hash_mix.h"
#include "edit/graph_memory.h"
#include "predict/prediction.h"
#include "predict/what_if_apply.h"
#include "replay/replay_internal.h"

enum scale { AS_IT_IS, HALF, TWICE, N_SCALES };

struct constant {
	gdouble value[N_SCALES];
};

struct change_list {
	gchar **words;
	guint n_words;
	GArray *changes;      /* struct change; NULL: refused */
	gboolean has_guest;   /* whose graph is made, too */
	gdouble predicted_ms; /* NAN: refused */
	guint8 *asked;	      /* of each constant, beside what is prepared */
};

static GArray *constants; /* struct constant */
static guint8 *asked;	  /* of each: since it was cleared */
static guint changed;	  /* the constant that is not as it is, where scale is not AS_IT_IS */
static enum scale scale;

gdouble constant_asked(guint number);

/* Threads of a worker pool ask, too: they all write the same. */
gdouble constant_asked(guint number)
{
	asked[number] = 1;
	return g_array_index(constants, struct constant, number)
		.value[number == changed ? scale : AS_IT_IS];
}

/* --- what is asked ---------------------------------------------------------------------------- */

static GArray *read_constants(const gchar *path)
{
	GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct constant));
	FILE *file = fopen(path, "r");
	struct constant row;

	while (file && fscanf(file, "%lf %lf %lf", &row.value[AS_IT_IS], &row.value[HALF],
			      &row.value[TWICE]) == 3)
		g_array_append_val(rows, row);
	if (file)
		fclose(file);
	return rows;
}

static GArray *read_changes(const gchar *path)
{
	GArray *rows = g_array_new(FALSE, TRUE, sizeof(struct change_list));
	g_autofree gchar *text = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return rows;
	lines = g_strsplit(g_strchomp(text), "\n", -1);
	for (guint i = 0; lines[i]; i++) {
		struct change_list list = { .words = g_strsplit(lines[i], " ", -1) };

		if (!lines[i][0])
			g_clear_pointer(&list.words[0], g_free);
		list.n_words = g_strv_length(list.words);
		list.changes = changes_read((const gchar *const *)list.words, list.n_words, NULL);
		list.has_guest = strstr(lines[i], "jobs=") != NULL;
		g_array_append_val(rows, list);
	}
	return rows;
}

/* --- answers ---------------------------------------------------------------------------------- */

/* What all changes begin from: the graph of a recording, without what recording took. NULL: it cannot be played. */
static TachoGraph *prepare(TachoTimeline *timeline)
{
	g_autoptr(TachoGraph) graph = replay_build_graph(timeline, -1, -1, NULL);
	g_autoptr(TachoReplay) baseline = NULL;
	gdouble share;

	if (!graph)
		return NULL;
	graph_find_memory(graph);
	baseline = tacho_replay_run(graph, NULL);
	if (!baseline)
		return NULL;
	replay_measure_lags(graph, baseline);
	return replay_take_out_recording(graph, baseline, &share, NULL) ? g_steal_pointer(&graph)
									: NULL;
}

static gdouble predict_from(const TachoGraph *prepared, const struct change_list *list)
{
	g_autoptr(TachoGraph) graph = graph_copy(prepared);
	g_autoptr(TachoReplay) replay = NULL;

	if (!list->changes || !graph_freeze(graph, NULL) ||
	    !changes_apply(graph, list->changes, NULL))
		return NAN;
	replay = tacho_replay_run(graph, NULL);
	return replay ? replay_median_step_ns(replay) / 1e6 : NAN;
}

/* Beside another job: as many rounds of that as it takes. */
static gdouble predict_beside(TachoTimeline *timeline, const struct change_list *list)
{
	g_autoptr(TachoPrediction) prediction = tacho_predict(
		timeline, (const gchar *const *)list->words, list->n_words, -1, -1, NULL);

	return prediction ? prediction->predicted_step_ms : NAN;
}

static gdouble predict(TachoTimeline *timeline, const TachoGraph *prepared,
		       const struct change_list *list)
{
	return list->has_guest ? predict_beside(timeline, list) : predict_from(prepared, list);
}

static guint64 mix_bytes(guint64 hash, GArray *rows)
{
	const guint8 *bytes = (const guint8 *)rows->data;

	for (gsize i = 0; i < (gsize)rows->len * g_array_get_element_size(rows); i++)
		hash = hash_mix(hash, bytes[i]);
	return hash;
}

static guint64 mix_number(guint64 hash, gdouble number)
{
	guint64 bits;

	memcpy(&bits, &number, sizeof(bits));
	return hash_mix(hash, bits);
}

/* A number for what a graph says; two that say the same have the same. */
static guint64 graph_digest(const TachoGraph *graph)
{
	guint64 hash = mix_bytes(HASH_MIX_START, graph->nodes);

	hash = mix_bytes(mix_bytes(hash, graph->edges), graph->lags);
	for (guint i = 0; i < graph->transfers->len; i++) {
		const struct graph_transfer *transfer = graph_transfer_at(graph, i);

		hash = mix_number(mix_number(hash, transfer->fixed_ns), transfer->work_ns);
		hash = mix_number(mix_number(hash, transfer->whole_fixed_ns),
				  transfer->whole_work_ns);
		hash = hash_mix(hash_mix(hash, transfer->pass), (guint64)transfer->end_ns);
	}
	for (guint i = 0; i < graph->groups->len; i++) {
		const struct graph_group *group = graph_group_at(graph, i);

		hash = mix_number(mix_number(hash, group->cost.fixed_ns), group->cost.ns_per_byte);
		hash = mix_number(mix_number(hash, group->max_fixed_ns), group->wire_ns_per_byte);
		hash = mix_number(hash, group->hop_ns);
	}
	hash = mix_number(mix_number(hash, graph->taken_share), graph->taken_by_bytes);
	hash = mix_number(hash, graph->device_taken_share);
	for (guint i = 0; i < N_KERNEL_CLASSES; i++)
		hash = mix_number(hash, graph->class_more_taken[i]);
	return hash_mix(hash_mix(hash, graph->passes->len), graph->gradients->len);
}

static void print_ms(gdouble ms)
{
	if (isnan(ms))
		printf("refused\n");
	else
		printf("%.9g\n", ms);
	fflush(stdout);
}

static gboolean is_same(gdouble a_ms, gdouble b_ms)
{
	return isnan(a_ms) || isnan(b_ms) ? isnan(a_ms) && isnan(b_ms) : a_ms == b_ms;
}

/* --- constants as they are, and one by one ---------------------------------------------------- */

struct asking {
	TachoTimeline *timeline;
	GArray *lists;		/* struct change_list */
	guint64 digest;		/* of what is prepared */
	guint8 *asked_prepared; /* of each constant: what is prepared asks for it */
};

static void ask_as_it_is(struct asking *asking, const TachoGraph *prepared)
{
	for (guint i = 0; i < asking->lists->len; i++) {
		struct change_list *list = &g_array_index(asking->lists, struct change_list, i);

		memset(asked, 0, constants->len);
		list->predicted_ms = predict(asking->timeline, prepared, list);
		list->asked = g_memdup2(asked, constants->len);
		printf("base\t%u\t", i);
		print_ms(list->predicted_ms);
		for (guint j = 0; j < constants->len; j++)
			if (list->asked[j] || asking->asked_prepared[j])
				printf("asked\t%u\t%u\n", j, i);
	}
}

static void ask_list(const struct asking *asking, const TachoGraph *prepared, guint i)
{
	const struct change_list *list = &g_array_index(asking->lists, struct change_list, i);
	gdouble ms = prepared || list->has_guest ? predict(asking->timeline, prepared, list) : NAN;

	if (is_same(ms, list->predicted_ms))
		return;
	printf("%s\t%u\t%u\t", scale == HALF ? "half" : "twice", changed, i);
	print_ms(ms);
}

/* With the constant changed. What is prepared is made anew only where it asks for the constant. */
static void ask_changed(const struct asking *asking, const TachoGraph *as_it_is)
{
	g_autoptr(TachoGraph) own =
		asking->asked_prepared[changed] ? prepare(asking->timeline) : NULL;
	const TachoGraph *prepared = asking->asked_prepared[changed] ? own : as_it_is;
	gboolean is_other = !prepared || graph_digest(prepared) != asking->digest;

	for (guint i = 0; i < asking->lists->len; i++)
		if (is_other || g_array_index(asking->lists, struct change_list, i).asked[changed])
			ask_list(asking, prepared, i);
}

static gboolean ask_all(TachoTimeline *timeline, GArray *lists)
{
	struct asking asking = { .timeline = timeline, .lists = lists };
	g_autoptr(TachoGraph) prepared = prepare(timeline);

	if (!prepared)
		return FALSE;
	asking.asked_prepared = g_memdup2(asked, constants->len);
	asking.digest = graph_digest(prepared);
	ask_as_it_is(&asking, prepared);
	for (changed = 0; changed < constants->len; changed++)
		for (scale = HALF; scale < N_SCALES; scale++)
			ask_changed(&asking, prepared);
	g_free(asking.asked_prepared);
	return TRUE;
}

int main(int argc, char **argv)
{
	g_autoptr(TachoTimeline) timeline = NULL;
	GArray *lists;

	if (argc < 4)
		return 1;
	constants = read_constants(argv[1]);
	asked = g_new0(guint8, MAX(constants->len, 1u));
	lists = read_changes(argv[2]);
	timeline =
		tacho_run_open((const gchar *const *)argv + 3, (guint)argc - 3, NULL, NULL, NULL);
	if (!timeline)
		return 2;
	tacho_correlate(timeline);
	return ask_all(timeline, lists) ? 0 : 2;
}
