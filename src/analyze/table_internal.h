/* table_internal: what the analyses share of a table beyond <tacho/table.h>. */
#ifndef TACHO_TABLE_INTERNAL_H
#define TACHO_TABLE_INTERNAL_H

#include <tacho/table.h>

#include "base/json_writer.h"

/* A text cell that stands `indent` columns to the right in the text, and plainly in the JSON. */
void table_text_indented(TachoTable *table, const gchar *text, guint indent);
/* Leave the column with that key, which there is, out of this table's text. */
void table_hide_column(TachoTable *table, const gchar *key);
/* Whether the `index`-th column is left out of this table's text. */
gboolean table_hides_column(const TachoTable *table, guint index);

/* The rows as one JSON array; the notes as another. */
void table_write_json(const TachoTable *table, JsonWriter *writer);
/* The members of a row's object, without the braces. */
void table_write_row_members(const TachoTable *table, guint row, JsonWriter *writer);
void table_write_json_notes(const TachoTable *table, JsonWriter *writer);
/* Members of an object that is open: each table's rows under its name, then "notes", an object with
 * each table's notes under its name. */
void table_write_json_members(const TachoTable *const *tables, guint n_tables, JsonWriter *writer);

/* Text fit for a terminal: bad UTF-8 and all but printable characters become U+FFFD. */
gchar *table_text_clean(const gchar *text);
/* In columns of a terminal, and cut to as many, the last an ellipsis. `text` is valid UTF-8. */
guint table_text_width(const gchar *text);
gchar *table_text_cut(const gchar *text, guint width);

#endif
