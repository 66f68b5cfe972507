/* query_table: the timeline's tables as SQL sees them: what each has for columns, and where the
 * values come from.
 *
 * (1) A row's id is its number in the timeline's table, from 0; it is SQLite's rowid, too.
 * (2) Values are read from the timeline when they are asked for; nothing is copied.
 * (3) Rows come in the order of their ids.
 *
 * Most tables are arrays of structs in the timeline. Each of their columns says which field of the struct it
 * shows, and how; a function is only for what has to be computed. */
#ifndef TACHO_QUERY_TABLE_H
#define TACHO_QUERY_TABLE_H

#include <sqlite3.h>

#include "query/query_data.h"

enum query_type {
	QUERY_INTEGER,
	QUERY_REAL,
	QUERY_NUMERIC, /* an integer where it is whole, else a real */
	QUERY_TEXT,
	QUERY_ANY,
};

/* How a column shows a field of its row's struct. */
enum query_reading {
	QUERY_NO_FIELD, /* but what `cell` gives */
	QUERY_ROW_ID,	/* no field, but the row's id */
	QUERY_AS_IS,
	QUERY_ID,	  /* TACHO_NONE: NULL */
	QUERY_OPTIONAL,	  /* below 0: NULL */
	QUERY_KNOWN,	  /* 0: NULL */
	QUERY_FLAG,	  /* 0 or 1 */
	QUERY_PROCESS,	  /* of a process, whose rank is shown; TACHO_NONE: NULL */
	QUERY_RANK_INDEX, /* of a rank, whose number is shown */
	QUERY_STRING,	  /* string id of the timeline; an empty string: NULL */
	QUERY_CHARACTERS, /* gchar *; an empty one: NULL */
	QUERY_DOUBLE,	  /* an integer where it is whole */
};

enum query_width { QUERY_NO_INTEGER, QUERY_U8, QUERY_I32, QUERY_U32, QUERY_I64, QUERY_U64 };

struct query_column {
	const gchar *name;
	enum query_type type;
	const gchar *meaning;

	/* What follows is there only in tables that row_table.c walks. */
	enum query_reading reading;
	enum query_width width;
	gsize offset; /* of the field */
	void (*cell)(struct query_data *data, guint32 row, sqlite3_context *result);
	/* The rows where the column has `value`, or more; false: not known for lack of memory. NULL: nothing is
	 * quicker than a walk. */
	gboolean (*find)(struct query_data *data, gint64 value, struct query_rows *rows);
};

/* clang-format off */
#define QUERY_WIDTH(field)                                                                         \
	_Generic(field,                                                                            \
		 guint8: QUERY_U8,                                                                 \
		 gint32: QUERY_I32,                                                                \
		 guint32: QUERY_U32,                                                               \
		 gint64: QUERY_I64,                                                                \
		 guint64: QUERY_U64,                                                               \
		 default: QUERY_NO_INTEGER)
/* clang-format on */

#define QUERY_FIELD(name_, type_, reading_, row, field, meaning_, ...)                             \
	{                                                                                          \
		.name = name_, .type = type_, .meaning = meaning_, .reading = reading_,            \
		.width = QUERY_WIDTH(((row *)0)->field), .offset = offsetof(row, field),           \
		__VA_ARGS__                                                                        \
	}

/* A column that the table's own code answers for. */
#define QUERY_ANSWER(name_, type_, meaning_)                                                       \
	{                                                                                          \
		.name = name_, .type = type_, .meaning = meaning_                                  \
	}

/* Columns: a name, the struct of the row and its field, what it means; then `.find`, if there is one. */
#define INTEGER(name, ...)    QUERY_FIELD(name, QUERY_INTEGER, QUERY_AS_IS, __VA_ARGS__)
#define ID(name, ...)	      QUERY_FIELD(name, QUERY_INTEGER, QUERY_ID, __VA_ARGS__)
#define OPTIONAL(name, ...)   QUERY_FIELD(name, QUERY_INTEGER, QUERY_OPTIONAL, __VA_ARGS__)
#define KNOWN(name, ...)      QUERY_FIELD(name, QUERY_INTEGER, QUERY_KNOWN, __VA_ARGS__)
#define FLAG(name, ...)	      QUERY_FIELD(name, QUERY_INTEGER, QUERY_FLAG, __VA_ARGS__)
#define RANK_OF(name, ...)    QUERY_FIELD(name, QUERY_INTEGER, QUERY_PROCESS, __VA_ARGS__)
#define RANK_AT(name, ...)    QUERY_FIELD(name, QUERY_INTEGER, QUERY_RANK_INDEX, __VA_ARGS__)
#define STRING(name, ...)     QUERY_FIELD(name, QUERY_TEXT, QUERY_STRING, __VA_ARGS__)
#define CHARACTERS(name, ...) QUERY_FIELD(name, QUERY_TEXT, QUERY_CHARACTERS, __VA_ARGS__)
#define NUMERIC(name, ...)    QUERY_FIELD(name, QUERY_NUMERIC, QUERY_DOUBLE, __VA_ARGS__)
/* The row's id. */
#define ROW_ID(name_, meaning_, ...)                                                               \
	{                                                                                          \
		.name = name_, .type = QUERY_INTEGER, .meaning = meaning_,                         \
		.reading = QUERY_ROW_ID, __VA_ARGS__                                               \
	}
/* What a function tells. */
#define CELL(name_, type_, cell_, meaning_, ...)                                                   \
	{                                                                                          \
		.name = name_, .type = type_, .meaning = meaning_, .cell = cell_, __VA_ARGS__      \
	}

struct query_table {
	const gchar *name, *meaning;
	const struct query_column *columns; /* the first is `id` */
	guint n_columns;
	const sqlite3_module *module; /* how it is walked; its client data is this table */

	/* Set for tables that row_table.c walks: the offset of their array in TachoTimeline; for rows that are
	 * elsewhere, how many there are and the struct of each. */
	gsize array;
	guint32 (*count)(const struct query_data *data);
	gconstpointer (*row_at)(const struct query_data *data, guint32 row);
};

/* All tables, `*ret_n` of them. */
const struct query_table *const *query_tables(guint *ret_n);

extern const struct query_table query_table_slice, query_table_track, query_table_thread,
	query_table_process, query_table_counter, query_table_flow, query_table_args,
	query_table_step, query_table_collective, query_table_collective_member,
	query_table_message, query_table_bucket, query_table_bucket_gradient, query_table_memory,
	query_table_mark, query_table_graph_work, query_table_chunk, query_table_device,
	query_table_problem;

/* --- what modules share ----------------------------------------------------------------------- */

/* Every module's table: SQLite's part first. */
struct query_vtab {
	sqlite3_vtab base;
	const struct query_table *table;
	struct query_data *data;
};

/* What a module is registered with. */
struct query_client {
	const struct query_table *table;
	struct query_data *data;
};

int query_vtab_connect(sqlite3 *db, void *client, int argc, const char *const *argv,
		       sqlite3_vtab **ret_vtab, char **ret_error);
int query_vtab_disconnect(sqlite3_vtab *vtab);
/* The module of a file whose own functions have these names. */
#define QUERY_MODULE                                                                               \
	{                                                                                          \
		.xCreate = query_vtab_connect, .xConnect = query_vtab_connect,                     \
		.xBestIndex = best_index, .xDisconnect = query_vtab_disconnect,                    \
		.xDestroy = query_vtab_disconnect, .xOpen = open_cursor, .xClose = close_cursor,   \
		.xFilter = filter, .xNext = next, .xEof = is_end, .xColumn = column_value,         \
		.xRowid = rowid                                                                    \
	}
/* For tables walked by row_table.c. */
extern const sqlite3_module query_row_module;

/* The statement that would make the table; `has_meanings`: for people. From g_malloc(). */
gchar *query_table_sql(const struct query_table *table, gboolean has_meanings);

/* An empty text is NULL. */
static inline void query_result_text(sqlite3_context *result, const gchar *text)
{
	if (text && *text)
		sqlite3_result_text(result, text, -1, SQLITE_STATIC);
}

static inline void query_result_string(sqlite3_context *result, const struct query_data *data,
				       guint32 string)
{
	query_result_text(result, tacho_timeline_string(data->timeline, string));
}

/* Negative: NULL. */
static inline void query_result_optional(sqlite3_context *result, gint64 value)
{
	if (value >= 0)
		sqlite3_result_int64(result, value);
}

/* TACHO_NONE: NULL. */
static inline void query_result_id(sqlite3_context *result, guint32 id)
{
	if (id != TACHO_NONE)
		sqlite3_result_int64(result, id);
}

/* The rank of a process; NULL: it has none, or `process` is TACHO_NONE. */
void query_result_rank(sqlite3_context *result, const struct query_data *data, guint32 process);
void query_result_rank_of_slice(sqlite3_context *result, const struct query_data *data,
				guint32 slice);
/* The number of the step in which `time_ns` lies on the rank of `process`; NULL: none. */
void query_result_step(sqlite3_context *result, const struct query_data *data, guint32 process,
		       gint64 time_ns);

#endif
