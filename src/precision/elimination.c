#include "precision/elimination.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"

#define NOT_HELD -1
/* Rounds without gain after which the local search ends. Source: a rule: a round holds other variables each time. If wrong, better values
 * are missed, or time is lost. */
#define MAX_IDLE_ROUNDS 8
#define MAX_ROUNDS	64

/* Variables in ascending order, and an entry for each combination of their values. */
struct table {
	guint32 *variables;
	guint n;
	gdouble *entries;
	gsize n_entries;
};

/* A variable that was taken out: the best value for each combination of the variables that stood with it. */
struct choice {
	guint32 variable;
	guint32 *variables;
	guint n;
	guint8 *best;
};

/* The order in which variables are taken out, and which are held instead. */
struct order {
	GArray *variables; /* guint32 */
	guint8 *is_held;
	guint32 n_held;
};

struct _Elimination {
	guint64 max_entries;
	GArray *n_values; /* guint8 */
	GArray *follows;  /* guint8 */
	GArray *tables;	  /* struct table */
	struct order order;
	gboolean has_order;
	guint32 n_tables_ordered;
	gboolean is_exact; /* of the order: nothing is held */
	guint *n_times_held;
};

static void table_release(gpointer data)
{
	struct table *table = data;

	g_free(table->variables);
	g_free(table->entries);
}

static void order_release(struct order *order)
{
	g_clear_pointer(&order->variables, g_array_unref);
	g_clear_pointer(&order->is_held, g_free);
	order->n_held = 0;
}

Elimination *elimination_new(guint64 max_entries)
{
	Elimination *elimination = g_new0(Elimination, 1);

	elimination->max_entries = MAX(max_entries, 1);
	elimination->n_values = g_array_new(FALSE, FALSE, sizeof(guint8));
	elimination->follows = g_array_new(FALSE, FALSE, sizeof(guint8));
	elimination->tables = g_array_new(FALSE, FALSE, sizeof(struct table));
	g_array_set_clear_func(elimination->tables, table_release);
	return elimination;
}

void elimination_free(Elimination *elimination)
{
	if (!elimination)
		return;
	g_array_unref(elimination->n_values);
	g_array_unref(elimination->follows);
	g_array_unref(elimination->tables);
	order_release(&elimination->order);
	g_free(elimination->n_times_held);
	g_free(elimination);
}

guint32 elimination_add_variable(Elimination *elimination, guint n_values, gboolean follows)
{
	guint8 n = (guint8)n_values, is_derived = follows != FALSE;

	g_assert(n_values >= 1 && n_values <= ELIMINATION_MAX_VALUES);
	g_array_append_val(elimination->n_values, n);
	g_array_append_val(elimination->follows, is_derived);
	return elimination->n_values->len - 1;
}

static guint n_values_of(const Elimination *elimination, guint32 variable)
{
	return g_array_index(elimination->n_values, guint8, variable);
}

guint32 elimination_add_table(Elimination *elimination, const guint32 *variables, guint n)
{
	struct table table = { .n = n, .n_entries = 1 };

	table.variables = g_memdup2(variables, n * sizeof(*variables));
	for (guint i = 0; i < n; i++)
		table.n_entries *= n_values_of(elimination, variables[i]);
	table.entries = g_new0(gdouble, table.n_entries);
	g_array_append_val(elimination->tables, table);
	return elimination->tables->len - 1;
}

gdouble *elimination_table(Elimination *elimination, guint32 table, gsize *ret_n)
{
	struct table *found = &g_array_index(elimination->tables, struct table, table);

	if (ret_n)
		*ret_n = found->n_entries;
	return found->entries;
}

gdouble elimination_cost(const Elimination *elimination, const guint8 *values)
{
	gdouble cost = 0;

	FOR_EACH(const struct table, table, elimination->tables) {
		gsize at = 0;

		for (guint i = 0; i < table->n; i++)
			at = at * n_values_of(elimination, table->variables[i]) +
			     values[table->variables[i]];
		cost += table->entries[at];
	}
	return cost;
}

/* --- the order ---------------------------------------------------------------------------------- */

/* Which variables stand together, as those that are left see it. */
struct neighbours {
	GArray **of; /* guint32, ascending */
	gdouble *
		weight; /* of the table that taking it out leaves and needs: the sum of the logarithms of numbers of values */
	guint8 *is_gone;
};

/* Put `variable` into a list in order, if it is not in it. */
static void insert(GArray *list, guint32 variable)
{
	guint at = 0;

	while (at < list->len && g_array_index(list, guint32, at) < variable)
		at++;
	if (at == list->len || g_array_index(list, guint32, at) != variable)
		g_array_insert_val(list, at, variable);
}

static void take_out_of(GArray *list, guint32 variable)
{
	for (guint i = 0; i < list->len; i++)
		if (g_array_index(list, guint32, i) == variable) {
			g_array_remove_index(list, i);
			return;
		}
}

static void weigh(const Elimination *elimination, struct neighbours *neighbours, guint32 variable)
{
	gdouble weight = log2(n_values_of(elimination, variable));

	FOR_EACH(const guint32, other, neighbours->of[variable])
		weight += log2(n_values_of(elimination, *other));
	neighbours->weight[variable] = weight;
}

static void neighbours_init(const Elimination *elimination, struct neighbours *neighbours)
{
	guint32 n = elimination->n_values->len;

	neighbours->of = g_new(GArray *, MAX(n, 1));
	neighbours->weight = g_new(gdouble, MAX(n, 1));
	neighbours->is_gone = g_new0(guint8, MAX(n, 1));
	for (guint32 i = 0; i < n; i++)
		neighbours->of[i] = g_array_new(FALSE, FALSE, sizeof(guint32));
	FOR_EACH(const struct table, table, elimination->tables)
		for (guint i = 0; i < table->n; i++)
			for (guint j = 0; j < table->n; j++)
				if (i != j)
					insert(neighbours->of[table->variables[i]],
					       table->variables[j]);
	for (guint32 i = 0; i < n; i++)
		weigh(elimination, neighbours, i);
}

static void neighbours_release(const Elimination *elimination, struct neighbours *neighbours)
{
	for (guint32 i = 0; i < elimination->n_values->len; i++)
		g_array_unref(neighbours->of[i]);
	g_free(neighbours->of);
	g_free(neighbours->weight);
	g_free(neighbours->is_gone);
}

/* Take the variable out. What stood with it stands together from now on, unless it is held. */
static void take_out(const Elimination *elimination, struct neighbours *neighbours,
		     guint32 variable, gboolean is_held)
{
	const GArray *around = neighbours->of[variable];

	neighbours->is_gone[variable] = TRUE;
	FOR_EACH(const guint32, one, around) {
		take_out_of(neighbours->of[*one], variable);
		if (is_held)
			continue;
		FOR_EACH(const guint32, other, around)
			if (*other != *one)
				insert(neighbours->of[*one], *other);
	}
	FOR_EACH(const guint32, one, around)
		weigh(elimination, neighbours, *one);
}

/* The variable that is left whose removal makes the smallest table. */
static guint32 lightest(const Elimination *elimination, const struct neighbours *neighbours)
{
	guint32 best = G_MAXUINT32;

	for (guint32 i = 0; i < elimination->n_values->len; i++)
		if (!neighbours->is_gone[i] &&
		    (best == G_MAXUINT32 || neighbours->weight[i] < neighbours->weight[best]))
			best = i;
	return best;
}

/* How gladly a variable is held instead of `best`: it does not follow from others, was held less often, stands with more. */
static gboolean is_rather_held(const Elimination *elimination, const struct neighbours *neighbours,
			       guint32 variable, guint32 best)
{
	const guint8 *follows = (const guint8 *)elimination->follows->data;
	const guint *times = elimination->n_times_held;

	if (follows[variable] != follows[best])
		return follows[variable] < follows[best];
	if (times[variable] != times[best])
		return times[variable] < times[best];
	return neighbours->of[variable]->len > neighbours->of[best]->len;
}

/* The one to be held next; one with a single value would make no table smaller. */
static guint32 most_tied(const Elimination *elimination, const struct neighbours *neighbours)
{
	guint32 best = G_MAXUINT32;

	for (guint32 i = 0; i < elimination->n_values->len; i++)
		if (!neighbours->is_gone[i] && n_values_of(elimination, i) > 1 &&
		    (best == G_MAXUINT32 || is_rather_held(elimination, neighbours, i, best)))
			best = i;
	return best;
}

static void find_order(Elimination *elimination)
{
	guint32 n = elimination->n_values->len;
	gdouble most = log2((gdouble)elimination->max_entries);
	struct neighbours neighbours;
	struct order *order = &elimination->order;

	order_release(order);
	order->variables = g_array_sized_new(FALSE, FALSE, sizeof(guint32), n);
	order->is_held = g_new0(guint8, MAX(n, 1));
	neighbours_init(elimination, &neighbours);
	for (guint32 left = n; left > 0; left--) {
		guint32 variable = lightest(elimination, &neighbours);
		gboolean is_held = neighbours.weight[variable] > most;

		if (is_held) {
			variable = most_tied(elimination, &neighbours);
			order->is_held[variable] = TRUE;
			order->n_held++;
			elimination->n_times_held[variable]++;
		} else {
			g_array_append_val(order->variables, variable);
		}
		take_out(elimination, &neighbours, variable, is_held);
	}
	neighbours_release(elimination, &neighbours);
}

/* --- one pass over an order ---------------------------------------------------------------------- */

/* Tables as variables are taken out. */
struct pass {
	const Elimination *elimination;
	const struct order *order;
	GPtrArray *tables;  /* struct table; NULL where one has become part of another */
	GArray **tables_of; /* guint32 for each variable: tables that it stands in */
	GArray *choices;    /* struct choice */
	gdouble cost;	    /* of what has no variables left */
	struct elimination_result *result;
};

static void table_free(gpointer data)
{
	if (data)
		table_release(data);
	g_free(data);
}

static void choice_release(gpointer data)
{
	struct choice *choice = data;

	g_free(choice->variables);
	g_free(choice->best);
}

static void add(struct pass *pass, struct table *table)
{
	guint32 number = pass->tables->len;

	if (table->n == 0) {
		pass->cost += table->entries[0];
		table_free(table);
		return;
	}
	g_ptr_array_add(pass->tables, table);
	for (guint i = 0; i < table->n; i++)
		g_array_append_val(pass->tables_of[table->variables[i]], number);
}

/* Go on to the next combination of the values of `n` variables, and with it to the entries of tables whose strides are given; FALSE: it was
 * the last one. `digits` are the values, `strides[t * n + i]` the stride of variable i in table t, 0 where it is not in it. */
static gboolean next_combination(guint8 *digits, const guint *n_values, guint n, gsize *at,
				 const gsize *strides, guint n_tables)
{
	for (guint i = n; i-- > 0;) {
		if (++digits[i] < n_values[i]) {
			for (guint t = 0; t < n_tables; t++)
				at[t] += strides[t * n + i];
			return TRUE;
		}
		for (guint t = 0; t < n_tables; t++)
			at[t] -= strides[t * n + i] * (n_values[i] - 1);
		digits[i] = 0;
	}
	return FALSE;
}

/* The stride of each of `variables` in the table. */
static void find_strides(const Elimination *elimination, const struct table *table,
			 const guint32 *variables, guint n, gsize *strides)
{
	gsize stride = 1;

	memset(strides, 0, n * sizeof(*strides));
	for (guint i = table->n; i-- > 0;) {
		for (guint j = 0; j < n; j++)
			if (variables[j] == table->variables[i])
				strides[j] = stride;
		stride *= n_values_of(elimination, table->variables[i]);
	}
}

/* A copy of a table with the variables that are held put in. */
static struct table *reduced(const struct pass *pass, const struct table *table,
			     const guint8 *values)
{
	const Elimination *elimination = pass->elimination;
	struct table *copy = g_new0(struct table, 1);
	g_autofree gsize *strides = NULL;
	g_autofree guint *n_values = g_new(guint, MAX(table->n, 1));
	g_autofree guint8 *digits = g_new0(guint8, MAX(table->n, 1));
	gsize at = 0, stride = 1;

	copy->variables = g_new(guint32, MAX(table->n, 1));
	copy->n_entries = 1;
	for (guint i = 0; i < table->n; i++)
		if (!pass->order->is_held[table->variables[i]]) {
			n_values[copy->n] = n_values_of(elimination, table->variables[i]);
			copy->n_entries *= n_values[copy->n];
			copy->variables[copy->n++] = table->variables[i];
		}
	strides = g_new(gsize, MAX(copy->n, 1));
	find_strides(elimination, table, copy->variables, copy->n, strides);
	for (guint i = table->n; i-- > 0;) {
		if (pass->order->is_held[table->variables[i]])
			at += stride * values[table->variables[i]];
		stride *= n_values_of(elimination, table->variables[i]);
	}
	copy->entries = g_new(gdouble, copy->n_entries);
	for (gsize i = 0; i < copy->n_entries; i++) {
		copy->entries[i] = table->entries[at];
		next_combination(digits, n_values, copy->n, &at, strides, 1);
	}
	return copy;
}

/* The variables that stand in a table with `variable`, without it, in order; and the tables. */
static GArray *gather(struct pass *pass, guint32 variable, GPtrArray *tables)
{
	GArray *around = g_array_new(FALSE, FALSE, sizeof(guint32));

	FOR_EACH(const guint32, number, pass->tables_of[variable]) {
		struct table *table = pass->tables->pdata[*number];

		if (!table)
			continue;
		g_ptr_array_add(tables, table);
		pass->tables->pdata[*number] = NULL;
		for (guint i = 0; i < table->n; i++)
			if (table->variables[i] != variable)
				insert(around, table->variables[i]);
	}
	return around;
}

/* Take a variable out: of each combination of the others the least over its values. */
static void eliminate(struct pass *pass, guint32 variable)
{
	const Elimination *elimination = pass->elimination;
	g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func(table_free);
	g_autoptr(GArray) around = gather(pass, variable, tables);
	guint n = around->len, n_own = n_values_of(elimination, variable);
	g_autofree gsize *strides = g_new(gsize, MAX(n, 1) * MAX(tables->len, 1));
	g_autofree gsize *own = g_new(gsize, MAX(tables->len, 1));
	g_autofree gsize *at = g_new0(gsize, MAX(tables->len, 1));
	g_autofree guint *n_values = g_new(guint, MAX(n, 1));
	g_autofree guint8 *digits = g_new0(guint8, MAX(n, 1));
	g_autofree const gdouble **entries = g_new(const gdouble *, MAX(tables->len, 1));
	struct choice choice = { .variable = variable, .n = n };
	struct table *table = g_new0(struct table, 1);

	table->n = n;
	table->n_entries = 1;
	table->variables = g_memdup2(around->data, n * sizeof(guint32));
	choice.variables = g_memdup2(around->data, n * sizeof(guint32));
	for (guint i = 0; i < n; i++) {
		n_values[i] = n_values_of(elimination, g_array_index(around, guint32, i));
		table->n_entries *= n_values[i];
	}
	for (guint t = 0; t < tables->len; t++) {
		const struct table *old = tables->pdata[t];

		entries[t] = old->entries;
		find_strides(elimination, old, (const guint32 *)around->data, n, strides + t * n);
		find_strides(elimination, old, &variable, 1, &own[t]);
	}
	table->entries = g_new(gdouble, table->n_entries);
	choice.best = g_new0(guint8, table->n_entries);
	for (gsize i = 0; i < table->n_entries; i++) {
		gdouble least = INFINITY;

		for (guint value = 0; value < n_own; value++) {
			gdouble sum = 0;

			for (guint t = 0; t < tables->len; t++)
				sum += entries[t][at[t] + own[t] * value];
			if (sum < least) {
				least = sum;
				choice.best[i] = (guint8)value;
			}
		}
		table->entries[i] = least;
		next_combination(digits, n_values, n, at, strides, tables->len);
	}
	if (n + 1 > pass->result->width)
		pass->result->width = n + 1;
	pass->result->max_entries =
		MAX(pass->result->max_entries, (guint64)table->n_entries * n_own);
	g_array_append_val(pass->choices, choice);
	add(pass, table);
}

/* From the last variable that was taken out to the first, each as those after it want it. */
static void read_choices(const struct pass *pass, guint8 *values)
{
	for (guint i = pass->choices->len; i-- > 0;) {
		const struct choice *choice = &g_array_index(pass->choices, struct choice, i);
		gsize at = 0;

		for (guint j = 0; j < choice->n; j++)
			at = at * n_values_of(pass->elimination, choice->variables[j]) +
			     values[choice->variables[j]];
		values[choice->variable] = choice->best[at];
	}
}

/* The best values of variables that are not held; the cost of all. */
static gdouble run(const Elimination *elimination, guint8 *values,
		   struct elimination_result *result)
{
	guint32 n = elimination->n_values->len;
	struct pass pass = { .elimination = elimination,
			     .order = &elimination->order,
			     .result = result };

	pass.tables = g_ptr_array_new_with_free_func(table_free);
	pass.tables_of = g_new(GArray *, MAX(n, 1));
	for (guint32 i = 0; i < n; i++)
		pass.tables_of[i] = g_array_new(FALSE, FALSE, sizeof(guint32));
	pass.choices = g_array_new(FALSE, FALSE, sizeof(struct choice));
	g_array_set_clear_func(pass.choices, choice_release);
	FOR_EACH(const struct table, table, elimination->tables)
		add(&pass, reduced(&pass, table, values));
	FOR_EACH(const guint32, variable, elimination->order.variables)
		eliminate(&pass, *variable);
	if (isfinite(pass.cost))
		read_choices(&pass, values);
	g_ptr_array_unref(pass.tables);
	for (guint32 i = 0; i < n; i++)
		g_array_unref(pass.tables_of[i]);
	g_free(pass.tables_of);
	g_array_unref(pass.choices);
	return pass.cost;
}

/* --- solved -------------------------------------------------------------------------------------- */

/* (3): hold others each round, as long as that gains. */
static void search_locally(Elimination *elimination, guint8 *values,
			   struct elimination_result *result)
{
	guint32 n = elimination->n_values->len;
	guint n_idle = 0;

	for (guint round = 0; round < MAX_ROUNDS && n_idle < MAX_IDLE_ROUNDS; round++) {
		gdouble cost;

		if (round > 0)
			find_order(elimination);
		cost = run(elimination, values, result);
		result->n_held = MAX(result->n_held, elimination->order.n_held);
		/* what rounding alone makes is no gain */
		if (!isfinite(result->cost) ? isfinite(cost)
					    : cost < result->cost - 1e-12 * fabs(result->cost))
			n_idle = 0;
		else
			n_idle++;
		result->cost = MIN(result->cost, cost);
	}
	memset(elimination->n_times_held, 0, n * sizeof(*elimination->n_times_held));
	elimination->has_order = FALSE;
}

void elimination_solve(Elimination *elimination, guint8 *values, struct elimination_result *result)
{
	guint32 n = elimination->n_values->len;

	*result = (struct elimination_result){ .cost = INFINITY };
	if (!elimination->has_order || elimination->n_tables_ordered != elimination->tables->len) {
		g_free(elimination->n_times_held);
		elimination->n_times_held = g_new0(guint, MAX(n, 1));
		find_order(elimination);
		elimination->has_order = TRUE;
		elimination->n_tables_ordered = elimination->tables->len;
	}
	result->is_exact = elimination->order.n_held == 0;
	if (result->is_exact)
		result->cost = run(elimination, values, result);
	else
		search_locally(elimination, values, result);
}
