/* table_columns: the words in which the columns of tables are written, a line each.
 *
 * `key` is that of the JSON, `title` that of the text. What follows sets more members of TachoColumn:
 * TEXT_COLUMN("host", "host", .is_flexible = TRUE). */
#ifndef TACHO_TABLE_COLUMNS_H
#define TACHO_TABLE_COLUMNS_H

#include <tacho/table.h>

#define TEXT_COLUMN(key_, title_, ...)                                                             \
	{                                                                                          \
		.key = key_, .title = title_, .type = TACHO_COLUMN_TEXT, __VA_ARGS__               \
	}
#define INTEGER_COLUMN(key_, title_, ...)                                                          \
	{                                                                                          \
		.key = key_, .title = title_, .type = TACHO_COLUMN_INTEGER, __VA_ARGS__            \
	}
#define BOOLEAN_COLUMN(key_, title_)                                                               \
	{                                                                                          \
		.key = key_, .title = title_, .type = TACHO_COLUMN_BOOLEAN                         \
	}
#define NUMBER_COLUMN(key_, title_, decimals_, ...)                                                \
	{                                                                                          \
		.key = key_, .title = title_, .type = TACHO_COLUMN_NUMBER, .decimals = decimals_,  \
		__VA_ARGS__                                                                        \
	}
/* A name that may be a C++ function's. */
#define NAME_COLUMN(key, title) TEXT_COLUMN(key, title, .is_flexible = TRUE, .is_symbol = TRUE)
/* Percent of a whole. */
#define SHARE_COLUMN(key, title, decimals) NUMBER_COLUMN(key, title, decimals, .is_share = TRUE)
/* The system's number of a process, thread or device: no thousands. */
#define IDENTIFIER_COLUMN(key, title) INTEGER_COLUMN(key, title, .is_identifier = TRUE)

/* Columns that the text leaves out. */
#define JSON_COLUMN(key_, type_)                                                                   \
	{                                                                                          \
		.key = key_, .type = type_, .is_json_only = TRUE                                   \
	}
#define JSON_TEXT(key)	  JSON_COLUMN(key, TACHO_COLUMN_TEXT)
#define JSON_INTEGER(key) JSON_COLUMN(key, TACHO_COLUMN_INTEGER)
#define JSON_NUMBER(key)  JSON_COLUMN(key, TACHO_COLUMN_NUMBER)
#define JSON_BOOLEAN(key) JSON_COLUMN(key, TACHO_COLUMN_BOOLEAN)

#endif
