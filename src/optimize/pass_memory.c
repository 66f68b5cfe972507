/* pass_memory: what brings the job within the memory that there is, before anything is tried for its speed.
 *
 * Modules are taken by kinds: those of one path but for numbers ("layers.0", "layers.1" ...). Of each kind, all are computed again first; of
 * the kinds with which the job fits, as few modules as suffice, the first ones; and of those the one with the shortest step. What is
 * chosen is in every plan that follows. Where nothing suffices, half the samples in twice the passes are told, for a person to do. */
#include "optimize/optimizing.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"

/* Source: a rule: a kind is some predictions. If wrong, kinds that take least of the forward pass are not tried. */
#define MAX_KINDS 12

struct module_kind {
	gchar *pattern;	  /* "layers.#" */
	GPtrArray *names; /* "layers.0", in order of their first forward */
	gint64 duration_ns;
};

struct outcome {
	gdouble step_ms;
	gint64 peak_bytes;
};

static void kind_free(gpointer data)
{
	struct module_kind *kind = data;

	g_free(kind->pattern);
	g_ptr_array_unref(kind->names);
	g_free(kind);
}

/* "Net.layers.0 (Linear)" is of the module "layers.0"; NULL: of none below the model. The caller's. */
static gchar *module_name(const gchar *slice_name)
{
	const gchar *dot = strchr(slice_name, '.'), *end = strstr(slice_name, " (");

	if (!dot || (end && end < dot))
		return NULL;
	return end ? g_strndup(dot + 1, (gsize)(end - dot - 1)) : g_strdup(dot + 1);
}

static gchar *pattern_of(const gchar *name)
{
	g_autoptr(GString) pattern = g_string_new(NULL);

	for (; *name; name++)
		if (!g_ascii_isdigit(*name))
			g_string_append_c(pattern, *name);
		else if (pattern->len == 0 || pattern->str[pattern->len - 1] != '#')
			g_string_append_c(pattern, '#');
	return g_string_free(g_steal_pointer(&pattern), FALSE);
}

static void add_module(GHashTable *kinds, GHashTable *seen, const gchar *slice_name,
		       gint64 duration_ns)
{
	gchar *name = module_name(slice_name);
	g_autofree gchar *pattern = name ? pattern_of(name) : NULL;
	struct module_kind *kind;

	if (!name || !plan_name_is_good(name)) {
		g_free(name);
		return;
	}
	kind = g_hash_table_lookup(kinds, pattern);
	if (!kind) {
		kind = g_new0(struct module_kind, 1);
		kind->pattern = g_steal_pointer(&pattern);
		kind->names = g_ptr_array_new_with_free_func(g_free);
		g_hash_table_insert(kinds, kind->pattern, kind);
	}
	kind->duration_ns += duration_ns;
	if (g_hash_table_add(seen, g_strdup(name)))
		g_ptr_array_add(kind->names, name);
	else
		g_free(name);
}

static gint compare_kinds(gconstpointer a, gconstpointer b)
{
	const struct module_kind *x = *(gpointer const *)a, *y = *(gpointer const *)b;

	if (x->duration_ns != y->duration_ns)
		return x->duration_ns > y->duration_ns ? -1 : 1;
	return strcmp(x->pattern, y->pattern);
}

/* Those that took most of the forward passes first. */
static GPtrArray *find_kinds(const TachoTimeline *timeline, GHashTable *kinds)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GPtrArray *list = g_ptr_array_new();
	GHashTableIter iter;
	gpointer kind;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		if (timeline->slices.kind[i] == TACHO_SLICE_MODULE)
			add_module(kinds, seen, tacho_slice_name(timeline, i),
				   timeline->slices.duration_ns[i]);
	g_hash_table_iter_init(&iter, kinds);
	while (g_hash_table_iter_next(&iter, NULL, &kind))
		g_ptr_array_add(list, kind);
	g_ptr_array_sort(list, compare_kinds);
	return list;
}

/* A plan in which the first `n` modules of the kind are computed again; the caller's. */
static TachoPlan *plan_of(const struct optimizing *optimizing, const struct module_kind *kind,
			  guint n)
{
	TachoPlan *plan = optimizing_new_plan(optimizing);
	struct plan_change *change = plan_add_names(plan, PLAN_CHECKPOINT);

	for (guint i = 0; i < n; i++)
		g_ptr_array_add(change->names, g_strdup(kind->names->pdata[i]));
	return plan;
}

static gboolean predict(struct optimizing *optimizing, const struct module_kind *kind, guint n,
			struct outcome *ret_outcome)
{
	g_autoptr(TachoPlan) plan = plan_of(optimizing, kind, n);
	g_autofree gchar *what_if = plan_change_what_if(plan_find(plan, PLAN_CHECKPOINT));
	g_autofree gchar *words =
		g_strdup_printf("%u of %u modules %s", n, kind->names->len, kind->pattern);
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoPrediction) prediction = optimizing_predict(optimizing, what_if, &error);

	optimizing->result->candidates_tried++;
	optimizing_note_tried(optimizing, words, prediction ? prediction->predicted_step_ms : NAN,
			      error ? error->message : "computed again");
	if (!prediction || prediction->predicted_peak_memory_bytes <= 0)
		return FALSE;
	*ret_outcome = (struct outcome){ prediction->predicted_step_ms,
					 prediction->predicted_peak_memory_bytes };
	return TRUE;
}

static gboolean fits(const struct optimizing *optimizing, const struct outcome *outcome)
{
	return (guint64)outcome->peak_bytes <= optimizing->options->memory_bytes;
}

/* As few modules of the kind as suffice; 0: all of them do not. */
static guint fewest(struct optimizing *optimizing, const struct module_kind *kind,
		    struct outcome *outcome)
{
	guint enough = kind->names->len, few = 0;

	if (!predict(optimizing, kind, enough, outcome) || !fits(optimizing, outcome))
		return 0;
	while (enough - few > 1 && !optimizing_is_over(optimizing)) {
		guint middle = few + (enough - few) / 2;
		struct outcome tried;

		if (predict(optimizing, kind, middle, &tried) && fits(optimizing, &tried)) {
			enough = middle;
			*outcome = tried;
		} else {
			few = middle;
		}
	}
	return enough;
}

static void choose(struct optimizing *optimizing, const GPtrArray *kinds)
{
	struct outcome best = { INFINITY, 0 };
	TachoPlan *chosen = NULL;
	guint n_names;

	for (guint i = 0; i < MIN(kinds->len, MAX_KINDS) && !optimizing_is_over(optimizing); i++) {
		const struct module_kind *kind = kinds->pdata[i];
		struct outcome outcome;
		guint n = fewest(optimizing, kind, &outcome);

		if (n == 0 || outcome.step_ms >= best.step_ms)
			continue;
		best = outcome;
		tacho_plan_free(chosen);
		chosen = plan_of(optimizing, kind, n);
	}
	if (!chosen) {
		optimizing_note(optimizing,
				"nothing that was tried brings the job within its memory; half the "
				"samples a pass (batch_size), and two passes an update, would");
		return;
	}
	n_names = plan_find(chosen, PLAN_CHECKPOINT)->names->len;
	optimizing->always = chosen;
	optimizing_propose_always(
		optimizing, plan_copy(chosen),
		g_strdup_printf("%u module%s computed again, so that %.1f MiB of memory suffice",
				n_names, n_names == 1 ? "" : "s",
				(gdouble)best.peak_bytes / (1024 * 1024)),
		"PyTorch", OPTIMIZING_BY_APPLY, TRUE);
}

void pass_memory(struct optimizing *optimizing)
{
	guint64 most = optimizing->options->memory_bytes;
	gint64 peak_bytes = optimizing->base->predicted_peak_memory_bytes;
	g_autoptr(GHashTable) kinds = NULL;
	g_autoptr(GPtrArray) list = NULL;

	if (most == 0)
		return;
	if (peak_bytes <= 0) {
		optimizing_note(optimizing, "the recording does not tell what memory the job "
					    "holds, so --memory says nothing");
		return;
	}
	optimizing_note(optimizing,
			"the job holds %.1f MiB of memory at most, and may hold %.1f MiB",
			(gdouble)peak_bytes / (1024 * 1024), (gdouble)most / (1024 * 1024));
	if ((guint64)peak_bytes <= most)
		return;
	kinds = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, kind_free);
	list = find_kinds(optimizing->base->graph->timeline, kinds);
	choose(optimizing, list);
}
