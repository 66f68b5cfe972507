#include "query/query_plan.h"

static const struct {
	unsigned char operator_code;
	char letter;
} operators[] = {
	{ SQLITE_INDEX_CONSTRAINT_EQ, '=' },	 { SQLITE_INDEX_CONSTRAINT_GT, '>' },
	{ SQLITE_INDEX_CONSTRAINT_GE, 'G' },	 { SQLITE_INDEX_CONSTRAINT_LT, '<' },
	{ SQLITE_INDEX_CONSTRAINT_LE, 'L' },	 { SQLITE_INDEX_CONSTRAINT_LIKE, '~' },
	{ SQLITE_INDEX_CONSTRAINT_GLOB, '*' },	 { SQLITE_INDEX_CONSTRAINT_REGEXP, 'r' },
	{ SQLITE_INDEX_CONSTRAINT_ISNULL, '0' },
};

void query_plan_init(struct query_plan *plan, sqlite3_index_info *info)
{
	plan->info = info;
	plan->text = g_string_new(NULL);
}

static char letter_of(unsigned char operator_code)
{
	for (guint i = 0; i < G_N_ELEMENTS(operators); i++)
		if (operators[i].operator_code == operator_code)
			return operators[i].letter;
	g_assert_not_reached();
}

void query_plan_take(struct query_plan *plan, int index, gboolean is_sure)
{
	const struct sqlite3_index_constraint *constraint = &plan->info->aConstraint[index];
	struct sqlite3_index_constraint_usage *usage = &plan->info->aConstraintUsage[index];

	g_string_append_c(plan->text, (gchar)('a' + query_constraint_column(constraint->iColumn)));
	g_string_append_c(plan->text, letter_of(constraint->op));
	usage->argvIndex = (int)plan->text->len / 2;
	usage->omit = (unsigned char)is_sure;
}

int query_plan_finish(struct query_plan *plan, gdouble n_rows, gdouble cost_of_row)
{
	plan->info->idxStr = sqlite3_mprintf("%s", plan->text->str);
	plan->info->needToFreeIdxStr = 1;
	plan->info->estimatedRows = (sqlite3_int64)MAX(n_rows, 1);
	plan->info->estimatedCost = 1 + MAX(n_rows, 1) * cost_of_row;
	g_string_free(plan->text, TRUE);
	return plan->info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

int query_plan_column(const char *text, int index)
{
	return text[2 * index] - 'a';
}

unsigned char query_plan_operator(const char *text, int index)
{
	for (guint i = 0; i < G_N_ELEMENTS(operators); i++)
		if (operators[i].letter == text[2 * index + 1])
			return operators[i].operator_code;
	g_assert_not_reached();
}
