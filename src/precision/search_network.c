#include "precision/search_network.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"

/* Combinations that the removal of one operation may look at. Source: a rule: blocks of transformers and residual networks need less than a
 * thousandth. If wrong, operations are held and the plan is not proven to be the fastest, which is said. */
#define MAX_ENTRIES (1u << 17)

/* What a table's entries mean, to be filled in with weights. */
enum table_kind {
	TABLE_OPERATION, /* of one operation */
	TABLE_EDGE,	 /* of a tensor's producer and one reader: what is not shared */
	TABLE_SHARED,	 /* of a producer and the set of formats that all readers want */
};

struct network_table {
	enum table_kind kind;
	guint32 table;	/* in the elimination */
	guint32 number; /* operation, edge or tensor */
	guint32 tensor;
};

/* What an operation's variable has for values. */
struct network_variable {
	guint32 number; /* in the elimination */
	guint8 n_formats;
	guint8 formats[N_NUMBER_FORMATS];
};

/* Sets of formats that the readers of a tensor that is cast once can want; a bit for each of them. */
struct wanted_sets {
	guint32 variable; /* of the set that all want */
	guint8 n_inputs, inputs[N_NUMBER_FORMATS];
};

struct _SearchNetwork {
	const TachoPrecisionProblem *problem;
	guint32 worker;
	Elimination *elimination;
	struct network_variable *variables; /* [n_operations]; of one tie the same */
	struct wanted_sets *sets;	    /* [n_tensors] */
	GArray *tables;			    /* struct network_table */
	GArray *n_values;		    /* guint, of each of the elimination's variables */
	guint8 *values;
	gboolean is_impossible;
};

guint search_formats(const TachoPrecisionProblem *problem, guint32 worker, guint32 operation)
{
	const struct precision_operation *facts = &problem->operations[operation];
	guint allowed = 0;

	for (guint i = 0; i < N_NUMBER_FORMATS; i++)
		if (precision_cost_of(problem, worker, operation, (enum number_format)i)
			    ->is_allowed &&
		    (facts->rule != PRECISION_CHOSEN || isfinite(facts->harm[i])))
			allowed |= 1u << i;
	if (facts->rule == PRECISION_CHOSEN && !facts->has_harm && allowed & 1u << facts->recorded)
		allowed = 1u << facts->recorded;
	return allowed;
}

/* --- variables ---------------------------------------------------------------------------------- */

static guint32 add_variable(SearchNetwork *network, guint n_values, gboolean follows)
{
	g_array_append_val(network->n_values, n_values);
	return elimination_add_variable(network->elimination, n_values, follows);
}

static void set_formats(struct network_variable *variable, guint allowed)
{
	variable->n_formats = 0;
	for (guint i = 0; i < N_NUMBER_FORMATS; i++)
		if (allowed & 1u << i)
			variable->formats[variable->n_formats++] = (guint8)i;
}

static void add_operations(SearchNetwork *network)
{
	const TachoPrecisionProblem *problem = network->problem;
	g_autoptr(GHashTable) ties = g_hash_table_new(NULL, NULL); /* tie + 1 -> allowed + 1 */
	g_autoptr(GHashTable) numbers = g_hash_table_new(NULL, NULL);

	for (guint32 i = 0; i < problem->n_operations; i++) {
		gpointer tie = GSIZE_TO_POINTER((gsize)problem->operations[i].tie + 1);
		guint allowed = search_formats(problem, network->worker, i);

		if (problem->operations[i].tie == G_MAXUINT32)
			continue;
		if (g_hash_table_contains(ties, tie))
			allowed &= GPOINTER_TO_UINT(g_hash_table_lookup(ties, tie));
		g_hash_table_insert(ties, tie, GUINT_TO_POINTER(allowed));
	}
	for (guint32 i = 0; i < problem->n_operations; i++) {
		struct network_variable *variable = &network->variables[i];
		gpointer tie = GSIZE_TO_POINTER((gsize)problem->operations[i].tie + 1);
		gboolean is_tied = problem->operations[i].tie != G_MAXUINT32;

		set_formats(variable, is_tied ? GPOINTER_TO_UINT(g_hash_table_lookup(ties, tie))
					      : search_formats(problem, network->worker, i));
		if (variable->n_formats == 0) {
			network->is_impossible = TRUE;
			return;
		}
		if (is_tied && g_hash_table_contains(numbers, tie)) {
			variable->number = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, tie));
			continue;
		}
		variable->number = add_variable(network, variable->n_formats,
						problem->operations[i].rule != PRECISION_CHOSEN);
		if (is_tied)
			g_hash_table_insert(numbers, tie, GUINT_TO_POINTER(variable->number));
	}
}

/* The format that the operation has at a value of its variable. */
static enum number_format format_at(const SearchNetwork *network, guint32 operation, guint value)
{
	return (enum number_format)network->variables[operation].formats[value];
}

/* --- tables ------------------------------------------------------------------------------------- */

/* A table over up to three variables, of which some may be the same. */
static guint32 add_table(SearchNetwork *network, const guint32 *wanted, guint n)
{
	guint32 variables[3];
	guint n_variables = 0;

	for (guint i = 0; i < n; i++) {
		guint at = 0;

		while (at < n_variables && variables[at] != wanted[i])
			at++;
		if (at == n_variables)
			variables[n_variables++] = wanted[i];
	}
	return elimination_add_table(network->elimination, variables, n_variables);
}

static void note_table(SearchNetwork *network, enum table_kind kind, guint32 table, guint32 number,
		       guint32 tensor)
{
	struct network_table noted = { kind, table, number, tensor };

	g_array_append_val(network->tables, noted);
}

/* The values that `wanted` have at an entry of a table of them: as add_table() made it. */
static void values_at(const SearchNetwork *network, const guint32 *wanted, guint n, gsize entry,
		      guint *values)
{
	guint32 variables[3];
	guint of[3], n_variables = 0;

	for (guint i = 0; i < n; i++) {
		guint at = 0;

		while (at < n_variables && variables[at] != wanted[i])
			at++;
		of[i] = at;
		if (at == n_variables)
			variables[n_variables++] = wanted[i];
	}
	for (guint i = n_variables; i-- > 0;) {
		guint n_values = g_array_index(network->n_values, guint, variables[i]);

		for (guint j = 0; j < n; j++)
			if (of[j] == i)
				values[j] = (guint)(entry % n_values);
		entry /= n_values;
	}
}

/* Operations that follow: their format is that of what they read, promoted from one input to the next. */
struct promotion {
	guint32 variable; /* of the format so far */
	guint8 n, formats[N_NUMBER_FORMATS];
};

/* Say which formats a promotion can come to when `producer` is read, too; NULL before the first. */
static void promote(const SearchNetwork *network, const struct promotion *before, guint32 producer,
		    struct promotion *after)
{
	const struct network_variable *variable = &network->variables[producer];
	guint seen = 0;

	after->n = 0;
	for (guint i = 0; i < variable->n_formats; i++)
		for (guint j = 0; j < (before ? before->n : 1); j++) {
			enum number_format read =
				(enum number_format)network->problem->operations[producer]
					.result[variable->formats[i]];

			if (before)
				read = number_format_promote((enum number_format)before->formats[j],
							     read);
			seen |= 1u << read;
		}
	for (guint i = 0; i < N_NUMBER_FORMATS; i++)
		if (seen & 1u << i)
			after->formats[after->n++] = (guint8)i;
}

/* Forbid all but what follows. `formats` are those of the values of the last variable. */
static void constrain(SearchNetwork *network, const struct promotion *before, guint32 producer,
		      guint32 variable, const guint8 *formats)
{
	guint32 wanted[3];
	guint n = 0, values[3];
	guint32 table;
	gsize n_entries;
	gdouble *entries;

	if (before)
		wanted[n++] = before->variable;
	wanted[n++] = network->variables[producer].number;
	wanted[n++] = variable;
	table = add_table(network, wanted, n);
	entries = elimination_table(network->elimination, table, &n_entries);
	for (gsize i = 0; i < n_entries; i++) {
		enum number_format read;

		values_at(network, wanted, n, i, values);
		read = (enum number_format)network->problem->operations[producer]
			       .result[format_at(network, producer, values[n - 2])];
		if (before)
			read = number_format_promote((enum number_format)before->formats[values[0]],
						     read);
		entries[i] = formats[values[n - 1]] == read ? 0 : INFINITY;
	}
}

static void add_follower(SearchNetwork *network, guint32 operation, const GArray *producers)
{
	struct promotion before = { 0 }, after;

	FOR_EACH_AT(const guint32, producer, i, producers) {
		if (i + 1 == producers->len) {
			constrain(network, i ? &before : NULL, *producer,
				  network->variables[operation].number,
				  network->variables[operation].formats);
			return;
		}
		promote(network, i ? &before : NULL, *producer, &after);
		after.variable = add_variable(network, after.n, TRUE);
		constrain(network, i ? &before : NULL, *producer, after.variable, after.formats);
		before = after;
	}
}

/* Each follower with the producers of what it reads. */
static void add_followers(SearchNetwork *network)
{
	const TachoPrecisionProblem *problem = network->problem;
	g_autofree GArray **producers = g_new0(GArray *, problem->n_operations);

	for (guint32 t = 0; t < problem->n_tensors; t++) {
		const struct precision_tensor *tensor = &problem->tensors[t];

		for (guint32 e = 0; e < tensor->n_edges; e++) {
			guint32 consumer = problem->edges[tensor->first_edge + e].consumer;

			if (problem->operations[consumer].rule != PRECISION_PROMOTED)
				continue;
			if (!producers[consumer])
				producers[consumer] = g_array_new(FALSE, FALSE, sizeof(guint32));
			g_array_append_val(producers[consumer], tensor->producer);
		}
	}
	for (guint32 i = 0; i < problem->n_operations; i++)
		if (producers[i]) {
			add_follower(network, i, producers[i]);
			g_array_unref(producers[i]);
		}
}

/* The bit of what a reader wants among the inputs of a tensor. */
static guint want_of(const struct wanted_sets *sets, enum number_format format)
{
	guint i = 0;

	while (sets->inputs[i] != number_format_input(format))
		i++;
	return 1u << i;
}

/* The set that the first readers want is that of those before, and what this one wants. */
static void chain(SearchNetwork *network, const struct wanted_sets *sets, guint32 before,
		  guint32 reader, guint32 after)
{
	guint32 wanted[3];
	guint n = 0, values[3];
	guint32 table;
	gsize n_entries;
	gdouble *entries;

	if (before != G_MAXUINT32)
		wanted[n++] = before;
	wanted[n++] = network->variables[reader].number;
	wanted[n++] = after;
	table = add_table(network, wanted, n);
	entries = elimination_table(network->elimination, table, &n_entries);
	for (gsize i = 0; i < n_entries; i++) {
		guint set;

		values_at(network, wanted, n, i, values);
		set = want_of(sets, format_at(network, reader, values[n - 2]));
		if (before != G_MAXUINT32)
			set |= values[0];
		entries[i] = values[n - 1] == set ? 0 : INFINITY;
	}
}

static void add_shared(SearchNetwork *network, guint32 number)
{
	const TachoPrecisionProblem *problem = network->problem;
	const struct precision_tensor *tensor = &problem->tensors[number];
	struct wanted_sets *sets = &network->sets[number];
	guint32 before = G_MAXUINT32, wanted[2];
	guint seen = 0;

	for (guint32 e = 0; e < tensor->n_edges; e++) {
		const struct network_variable *reader =
			&network->variables[problem->edges[tensor->first_edge + e].consumer];

		for (guint i = 0; i < reader->n_formats; i++)
			seen |= 1u << number_format_input((enum number_format)reader->formats[i]);
	}
	for (guint i = 0; i < N_NUMBER_FORMATS; i++)
		if (seen & 1u << i)
			sets->inputs[sets->n_inputs++] = (guint8)i;
	for (guint32 e = 0; e < tensor->n_edges; e++) {
		const struct precision_edge *edge = &problem->edges[tensor->first_edge + e];
		guint32 after;

		if (edge->is_free) /* it wants no cast */
			continue;
		after = add_variable(network, 1u << sets->n_inputs, TRUE);
		chain(network, sets, before, edge->consumer, after);
		before = after;
	}
	if (before == G_MAXUINT32)
		return;
	sets->variable = before;
	wanted[0] = network->variables[tensor->producer].number;
	wanted[1] = before;
	note_table(network, TABLE_SHARED, add_table(network, wanted, 2), number, number);
}

static void add_tensors(SearchNetwork *network)
{
	const TachoPrecisionProblem *problem = network->problem;

	for (guint32 t = 0; t < problem->n_tensors; t++) {
		const struct precision_tensor *tensor = &problem->tensors[t];
		guint32 wanted[2] = { network->variables[tensor->producer].number };

		for (guint32 e = 0; e < tensor->n_edges; e++) {
			guint32 edge = tensor->first_edge + e;

			wanted[1] = network->variables[problem->edges[edge].consumer].number;
			note_table(network, TABLE_EDGE, add_table(network, wanted, 2), edge, t);
		}
		if (tensor->is_cast_once && tensor->n_edges > 1)
			add_shared(network, t);
	}
}

SearchNetwork *search_network_new(const TachoPrecisionProblem *problem, guint32 worker)
{
	SearchNetwork *network = g_new0(SearchNetwork, 1);

	network->problem = problem;
	network->worker = worker;
	network->elimination = elimination_new(MAX_ENTRIES);
	network->variables = g_new0(struct network_variable, problem->n_operations);
	network->sets = g_new0(struct wanted_sets, MAX(problem->n_tensors, 1));
	network->tables = g_array_new(FALSE, FALSE, sizeof(struct network_table));
	network->n_values = g_array_new(FALSE, FALSE, sizeof(guint));
	add_operations(network);
	if (!network->is_impossible) {
		for (guint32 i = 0; i < problem->n_operations; i++) {
			guint32 variable = network->variables[i].number;

			note_table(network, TABLE_OPERATION, add_table(network, &variable, 1), i,
				   0);
		}
		add_tensors(network);
		add_followers(network);
	}
	network->values = g_new0(guint8, MAX(network->n_values->len, 1));
	return network;
}

void search_network_free(SearchNetwork *network)
{
	if (!network)
		return;
	elimination_free(network->elimination);
	g_free(network->variables);
	g_free(network->sets);
	g_free(network->values);
	g_array_unref(network->tables);
	g_array_unref(network->n_values);
	g_free(network);
}

/* --- weights ------------------------------------------------------------------------------------ */

static gdouble operation_cost(const SearchNetwork *network, const struct search_weights *weights,
			      guint32 operation, enum number_format format)
{
	const TachoPrecisionProblem *problem = network->problem;
	const struct precision_cost *cost =
		precision_cost_of(problem, network->worker, operation, format);
	const struct precision_operation *facts = &problem->operations[operation];
	gdouble sum = weights->time * (cost->forward_ns + cost->backward_ns) +
		      weights->bytes * cost->saved_bytes;

	if (facts->rule == PRECISION_CHOSEN && facts->has_harm)
		sum += weights->harm * problem->workers[network->worker].share *
		       facts->harm[format];
	return sum;
}

/* What one reader costs: its cast, unless it is shared; the cast of its gradient; and what it keeps. */
static gdouble edge_cost(const SearchNetwork *network, const struct search_weights *weights,
			 const struct network_table *table, enum number_format stored,
			 enum number_format format)
{
	const TachoPrecisionProblem *problem = network->problem;
	const struct precision_worker *worker = &problem->workers[network->worker];
	const struct precision_tensor *tensor = &problem->tensors[table->tensor];
	const struct precision_edge *edge = &problem->edges[table->number];
	const struct precision_cast *cast = &worker->casts[table->tensor];
	enum number_format input = number_format_input(format);
	gboolean is_shared = tensor->is_cast_once && tensor->n_edges > 1;
	gdouble sum = 0, n_savers = 0;

	if (stored != input && !edge->is_free) {
		sum += weights->time * cast->backward_ns[stored][input];
		if (!is_shared)
			sum += weights->time * cast->forward_ns[stored][input];
	}
	if (!edge->is_saved || weights->bytes == 0)
		return sum;
	/* readers that keep the tensor as it is keep it together */
	for (guint32 e = 0; e < tensor->n_edges; e++)
		n_savers += problem->edges[tensor->first_edge + e].is_saved != 0;
	return sum + weights->bytes * worker->tensor_elements[table->tensor] *
			     number_format_bytes(input) /
			     (stored == input || is_shared ? n_savers : 1);
}

static gdouble shared_cost(const SearchNetwork *network, const struct search_weights *weights,
			   guint32 tensor, enum number_format stored, guint set)
{
	const struct precision_cast *cast =
		&network->problem->workers[network->worker].casts[tensor];
	const struct wanted_sets *sets = &network->sets[tensor];
	gdouble sum = 0;

	for (guint i = 0; i < sets->n_inputs; i++)
		if (set & 1u << i && sets->inputs[i] != stored)
			sum += cast->forward_ns[stored][sets->inputs[i]];
	return weights->time * sum;
}

static void fill(SearchNetwork *network, const struct search_weights *weights,
		 const struct network_table *table)
{
	const TachoPrecisionProblem *problem = network->problem;
	guint32 producer = problem->n_tensors ? problem->tensors[table->tensor].producer : 0;
	guint32 wanted[2] = { network->variables[producer].number };
	gsize n_entries;
	gdouble *entries = elimination_table(network->elimination, table->table, &n_entries);
	guint32 consumer = 0;

	if (table->kind == TABLE_OPERATION) {
		for (gsize i = 0; i < n_entries; i++)
			entries[i] = operation_cost(network, weights, table->number,
						    format_at(network, table->number, (guint)i));
		return;
	}
	if (table->kind == TABLE_EDGE) {
		consumer = problem->edges[table->number].consumer;
		wanted[1] = network->variables[consumer].number;
	} else {
		wanted[1] = network->sets[table->tensor].variable;
	}
	for (gsize i = 0; i < n_entries; i++) {
		enum number_format stored;
		guint values[2];

		values_at(network, wanted, 2, i, values);
		stored = (enum number_format)problem->operations[producer]
				 .result[format_at(network, producer, values[0])];
		entries[i] =
			table->kind == TABLE_EDGE
				? edge_cost(network, weights, table, stored,
					    format_at(network, consumer, values[1]))
				: shared_cost(network, weights, table->tensor, stored, values[1]);
	}
}

static guint value_of(const struct network_variable *variable, guint8 format)
{
	for (guint i = 0; i < variable->n_formats; i++)
		if (variable->formats[i] == format)
			return i;
	return 0;
}

gboolean search_network_solve(SearchNetwork *network, const struct search_weights *weights,
			      guint8 *plan, struct elimination_result *result)
{
	const TachoPrecisionProblem *problem = network->problem;

	*result = (struct elimination_result){ .cost = INFINITY };
	if (network->is_impossible)
		return FALSE;
	FOR_EACH(const struct network_table, table, network->tables)
		fill(network, weights, table);
	for (guint32 i = 0; i < problem->n_operations; i++)
		network->values[network->variables[i].number] =
			(guint8)value_of(&network->variables[i], plan[i]);
	elimination_solve(network->elimination, network->values, result);
	if (!isfinite(result->cost))
		return FALSE;
	for (guint32 i = 0; i < problem->n_operations; i++)
		plan[i] = (guint8)format_at(network, i,
					    network->values[network->variables[i].number]);
	return TRUE;
}
