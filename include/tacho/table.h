/* table: rows of results, as every view returns them; printed as text or JSON from the same values. */
#ifndef TACHO_TABLE_H
#define TACHO_TABLE_H

#include <glib.h>
#include <stdio.h>

G_BEGIN_DECLS

typedef enum {
	TACHO_COLUMN_TEXT,
	TACHO_COLUMN_INTEGER,
	TACHO_COLUMN_NUMBER, /* `decimals` of them in text; JSON has what is needed to read it back */
	TACHO_COLUMN_BOOLEAN,
} TachoColumnType;

typedef struct {
	const gchar *key;   /* of the JSON; with the unit: "duration_ms" */
	const gchar *title; /* of the text; the unit in the title: "ms" */
	TachoColumnType type;
	guint decimals;
	gboolean is_flexible;	/* text that may be cut to make the table fit */
	gboolean is_json_only;	/* left out of the text */
	gboolean is_identifier; /* a number to be read digit by digit: no thousands */
	gboolean is_share;	/* percent of a whole: coloured by heat on a terminal */
	gboolean is_symbol;   /* text that may be a C++ function's name: short in the text table */
	gboolean is_any_size; /* a NUMBER of a unit unknown: whole, else six digits that count */
} TachoColumn;

typedef struct _TachoTable TachoTable;

/* `columns` must outlive the table (static arrays). */
TachoTable *tacho_table_new(const gchar *name, const TachoColumn *columns, guint n_columns);
void tacho_table_free(TachoTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoTable, tacho_table_free)

/* Begin a row, then set its cells in column order; a cell not set is null. */
void tacho_table_row(TachoTable *table);
void tacho_table_text(TachoTable *table, const gchar *text); /* NULL: null */
void tacho_table_integer(TachoTable *table, gint64 value);
void tacho_table_number(TachoTable *table, gdouble value); /* not finite: null */
void tacho_table_boolean(TachoTable *table, gboolean value);
void tacho_table_null(TachoTable *table);

/* A line of prose under the text table; "notes" in the JSON. */
void tacho_table_note(TachoTable *table, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

/* Names are whole in the text, too. */
void tacho_table_keep_names(TachoTable *table);

/* Take out the notes that `other` has too. */
void tacho_table_drop_notes(TachoTable *table, const TachoTable *other);

const gchar *tacho_table_name(const TachoTable *table);
guint tacho_table_n_rows(const TachoTable *table);
/* Cells, for tests and exports: NaN and NULL where there is no such cell. */
gdouble tacho_table_cell_number(const TachoTable *table, guint row, const gchar *key);
const gchar *tacho_table_cell_text(const TachoTable *table, guint row, const gchar *key);
/* The column with that key, or NULL. */
const TachoColumn *tacho_table_borrow_column(const TachoTable *table, const gchar *key);
/* The `index`-th column's key, NULL past the end. */
const gchar *tacho_table_key(const TachoTable *table, guint index);
guint tacho_table_n_notes(const TachoTable *table);
const gchar *tacho_table_borrow_note(const TachoTable *table, guint index);

/* Stable sort by the column with `key`; numbers before nulls. False: no such column. */
gboolean tacho_table_sort(TachoTable *table, const gchar *key, gboolean is_descending);
/* Keep the first `n_rows`; a note says how many were left out. 0: all. */
void tacho_table_limit(TachoTable *table, guint n_rows);

/* `width` in columns of the terminal, 0: do not cut. Control characters and bad UTF-8 in cells are
 * replaced, so that a trace cannot steer the terminal. */
void tacho_table_print(const TachoTable *table, FILE *out, guint width, gboolean with_colour);
/* A sentence in a line, or in lines of `width` (0: any) broken between words, the second indented by two; what is not
 * printable is replaced as in cells. */
void tacho_print_prose(const gchar *prose, FILE *out, guint width);
/* A JSON array of row objects. */
void tacho_table_print_json(const TachoTable *table, FILE *out);
/* The same objects, each a line of its own. */
void tacho_table_print_json_lines(const TachoTable *table, FILE *out);

G_END_DECLS

#endif
