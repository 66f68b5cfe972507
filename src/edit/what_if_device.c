/* what_if_device: the same work on a device that computes or moves data at another rate.
 *
 * By the roofline (S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model
 * for multicore architectures", 2009) an operation is bound by what takes it longer: its floating-point
 * operations at the rate of the device's arithmetic, or its bytes at that of its memory. Both rates are those
 * of the recording: the highest that operations of MIN_TIME_NS and MIN_TIME_SHARE or more in all reached, of each
 * name in the mean. What is bound by arithmetic takes 1 / F of its time, F being the factor of `flops`, else that of
 * `bytes`. Operations without formula or shapes, and the host's own time, stay as they are.
 *
 * Without arithmetic (a copy, a view) an operation says nothing about the rates; where it would have moved its
 * tensors faster than the memory can, it has not moved them, and stays.
 *
 * Where there are devices, it is their kernels that are scaled, and hosts stay; else operations' own times and
 * their kernels'. There an operation within which another one computes (aten::conv2d, of which
 * aten::mkldnn_convolution does the work) has no work of its own: what it takes is the host's. */
#include <math.h>
#include <string.h>

#include "analyze/op_work.h"
#include "base/for_each.h"
#include "base/time_units.h"
#include "edit/rank_choice.h"
#include "edit/change_internal.h"

/* The least time of all operations of a name.
 * Source: a rule: less is mostly the call, and what is taken out of it for recording. If wrong, a rate that no device has bounds
 * the others, or the true one is not seen. */
#define MIN_TIME_NS    10000.0
#define MIN_TIME_SHARE 0.01 /* of the time of operations with arithmetic */

/* The share of the time to be scaled that must be known.
 * Source: a rule: with less, the answer is about the rest. If wrong, an answer is given that says little, or is refused. */
#define MIN_KNOWN_SHARE 0.5

struct rates {
	gdouble flops, bytes; /* as factors wanted; or a ns, as recorded */
};

struct name_sum {
	gdouble flops, bytes, time_ns;
};

struct device_edit {
	TachoGraph *graph;
	const struct rank_choice *ranks;
	gboolean has_devices;
	guint32 *op_of; /* node -> slice of the operation whose work it is, or TACHO_NONE */
	struct op_works works;
	GHashTable
		*callers;  /* slices of operations whose arithmetic is that of others within them */
	GHashTable *names; /* name -> struct name_sum */
};

static gboolean is_scaled(const struct device_edit *edit, const struct graph_node *node)
{
	if (node->slice == TACHO_NONE || !rank_choice_has_node(edit->ranks, edit->graph, node))
		return FALSE;
	if (edit->has_devices)
		return node->kind == TACHO_NODE_DEVICE;
	return node->kind == TACHO_NODE_OP || node->kind == TACHO_NODE_KERNEL;
}

static void add_to_name(struct device_edit *edit, guint32 op, gdouble time_ns, gboolean is_first)
{
	guint32 name = edit->graph->timeline->slices.name[op];
	struct name_sum *sum = g_hash_table_lookup(edit->names, GUINT_TO_POINTER(name));

	if (!sum) {
		sum = g_new0(struct name_sum, 1);
		g_hash_table_insert(edit->names, GUINT_TO_POINTER(name), sum);
	}
	sum->time_ns += time_ns;
	if (is_first) {
		sum->flops += op_works_of(&edit->works, op)->flops;
		sum->bytes += op_works_of(&edit->works, op)->bytes;
	}
}

/* Note the callers of the operation. */
static void add_callers(struct device_edit *edit, guint32 op)
{
	const TachoSlices *slices = &edit->graph->timeline->slices;

	if (edit->has_devices || op_works_of(&edit->works, op)->flops <= 0)
		return;
	for (guint32 i = slices->parent[op]; i != TACHO_NONE; i = slices->parent[i])
		if (!g_hash_table_add(edit->callers, GUINT_TO_POINTER(i)))
			return;
}

static void find_ops(struct device_edit *edit)
{
	FOR_EACH_AT(const struct graph_node, node, i, edit->graph->nodes) {
		edit->op_of[i] = is_scaled(edit, node) ? op_works_find(&edit->works, node->slice)
						       : TACHO_NONE;
		if (edit->op_of[i] != TACHO_NONE)
			add_callers(edit, edit->op_of[i]);
	}
}

/* Find the operation of each node, and the times by name. FALSE: no node is of an operation. */
static gboolean find_works(struct device_edit *edit)
{
	const TachoGraph *graph = edit->graph;
	g_autoptr(GHashTable) seen = g_hash_table_new(NULL, NULL); /* each on each rank and copy */

	find_ops(edit);
	FOR_EACH_AT(const struct graph_node, node, i, graph->nodes) {
		guint32 op = edit->op_of[i];

		if (op != TACHO_NONE && op_works_of(&edit->works, op)->flops > 0 &&
		    g_hash_table_contains(edit->callers, GUINT_TO_POINTER(op)))
			op = edit->op_of[i] = TACHO_NONE;
		if (op != TACHO_NONE)
			add_to_name(edit, op, (gdouble)node->duration_ns,
				    g_hash_table_add(
					    seen, GSIZE_TO_POINTER(graph_op_key(graph, node, op))));
	}
	return g_hash_table_size(seen) > 0;
}

static gdouble arithmetic_ns(const struct device_edit *edit)
{
	gdouble total_ns = 0;

	FOR_EACH_ENTRY(entry, edit->names) {
		const struct name_sum *sum = entry.value;

		if (sum->flops > 0)
			total_ns += sum->time_ns;
	}
	return total_ns;
}

/* The highest that a name reached in the mean. */
static struct rates recorded_rates(const struct device_edit *edit)
{
	gdouble least_ns = MAX(MIN_TIME_NS, MIN_TIME_SHARE * arithmetic_ns(edit));
	struct rates rates = { 0, 0 };

	FOR_EACH_ENTRY(entry, edit->names) {
		const struct name_sum *sum = entry.value;

		if (sum->time_ns < least_ns || sum->flops <= 0)
			continue;
		rates.flops = MAX(rates.flops, sum->flops / sum->time_ns);
		rates.bytes = MAX(rates.bytes, sum->bytes / sum->time_ns);
	}
	return rates;
}

/* Its tensors did not move: the name's would have gone faster than the memory can. */
static gboolean is_view(const struct device_edit *edit, guint32 op, struct rates rates)
{
	guint32 name = edit->graph->timeline->slices.name[op];
	const struct name_sum *sum = g_hash_table_lookup(edit->names, GUINT_TO_POINTER(name));

	return sum->flops <= 0 && sum->bytes > rates.bytes * sum->time_ns;
}

static void scale_works(struct device_edit *edit, struct rates rates, struct rates factors)
{
	FOR_EACH_AT(struct graph_node, node, i, edit->graph->nodes) {
		const struct op_work *work;
		gboolean is_arithmetic;

		if (edit->op_of[i] == TACHO_NONE || is_view(edit, edit->op_of[i], rates))
			continue;
		work = op_works_of(&edit->works, edit->op_of[i]);
		is_arithmetic = work->flops * rates.bytes > work->bytes * rates.flops;
		graph_change_duration(node,
				      rounded_ns((gdouble)node->duration_ns /
						 (is_arithmetic ? factors.flops : factors.bytes)),
				      ORIGIN_SCALED);
	}
}

/* How much of the time that another device changes is of operations whose work is known. */
static gdouble known_share(const struct device_edit *edit, struct rates rates)
{
	gdouble known_ns = 0, all_ns = 0;

	FOR_EACH_AT(const struct graph_node, node, i, edit->graph->nodes) {
		if (!is_scaled(edit, node))
			continue;
		all_ns += (gdouble)node->duration_ns;
		if (edit->op_of[i] != TACHO_NONE && !is_view(edit, edit->op_of[i], rates))
			known_ns += (gdouble)node->duration_ns;
	}
	return all_ns > 0 ? known_ns / all_ns : 0;
}

/* Scale, where enough is known. */
static gboolean change_rates_of(struct device_edit *edit, struct rates factors,
				const struct change *change, GError **error)
{
	struct rates rates = { 0, 0 };
	gdouble share;

	if (find_works(edit))
		rates = recorded_rates(edit);
	if (rates.bytes <= 0)
		return change_refuse(error, change,
				     "no operation of 10 us or more has shapes and a formula for "
				     "what it computes");
	share = known_share(edit, rates);
	if (share < MIN_KNOWN_SHARE)
		return change_refuse(
			error, change,
			"only %.0f %% of the time of %s is in operations with shapes and a formula",
			100 * share, edit->has_devices ? "devices" : "operations");
	graph_note(edit->graph,
		   "of the time of %s, %.0f %% has shapes and a formula and is played on another "
		   "device; the recorded device reached %.3g Gflop/s and %.3g GB/s",
		   edit->has_devices ? "devices" : "operations", 100 * share, rates.flops,
		   rates.bytes);
	scale_works(edit, rates, factors);
	return TRUE;
}

static gboolean change_rates(TachoGraph *graph, const struct change *change,
			     const struct rank_choice *ranks, GError **error)
{
	struct rates factors = { change->value.flops, change->value.bytes_moved };
	struct device_edit edit = { .graph = graph,
				    .ranks = ranks,
				    .has_devices = graph_has_devices(graph) };
	gboolean is_done;

	edit.op_of = g_new(guint32, MAX(graph->nodes->len, 1u));
	op_works_init(&edit.works, graph->timeline);
	edit.callers = g_hash_table_new(NULL, NULL);
	edit.names = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	is_done = change_rates_of(&edit, factors, change, error);
	g_hash_table_unref(edit.names);
	g_hash_table_unref(edit.callers);
	op_works_release(&edit.works);
	g_free(edit.op_of);
	return is_done;
}

/* --- the change ------------------------------------------------------------------------------- */

static gboolean parse_factors(struct change *change, const gchar *text)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);

	change->value.flops = change->value.bytes_moved = 1;
	for (guint i = 0; words[i]; i++) {
		gdouble *factor = g_str_has_prefix(words[i], "flops:") ? &change->value.flops
				  : g_str_has_prefix(words[i], "bytes:")
					  ? &change->value.bytes_moved
					  : NULL;

		if (!factor || !quantity_parse_factor(words[i] + strlen("flops:"), factor) ||
		    *factor <= 0)
			return FALSE;
		if (i > 0 && strncmp(words[i], words[0], strlen("flops:")) == 0)
			return FALSE; /* twice the same */
	}
	return words[0] != NULL;
}

/* "equal", or a file. */
static gboolean parse_efficiency(struct change *change, const gchar *text)
{
	if (change->efficiencies_path || change->efficiencies.rows || !*text)
		return FALSE;
	if (strcmp(text, "equal") == 0)
		kernel_efficiencies_init_equal(&change->efficiencies);
	else
		change->efficiencies_path = g_strdup(text);
	return TRUE;
}

/* One of "host:F", "library:F" and "efficiency:FILE", each of which stands once at most. */
static gboolean parse_option(struct change *change, const gchar *word)
{
	gboolean is_host = g_str_has_prefix(word, "host:");
	gdouble *factor = is_host ? &change->value.host : &change->value.library;

	if (g_str_has_prefix(word, "efficiency:"))
		return parse_efficiency(change, word + strlen("efficiency:"));
	if ((!is_host && !g_str_has_prefix(word, "library:")) || *factor > 0)
		return FALSE;
	return quantity_parse_factor(strchr(word, ':') + 1, factor) && *factor > 0;
}

static gboolean parse_options(struct change *change, gchar **words, GError **error)
{
	for (guint i = 0; words[i]; i++)
		if (!parse_option(change, words[i]))
			return change_refuse(
				error, change,
				"behind device=NAME there may be host:F, library:F and "
				"efficiency:FILE or efficiency:equal, each once, "
				"between commas, with F as "
				"0.5 or 2x, more than 0, up to 1000000x");
	if (change->value.host <= 0)
		change->value.host = 1;
	if (change->value.library <= 0)
		change->value.library = 1;
	return TRUE;
}

/* NAME or NAME:RECORDED, and options. */
static gboolean parse_names(struct change *change, const gchar *text, GError **error)
{
	g_auto(GStrv) words = g_strsplit(text, ",", -1);
	g_auto(GStrv) names = g_strsplit(words[0] ? words[0] : "", ":", -1);

	if (g_strv_length(names) < 1 || g_strv_length(names) > 2 || !*names[0])
		return change_refuse(error, change,
				     "write device=flops:F,bytes:F, or one of the two, or "
				     "device=NAME, or device=NAME:RECORDED");
	if (!parse_options(change, words + 1, error))
		return FALSE;
	change->name = g_strdup(names[0]);
	change->recorded = g_strdup(names[1]);
	return change_check_device(change, change->name, error) &&
	       (!names[1] || change_check_device(change, names[1], error));
}

gboolean parse_device(struct change *change, const gchar *text, GError **error)
{
	if (!g_str_has_prefix(text, "flops:") && !g_str_has_prefix(text, "bytes:"))
		return parse_names(change, text, error);
	return parse_factors(change, text) ||
	       change_refuse(error, change,
			     "write device=flops:F,bytes:F, or one of the two, or device=NAME, "
			     "with F as 0.5 or 2x, more than 0, up to 1000000x");
}

gboolean parse_device_of_ranks(struct change *change, const gchar *text, GError **error)
{
	if (!g_ascii_isdigit(*text))
		return change_refuse(error, change, "write device:RANKS=NAME, as in device:4-7=T4");
	return change_parse_ranks(change, &text, "=", error) && parse_device(change, text, error);
}

gboolean apply_device(TachoGraph *graph, const struct change *change, GError **error)
{
	struct rank_choice ranks;
	gboolean is_done = rank_choice_init(&ranks, graph, change, error);

	if (is_done && change->name)
		is_done = change_to_named_device(graph, change, &ranks, error);
	else if (is_done)
		is_done = rank_choice_split(&ranks, graph, change, error) &&
			  change_rates(graph, change, &ranks, error);
	rank_choice_release(&ranks);
	return is_done;
}
