/* table: rows of results, printed as text or JSON from the same values.
 *
 * Text is laid out in columns of the terminal, not bytes: names are UTF-8 and some characters are
 * two columns wide. When the table is wider than the terminal, flexible columns are cut first, then
 * columns are left out from the right, which a line under the table names. Names of functions are shortened, and cut
 * in their middle, such that different ones stay different.
 * (1) Every row has exactly one cell a column; cells not set are null.
 * (2) Nothing a trace holds reaches the terminal but printable characters. */
#include <tacho/table.h>

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "analyze/table_internal.h"
#include "base/for_each.h"
#include "base/json_writer.h"
#include "base/symbol_name.h"
#include "base/text_groups.h"

#define GAP		    2 /* between columns */
#define COMFORTABLE	    26 /* a flexible column is cut below this only when all else is in vain */
#define MIN_FLEXIBLE	    8
#define LARGEST_WRITTEN_OUT 1e15
#define REPLACEMENT	    0xfffd /* for what must not be printed */

enum cell_type {
	CELL_NULL,
	CELL_TEXT,
	CELL_INTEGER,
	CELL_NUMBER,
	CELL_BOOLEAN,
};

struct cell {
	enum cell_type type;
	guint32 indent; /* of a text, in the text table: columns of the terminal */
	union {
		const gchar *text; /* in the table's strings */
		gint64 integer;
		gdouble number;
		gboolean boolean;
	};
};

struct _TachoTable {
	const gchar *name;
	const TachoColumn *columns;
	guint n_columns;
	guint n_rows;
	guint next_cell; /* of the last row */
	GArray *cells;	 /* struct cell, row by row */
	GStringChunk *strings;
	GPtrArray *notes; /* gchar * */
	gboolean keeps_names;
	guint8 *is_hidden; /* one a column: left out of the text of this table */
};

TachoTable *tacho_table_new(const gchar *name, const TachoColumn *columns, guint n_columns)
{
	TachoTable *table = g_new0(TachoTable, 1);

	table->name = name;
	table->columns = columns;
	table->n_columns = n_columns;
	table->next_cell = n_columns;
	table->cells = g_array_new(FALSE, TRUE, sizeof(struct cell));
	table->strings = g_string_chunk_new(4096);
	table->notes = g_ptr_array_new_with_free_func(g_free);
	table->is_hidden = g_new0(guint8, n_columns);
	for (guint i = 0; i < n_columns; i++)
		table->is_hidden[i] = columns[i].is_json_only != 0;
	return table;
}

void tacho_table_free(TachoTable *table)
{
	if (!table)
		return;
	g_array_unref(table->cells);
	g_string_chunk_free(table->strings);
	g_ptr_array_unref(table->notes);
	g_free(table->is_hidden);
	g_free(table);
}

/* --- filling ---------------------------------------------------------------------------------- */

void tacho_table_row(TachoTable *table)
{
	table->n_rows++;
	table->next_cell = 0;
	g_array_set_size(table->cells, table->n_rows * table->n_columns);
}

static struct cell *next_cell(TachoTable *table, TachoColumnType expected)
{
	g_assert(table->next_cell < table->n_columns);
	g_assert(table->columns[table->next_cell].type == expected);
	return &g_array_index(table->cells, struct cell,
			      (table->n_rows - 1) * table->n_columns + table->next_cell++);
}

void tacho_table_text(TachoTable *table, const gchar *text)
{
	struct cell *cell = next_cell(table, TACHO_COLUMN_TEXT);

	if (!text)
		return;
	cell->type = CELL_TEXT;
	cell->text = g_string_chunk_insert_const(table->strings, text);
}

void tacho_table_integer(TachoTable *table, gint64 value)
{
	struct cell *cell = next_cell(table, TACHO_COLUMN_INTEGER);

	cell->type = CELL_INTEGER;
	cell->integer = value;
}

void tacho_table_number(TachoTable *table, gdouble value)
{
	struct cell *cell = next_cell(table, TACHO_COLUMN_NUMBER);

	if (!isfinite(value))
		return;
	cell->type = CELL_NUMBER;
	cell->number = value;
}

void tacho_table_boolean(TachoTable *table, gboolean value)
{
	struct cell *cell = next_cell(table, TACHO_COLUMN_BOOLEAN);

	cell->type = CELL_BOOLEAN;
	cell->boolean = value;
}

void tacho_table_null(TachoTable *table)
{
	g_assert(table->next_cell < table->n_columns);
	table->next_cell++;
}

void tacho_table_note(TachoTable *table, const gchar *format, ...)
{
	va_list args;

	va_start(args, format);
	g_ptr_array_add(table->notes, g_strdup_vprintf(format, args));
	va_end(args);
}

void tacho_table_keep_names(TachoTable *table)
{
	table->keeps_names = TRUE;
}

void tacho_table_drop_notes(TachoTable *table, const TachoTable *other)
{
	for (guint i = table->notes->len; i-- > 0;)
		if (g_ptr_array_find_with_equal_func(
			    other->notes, g_ptr_array_index(table->notes, i), g_str_equal, NULL))
			g_ptr_array_remove_index(table->notes, i);
}

/* --- reading ---------------------------------------------------------------------------------- */

static const struct cell *cell_at(const TachoTable *table, guint row, guint column)
{
	return &g_array_index(table->cells, struct cell, row * table->n_columns + column);
}

static gint find_column(const TachoTable *table, const gchar *key)
{
	for (guint i = 0; i < table->n_columns; i++)
		if (strcmp(table->columns[i].key, key) == 0)
			return (gint)i;
	return -1;
}

static const struct cell *find_cell(const TachoTable *table, guint row, const gchar *key)
{
	static const struct cell null_cell = { .type = CELL_NULL };
	gint column = find_column(table, key);

	return column < 0 || row >= table->n_rows ? &null_cell : cell_at(table, row, (guint)column);
}

const TachoColumn *tacho_table_borrow_column(const TachoTable *table, const gchar *key)
{
	gint column = find_column(table, key);

	return column < 0 ? NULL : &table->columns[column];
}

void table_text_indented(TachoTable *table, const gchar *text, guint indent)
{
	guint index = (table->n_rows - 1) * table->n_columns + table->next_cell;

	tacho_table_text(table, text);
	g_array_index(table->cells, struct cell, index).indent = indent;
}

void table_hide_column(TachoTable *table, const gchar *key)
{
	gint column = find_column(table, key);

	g_assert(column >= 0);
	table->is_hidden[column] = 1;
}

gboolean table_hides_column(const TachoTable *table, guint index)
{
	g_assert(index < table->n_columns);
	return table->is_hidden[index];
}

const gchar *tacho_table_key(const TachoTable *table, guint index)
{
	return index < table->n_columns ? table->columns[index].key : NULL;
}

const gchar *tacho_table_name(const TachoTable *table)
{
	return table->name;
}

guint tacho_table_n_rows(const TachoTable *table)
{
	return table->n_rows;
}

guint tacho_table_n_notes(const TachoTable *table)
{
	return table->notes->len;
}

const gchar *tacho_table_borrow_note(const TachoTable *table, guint index)
{
	return index < table->notes->len ? g_ptr_array_index(table->notes, index) : NULL;
}

static gdouble cell_number(const struct cell *cell)
{
	switch (cell->type) {
	case CELL_INTEGER:
		return (gdouble)cell->integer;
	case CELL_NUMBER:
		return cell->number;
	case CELL_BOOLEAN:
		return cell->boolean;
	default:
		return (gdouble)NAN;
	}
}

gdouble tacho_table_cell_number(const TachoTable *table, guint row, const gchar *key)
{
	return cell_number(find_cell(table, row, key));
}

const gchar *tacho_table_cell_text(const TachoTable *table, guint row, const gchar *key)
{
	const struct cell *cell = find_cell(table, row, key);

	return cell->type == CELL_TEXT ? cell->text : NULL;
}

/* --- order ------------------------------------------------------------------------------------ */

struct sort_order {
	const TachoTable *table;
	guint column;
	gint sign;
};

static gint compare_cells(const struct cell *a, const struct cell *b, gint sign)
{
	gdouble left, right;

	if (a->type == CELL_NULL || b->type == CELL_NULL)
		return (a->type == CELL_NULL) - (b->type == CELL_NULL); /* nulls last, either way */
	if (a->type == CELL_TEXT)
		return sign * strcmp(a->text, b->text);
	if (a->type == CELL_INTEGER)
		return sign * ((a->integer > b->integer) - (a->integer < b->integer));
	left = cell_number(a);
	right = cell_number(b);
	return sign * ((left > right) - (left < right));
}

static gint compare_rows(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct sort_order *order = data;
	guint left = *(const guint *)a, right = *(const guint *)b;
	gint difference = compare_cells(cell_at(order->table, left, order->column),
					cell_at(order->table, right, order->column), order->sign);

	return difference ? difference : (left > right) - (left < right);
}

gboolean tacho_table_sort(TachoTable *table, const gchar *key, gboolean is_descending)
{
	gint column = find_column(table, key);
	struct sort_order order = { table, (guint)column, is_descending ? -1 : 1 };
	g_autofree guint *rows = NULL;
	GArray *sorted;

	if (column < 0)
		return FALSE;
	rows = g_new(guint, table->n_rows);
	for (guint i = 0; i < table->n_rows; i++)
		rows[i] = i;
	g_qsort_with_data(rows, (gint)table->n_rows, sizeof(guint), compare_rows, &order);
	sorted = g_array_sized_new(FALSE, TRUE, sizeof(struct cell), table->cells->len);
	for (guint i = 0; i < table->n_rows; i++)
		g_array_append_vals(sorted, cell_at(table, rows[i], 0), table->n_columns);
	g_array_unref(table->cells);
	table->cells = sorted;
	return TRUE;
}

void tacho_table_limit(TachoTable *table, guint n_rows)
{
	guint n_left_out;

	if (n_rows == 0 || n_rows >= table->n_rows)
		return;
	n_left_out = table->n_rows - n_rows;
	table->n_rows = n_rows;
	g_array_set_size(table->cells, n_rows * table->n_columns);
	tacho_table_note(table, "%u more %s not shown (--all shows every row).", n_left_out,
			 n_left_out == 1 ? "row is" : "rows are");
}

/* --- text ------------------------------------------------------------------------------------- */

/* Whether a character may be sent to a terminal. */
static gboolean is_printable(gunichar c)
{
	switch (g_unichar_type(c)) {
	case G_UNICODE_CONTROL:
	case G_UNICODE_FORMAT: /* bidirectional overrides, for one */
	case G_UNICODE_UNASSIGNED:
	case G_UNICODE_PRIVATE_USE:
	case G_UNICODE_SURROGATE:
	case G_UNICODE_LINE_SEPARATOR:
	case G_UNICODE_PARAGRAPH_SEPARATOR:
		return FALSE;
	default:
		return TRUE;
	}
}

gchar *table_text_clean(const gchar *text)
{
	GString *clean = g_string_sized_new(strlen(text));

	while (*text) {
		gunichar c = g_utf8_get_char_validated(text, -1);

		if (c == (gunichar)-1 || c == (gunichar)-2) {
			g_string_append_unichar(clean, REPLACEMENT);
			text++;
			continue;
		}
		g_string_append_unichar(clean, is_printable(c) ? c : REPLACEMENT);
		text = g_utf8_next_char(text);
	}
	return g_string_free(clean, FALSE);
}

static guint char_width(gunichar c)
{
	if (g_unichar_iszerowidth(c))
		return 0;
	return g_unichar_iswide(c) ? 2 : 1;
}

guint table_text_width(const gchar *text)
{
	guint width = 0;

	for (; *text; text = g_utf8_next_char(text))
		width += char_width(g_utf8_get_char(text));
	return width;
}

/* The first columns of `text` and, where something was cut, an ellipsis. */
gchar *table_text_cut(const gchar *text, guint width)
{
	const gchar *at = text;
	guint used = 0;

	if (table_text_width(text) <= width)
		return g_strdup(text);
	while (*at && used + char_width(g_utf8_get_char(at)) + 1 <= width) {
		used += char_width(g_utf8_get_char(at));
		at = g_utf8_next_char(at);
	}
	return g_strdup_printf("%.*s…", (int)(at - text), text);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Where the last `width` columns of the text begin. */
static const gchar *find_tail(const gchar *text, guint width)
{
	const gchar *at = text + strlen(text);
	guint used = 0;

	while (at > text) {
		const gchar *before = g_utf8_prev_char(at);

		used += char_width(g_utf8_get_char(before));
		if (used > width)
			break;
		at = before;
	}
	return at;
}

/* `head` columns, an ellipsis, and what begins at `rest`, cut to `width` in all. */
static gchar *join_cut(const gchar *text, guint head, const gchar *rest, guint width)
{
	g_autofree gchar *first = table_text_cut(text, head + 1); /* with the ellipsis */
	g_autofree gchar *second = table_text_cut(rest, width - table_text_width(first));

	return g_strconcat(first, second, NULL);
}

static gchar *cut_middle(const gchar *text, guint width)
{
	guint head = width / 2;

	if (table_text_width(text) <= width)
		return g_strdup(text);
	return join_cut(text, head, find_tail(text, width - head - 1), width);
}

static guint common_prefix(const gchar *a, const gchar *b)
{
	guint n = 0;

	while (a[n] && a[n] == b[n])
		n++;
	return n;
}

/* How many bytes the texts at those places share at their begin; G_MAXUINT: they are all the same. */
static guint shared_prefix(const GPtrArray *texts, const GArray *places)
{
	const gchar *first = g_ptr_array_index(texts, g_array_index(places, guint, 0));
	guint shared = G_MAXUINT;

	for (guint i = 1; i < places->len; i++) {
		const gchar *text = g_ptr_array_index(texts, g_array_index(places, guint, i));

		if (strcmp(text, first) != 0)
			shared = MIN(shared, common_prefix(first, text));
	}
	return shared;
}

/* The begin, and from where it differs from others. */
static gchar *cut_at_difference(const gchar *text, guint shared, guint width)
{
	const gchar *rest = text;

	while (*rest && (guint)(g_utf8_next_char(rest) - text) <= shared)
		rest = g_utf8_next_char(rest);
	return join_cut(text, width / 3, rest, width);
}

static gchar *cut_with_number(const gchar *text, GHashTable *numbers, guint width)
{
	guint number = GPOINTER_TO_UINT(g_hash_table_lookup(numbers, text));
	g_autofree gchar *end = NULL, *begin = NULL;

	if (!number) {
		number = g_hash_table_size(numbers) + 1;
		g_hash_table_insert(numbers, (gpointer)text, GUINT_TO_POINTER(number));
	}
	end = g_strdup_printf("~%u", number);
	begin = table_text_cut(text, MAX(width, (guint)strlen(end) + 1) - (guint)strlen(end));
	return g_strconcat(begin, end, NULL);
}

/* Different texts that are cut to the same are cut otherwise. */
static void cut_apart(const GPtrArray *texts, GPtrArray *cuts, guint width, gboolean with_numbers)
{
	g_autoptr(GHashTable) by_cut = text_groups(cuts);
	g_autoptr(GHashTable) numbers = g_hash_table_new(g_str_hash, g_str_equal);

	FOR_EACH_ENTRY(entry, by_cut) {
		const GArray *places = entry.value;
		guint shared = shared_prefix(texts, places);

		for (guint i = 0; shared != G_MAXUINT && i < places->len; i++) {
			guint place = g_array_index(places, guint, i);
			const gchar *text = g_ptr_array_index(texts, place);
			gchar **cut = (gchar **)&g_ptr_array_index(cuts, place);

			g_free(*cut);
			*cut = with_numbers ? cut_with_number(text, numbers, width)
					    : cut_at_difference(text, shared, width);
		}
	}
}

/* The names cut to `width`, different ones never to the same. A new array that frees its texts. */
static GPtrArray *cut_names(const GPtrArray *names, guint width)
{
	GPtrArray *cuts = g_ptr_array_new_full(names->len, g_free);

	for (guint i = 0; i < names->len; i++)
		g_ptr_array_add(cuts, cut_middle(g_ptr_array_index(names, i), width));
	cut_apart(names, cuts, width, FALSE);
	cut_apart(names, cuts, width, TRUE);
	return cuts;
}

/* 1234567.8 as "1,234,567.8". */
static gchar *group_thousands(const gchar *digits)
{
	GString *grouped = g_string_new(NULL);
	gsize n_sign = *digits == '-';
	gsize n_whole = strspn(digits + n_sign, "0123456789");

	g_string_append_len(grouped, digits, (gssize)n_sign);
	for (gsize i = 0; i < n_whole; i++) {
		if (i > 0 && (n_whole - i) % 3 == 0)
			g_string_append_c(grouped, ',');
		g_string_append_c(grouped, digits[n_sign + i]);
	}
	g_string_append(grouped, digits + n_sign + n_whole);
	return g_string_free(grouped, FALSE);
}

static gchar *format_number(gdouble value, guint decimals)
{
	gchar format[16],
		digits[400]; /* %f of the largest double has 309 digits before the point */

	g_snprintf(format, sizeof(format), "%%.%uf", MIN(decimals, 9));
	g_ascii_formatd(digits, sizeof(digits), format, value);
	return group_thousands(digits);
}

/* Whole, else six digits that count: "65,536", "12.5", "0.000333333"; "2e-12", "1e+20". */
static gchar *format_any_size(gdouble value)
{
	gdouble size = fabs(value);
	gchar digits[G_ASCII_DTOSTR_BUF_SIZE];

	if (value == trunc(value) && size < LARGEST_WRITTEN_OUT)
		return format_number(value, 0);
	if (size >= LARGEST_WRITTEN_OUT)
		return g_strdup(g_ascii_formatd(digits, sizeof(digits), "%.6g", value));
	if (size >= 1e5) /* all six are before the point */
		return format_number(value, 0);
	return group_thousands(g_ascii_formatd(digits, sizeof(digits), "%.6g", value));
}

static gchar *format_text(const struct cell *cell)
{
	g_autofree gchar *text = table_text_clean(cell->text);

	return g_strdup_printf("%*s%s", (gint)cell->indent, "", text);
}

static gchar *format_cell(const TachoColumn *column, const struct cell *cell)
{
	gchar digits[32];

	switch (cell->type) {
	case CELL_TEXT:
		return format_text(cell);
	case CELL_INTEGER:
		g_snprintf(digits, sizeof(digits), "%" G_GINT64_FORMAT, cell->integer);
		return column->is_identifier ? g_strdup(digits) : group_thousands(digits);
	case CELL_NUMBER:
		return column->is_any_size ? format_any_size(cell->number)
					   : format_number(cell->number, column->decimals);
	case CELL_BOOLEAN:
		return g_strdup(cell->boolean ? "yes" : "no");
	default:
		return g_strdup("-");
	}
}

/* What is printed of a table, and how wide. */
struct layout {
	const TachoTable *table;
	GPtrArray *texts;      /* gchar *, a cell each */
	guint *widths;	       /* of each column; 0: left out */
	gboolean *is_left_out; /* columns for which there was no room */
};

static guint layout_total(const struct layout *layout)
{
	guint total = 0;

	for (guint i = 0; i < layout->table->n_columns; i++)
		if (layout->widths[i])
			total += layout->widths[i] + GAP;
	return total > GAP ? total - GAP : 0;
}

static void layout_measure(struct layout *layout)
{
	const TachoTable *table = layout->table;

	for (guint column = 0; column < table->n_columns; column++) {
		if (table->is_hidden[column])
			continue;
		layout->widths[column] = MAX(table_text_width(table->columns[column].title), 1);
	}
	for (guint i = 0; i < layout->texts->len; i++) {
		guint *width = &layout->widths[i % table->n_columns];

		if (*width)
			*width = MAX(*width, table_text_width(g_ptr_array_index(layout->texts, i)));
	}
}

/* The widest column that may still be cut, or -1. */
static gint widest_flexible(const struct layout *layout, guint at_least)
{
	gint widest = -1;

	for (guint i = 0; i < layout->table->n_columns; i++)
		if (layout->table->columns[i].is_flexible && layout->widths[i] > at_least &&
		    (widest < 0 || layout->widths[i] > layout->widths[widest]))
			widest = (gint)i;
	return widest;
}

static void layout_cut(struct layout *layout, guint width, guint at_least)
{
	gint flexible;

	while (layout_total(layout) > width && (flexible = widest_flexible(layout, at_least)) >= 0)
		layout->widths[flexible]--;
}

static void layout_fit(struct layout *layout, guint width)
{
	guint last = layout->table->n_columns;

	layout_cut(layout, width, COMFORTABLE);
	/* The first column stays, whatever the terminal. */
	while (layout_total(layout) > width && last-- > 1) {
		if (!layout->widths[last])
			continue;
		layout->widths[last] = 0;
		layout->is_left_out[last] = TRUE;
	}
	layout_cut(layout, width, MIN_FLEXIBLE);
}

/* The texts of a column, for a while. */
static GPtrArray *borrow_column(const struct layout *layout, guint column)
{
	GPtrArray *texts = g_ptr_array_new();

	for (guint row = 0; row < layout->table->n_rows; row++)
		g_ptr_array_add(texts, g_ptr_array_index(layout->texts,
							 row * layout->table->n_columns + column));
	return texts;
}

/* Takes the texts out of `texts` and into the layout. */
static void replace_column(struct layout *layout, guint column, GPtrArray *texts)
{
	for (guint row = 0; row < layout->table->n_rows; row++) {
		gchar **text = (gchar **)&g_ptr_array_index(
			layout->texts, row * layout->table->n_columns + column);

		g_free(*text);
		*text = g_steal_pointer(&g_ptr_array_index(texts, row));
	}
	g_ptr_array_unref(texts);
}

static gboolean has_names(const struct layout *layout, guint column)
{
	return layout->table->columns[column].is_symbol && !layout->table->keeps_names &&
	       layout->widths[column] > 0;
}

static void shorten_names(struct layout *layout)
{
	for (guint i = 0; i < layout->table->n_columns; i++) {
		g_autoptr(GPtrArray) names = NULL;

		if (!layout->table->columns[i].is_symbol || layout->table->keeps_names)
			continue;
		names = borrow_column(layout, i);
		replace_column(layout, i, symbol_names_short(names));
	}
}

static void fit_names(struct layout *layout)
{
	for (guint i = 0; i < layout->table->n_columns; i++) {
		g_autoptr(GPtrArray) names = NULL;

		if (!has_names(layout, i))
			continue;
		names = borrow_column(layout, i);
		replace_column(layout, i, cut_names(names, layout->widths[i]));
	}
}

static void layout_init(struct layout *layout, const TachoTable *table, guint width)
{
	layout->table = table;
	layout->texts = g_ptr_array_new_full(table->n_rows * table->n_columns, g_free);
	layout->widths = g_new0(guint, table->n_columns);
	layout->is_left_out = g_new0(gboolean, table->n_columns);
	for (guint row = 0; row < table->n_rows; row++)
		for (guint column = 0; column < table->n_columns; column++)
			g_ptr_array_add(layout->texts, format_cell(&table->columns[column],
								   cell_at(table, row, column)));
	shorten_names(layout);
	layout_measure(layout);
	if (width)
		layout_fit(layout, width);
	fit_names(layout);
}

static void layout_release(struct layout *layout)
{
	g_ptr_array_unref(layout->texts);
	g_free(layout->widths);
	g_free(layout->is_left_out);
}

static const gchar *heat(const TachoColumn *column, const struct cell *cell)
{
	gdouble share = cell_number(cell);

	if (!column->is_share || !isfinite(share))
		return NULL;
	if (share >= 30)
		return "\033[31m"; /* red */
	if (share >= 10)
		return "\033[33m"; /* yellow */
	return share < 1 ? "\033[2m" : NULL;
}

/* One cell; trailing blanks are left out where nothing follows. */
static void print_cell(const struct layout *layout, guint column, const gchar *text,
		       const gchar *colour, gboolean is_last, FILE *out)
{
	g_autofree gchar *cut = table_text_cut(text, layout->widths[column]);
	guint n_blanks = layout->widths[column] - table_text_width(cut);
	gboolean is_text = layout->table->columns[column].type == TACHO_COLUMN_TEXT;

	if (!is_text)
		fprintf(out, "%*s", (int)n_blanks, "");
	fprintf(out, "%s%s%s", colour ? colour : "", cut, colour ? "\033[0m" : "");
	if (!is_last)
		fprintf(out, "%*s", (int)(GAP + (is_text ? n_blanks : 0)), "");
}

static guint layout_last_column(const struct layout *layout)
{
	guint last = 0;

	for (guint i = 0; i < layout->table->n_columns; i++)
		if (layout->widths[i])
			last = i;
	return last;
}

static void print_titles(const struct layout *layout, FILE *out, gboolean with_colour)
{
	guint last = layout_last_column(layout);

	for (guint i = 0; i < layout->table->n_columns; i++)
		if (layout->widths[i])
			print_cell(layout, i, layout->table->columns[i].title,
				   with_colour ? "\033[1m" : NULL, i == last, out);
	fputc('\n', out);
}

static void print_row(const struct layout *layout, guint row, FILE *out, gboolean with_colour)
{
	const TachoTable *table = layout->table;
	guint last = layout_last_column(layout);

	for (guint i = 0; i < table->n_columns; i++)
		if (layout->widths[i])
			print_cell(layout, i,
				   g_ptr_array_index(layout->texts, row * table->n_columns + i),
				   with_colour ? heat(&table->columns[i], cell_at(table, row, i))
					       : NULL,
				   i == last, out);
	fputc('\n', out);
}

void tacho_print_prose(const gchar *prose, FILE *out, guint width)
{
	g_autofree gchar *clean = table_text_clean(prose);
	g_auto(GStrv) words = g_strsplit(clean, " ", -1);
	guint used = 0;

	for (guint i = 0; words[i]; i++) {
		guint word = table_text_width(words[i]);

		if (used && width && used + 1 + word > width) {
			fputs("\n  ", out);
			used = 2;
		} else if (i > 0) {
			fputc(' ', out);
			used++;
		}
		fputs(words[i], out);
		used += word;
	}
	fputc('\n', out);
}

static void print_left_out(const struct layout *layout, FILE *out, guint width)
{
	g_autoptr(GString) prose = g_string_new(NULL);

	for (guint i = 0; i < layout->table->n_columns; i++)
		if (layout->is_left_out[i])
			g_string_append_printf(prose, "%s%s", prose->len ? ", " : "No room for: ",
					       layout->table->columns[i].title);
	if (prose->len)
		tacho_print_prose(prose->str, out, width);
}

void tacho_table_print(const TachoTable *table, FILE *out, guint width, gboolean with_colour)
{
	struct layout layout;

	layout_init(&layout, table, width);
	if (table->n_rows) {
		print_titles(&layout, out, with_colour);
		for (guint row = 0; row < table->n_rows; row++)
			print_row(&layout, row, out, with_colour);
	}
	for (guint i = 0; i < table->notes->len; i++)
		tacho_print_prose(g_ptr_array_index(table->notes, i), out, width);
	if (table->n_rows)
		print_left_out(&layout, out, width);
	layout_release(&layout);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_cell(const struct cell *cell, JsonWriter *writer)
{
	switch (cell->type) {
	case CELL_TEXT:
		json_writer_string(writer, cell->text);
		break;
	case CELL_INTEGER:
		json_writer_integer(writer, cell->integer);
		break;
	case CELL_NUMBER:
		json_writer_number(writer, cell->number);
		break;
	case CELL_BOOLEAN:
		json_writer_boolean(writer, cell->boolean);
		break;
	default:
		json_writer_null(writer);
	}
}

void table_write_row_members(const TachoTable *table, guint row, JsonWriter *writer)
{
	for (guint column = 0; column < table->n_columns; column++) {
		json_writer_key(writer, table->columns[column].key);
		write_cell(cell_at(table, row, column), writer);
	}
}

static void write_row(const TachoTable *table, guint row, JsonWriter *writer)
{
	json_writer_begin_object(writer);
	table_write_row_members(table, row, writer);
	json_writer_end_object(writer);
}

void table_write_json(const TachoTable *table, JsonWriter *writer)
{
	json_writer_begin_array(writer);
	for (guint row = 0; row < table->n_rows; row++) {
		json_writer_line(writer);
		write_row(table, row, writer);
	}
	if (table->n_rows)
		json_writer_line(writer);
	json_writer_end_array(writer);
}

void table_write_json_notes(const TachoTable *table, JsonWriter *writer)
{
	json_writer_begin_array(writer);
	for (guint i = 0; i < table->notes->len; i++)
		json_writer_string(writer, g_ptr_array_index(table->notes, i));
	json_writer_end_array(writer);
}

void tacho_table_print_json(const TachoTable *table, FILE *out)
{
	g_autoptr(JsonWriter) writer = json_writer_new(out);

	table_write_json(table, writer);
	json_writer_finish(writer); /* `out` remembers a failure, for its owner to find */
}

void tacho_table_print_json_lines(const TachoTable *table, FILE *out)
{
	for (guint row = 0; row < table->n_rows; row++) {
		g_autoptr(JsonWriter) writer = json_writer_new(out);

		write_row(table, row, writer);
		json_writer_finish(writer);
	}
}

void table_write_json_members(const TachoTable *const *tables, guint n_tables, JsonWriter *writer)
{
	for (guint i = 0; i < n_tables; i++) {
		json_writer_line(writer);
		json_writer_key(writer, tables[i]->name);
		table_write_json(tables[i], writer);
	}
	json_writer_line(writer);
	json_writer_begin_object(json_writer_key(writer, "notes"));
	for (guint i = 0; i < n_tables; i++) {
		json_writer_line(writer);
		json_writer_key(writer, tables[i]->name);
		table_write_json_notes(tables[i], writer);
	}
	json_writer_line(writer);
	json_writer_end_object(writer);
}
