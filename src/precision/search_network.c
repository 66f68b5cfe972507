#include "precision/search_network.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"

/* Combinations that the removal of one operation may look at. Source: a rule: blocks of transformers need some hundreds. If wrong,
 * operations are held and the plan is not proven to be the fastest, which is said. */
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

/* Sets of formats that the first readers of a tensor that is cast once can want, bits of formats. */
struct wanted_sets {
	guint32 variable; /* in the elimination */
	guint n;	  /* 0: there are no readers */
	guint8 sets[1 << N_NUMBER_FORMATS];
};

struct _SearchNetwork {
	const TachoPrecisionProblem *problem;
	guint32 worker;
	Elimination *elimination;
	struct network_variable *variables; /* [n_operations]; of one tie the same */
	struct wanted_sets **sets; /* [n_tensors] of all readers; NULL: each casts for itself */
	GArray *tables;		   /* struct network_table */
	GArray *n_values;	   /* guint, of each of the elimination's variables */
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

/* What operations that follow read: the producers of each, guint32; NULL: it does not follow, or reads nothing. */
static GArray **producers_of_followers(const TachoPrecisionProblem *problem)
{
	GArray **producers = g_new0(GArray *, problem->n_operations);

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
	return producers;
}

/* Formats in which a producer's results can be stored, as bits. */
static guint stored_formats(const SearchNetwork *network, guint32 producer)
{
	const struct network_variable *variable = &network->variables[producer];
	guint stored = 0;

	for (guint i = 0; i < variable->n_formats; i++)
		stored |= 1u << network->problem->operations[producer].result[variable->formats[i]];
	return stored;
}

/* What promotions of a format of `before` (0: there is none yet) and one of `read` come to, as bits. */
static guint promoted_formats(guint before, guint read)
{
	guint after = 0;

	for (guint i = 0; i < N_NUMBER_FORMATS && before; i++)
		for (guint j = 0; j < N_NUMBER_FORMATS && before & 1u << i; j++)
			if (read & 1u << j)
				after |= 1u << number_format_promote((enum number_format)i,
								     (enum number_format)j);
	return before ? after : read;
}

/* Formats that an operation can have, on this worker and by what it reads. */
static guint reachable_formats(const SearchNetwork *network, guint32 operation,
			       const GArray *producers)
{
	guint allowed = search_formats(network->problem, network->worker, operation), read = 0;

	if (!producers)
		return allowed;
	FOR_EACH(const guint32, producer, producers)
		read = promoted_formats(read, stored_formats(network, *producer));
	return allowed & read;
}

static void add_operations(SearchNetwork *network, GArray *const *producers)
{
	const TachoPrecisionProblem *problem = network->problem;
	g_autoptr(GHashTable) ties = g_hash_table_new(NULL, NULL); /* tie + 1 -> allowed */
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
					      : reachable_formats(network, i, producers[i]));
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
	guint bits; /* the same formats */
};

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
		after = (struct promotion){ 0 };
		after.bits = promoted_formats(before.bits, stored_formats(network, *producer));
		for (guint f = 0; f < N_NUMBER_FORMATS; f++)
			if (after.bits & 1u << f)
				after.formats[after.n++] = (guint8)f;
		after.variable = add_variable(network, after.n, TRUE);
		constrain(network, i ? &before : NULL, *producer, after.variable, after.formats);
		before = after;
	}
}

/* What a reader wants, as a bit. */
static guint want_of(const SearchNetwork *network, guint32 reader, guint value)
{
	return 1u << number_format_input(format_at(network, reader, value));
}

/* The sets that the first readers can want, from those of the readers before (n 0: there are none) and what this one can. */
static struct wanted_sets join_sets(const SearchNetwork *network, const struct wanted_sets *before,
				    guint32 reader)
{
	struct wanted_sets after = { 0 };
	gboolean has[1 << N_NUMBER_FORMATS] = { FALSE };

	for (guint i = 0; i < MAX(before->n, 1); i++)
		for (guint j = 0; j < network->variables[reader].n_formats; j++)
			has[(before->n ? before->sets[i] : 0) | want_of(network, reader, j)] = TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(has); i++)
		if (has[i])
			after.sets[after.n++] = (guint8)i;
	return after;
}

/* The set that the first readers want is that of those before, and what this one wants. */
static void chain(SearchNetwork *network, const struct wanted_sets *before, guint32 reader,
		  const struct wanted_sets *after)
{
	guint32 wanted[3];
	guint n = 0, values[3];
	guint32 table;
	gsize n_entries;
	gdouble *entries;

	if (before->n)
		wanted[n++] = before->variable;
	wanted[n++] = network->variables[reader].number;
	wanted[n++] = after->variable;
	table = add_table(network, wanted, n);
	entries = elimination_table(network->elimination, table, &n_entries);
	for (gsize i = 0; i < n_entries; i++) {
		guint set;

		values_at(network, wanted, n, i, values);
		set = want_of(network, reader, values[n - 2]);
		if (before->n)
			set |= before->sets[values[0]];
		entries[i] = after->sets[values[n - 1]] == set ? 0 : INFINITY;
	}
}

static void add_shared(SearchNetwork *network, guint32 number)
{
	const TachoPrecisionProblem *problem = network->problem;
	const struct precision_tensor *tensor = &problem->tensors[number];
	struct wanted_sets before = { 0 };
	guint32 wanted[2];

	for (guint32 e = 0; e < tensor->n_edges; e++) {
		const struct precision_edge *edge = &problem->edges[tensor->first_edge + e];
		struct wanted_sets after;

		if (edge->is_free) /* it wants no cast */
			continue;
		after = join_sets(network, &before, edge->consumer);
		after.variable = add_variable(network, after.n, TRUE);
		chain(network, &before, edge->consumer, &after);
		before = after;
	}
	if (before.n == 0)
		return;
	network->sets[number] = g_memdup2(&before, sizeof(before));
	wanted[0] = network->variables[tensor->producer].number;
	wanted[1] = before.variable;
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
	g_autofree GArray **producers = producers_of_followers(problem);

	network->problem = problem;
	network->worker = worker;
	network->elimination = elimination_new(MAX_ENTRIES);
	network->variables = g_new0(struct network_variable, problem->n_operations);
	network->sets = g_new0(struct wanted_sets *, MAX(problem->n_tensors, 1));
	network->tables = g_array_new(FALSE, FALSE, sizeof(struct network_table));
	network->n_values = g_array_new(FALSE, FALSE, sizeof(guint));
	add_operations(network, producers);
	if (!network->is_impossible) {
		for (guint32 i = 0; i < problem->n_operations; i++) {
			guint32 variable = network->variables[i].number;

			note_table(network, TABLE_OPERATION, add_table(network, &variable, 1), i,
				   0);
		}
		add_tensors(network);
	}
	for (guint32 i = 0; i < problem->n_operations; i++) {
		if (!producers[i])
			continue;
		if (!network->is_impossible)
			add_follower(network, i, producers[i]);
		g_array_unref(producers[i]);
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
	for (guint32 t = 0; t < network->problem->n_tensors; t++)
		g_free(network->sets[t]);
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
			   guint32 tensor, enum number_format stored, guint value)
{
	const struct precision_cast *cast =
		&network->problem->workers[network->worker].casts[tensor];
	guint set = network->sets[tensor]->sets[value];
	gdouble sum = 0;

	for (guint i = 0; i < N_NUMBER_FORMATS; i++)
		if (set & 1u << i && i != stored)
			sum += (gdouble)cast->forward_ns[stored][i];
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
		wanted[1] = network->sets[table->tensor]->variable;
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
