#include "query/query_share.h"

#include <string.h>

#include <tacho/query.h>

#include "analyze/group_exchange.h"
#include "base/for_each.h"
#include "base/hash_mix.h"
#include "query/query_guard.h"
#include "query/query_split.h"
#include "query/query_table.h"

/* --- what a statement reads ---------------------------------------------------------------------- */

/* Tables that all processes have whole; of slices each has its own. */
static const struct query_table *const shared_tables[] = {
	&query_table_slice,	 &query_table_track,
	&query_table_thread,	 &query_table_process,
	&query_table_step,	 &query_table_problem,
	&query_table_collective, &query_table_collective_member,
};

/* Columns of these that are numbers of slices, or how many there are in this process. */
static const struct {
	const gchar *table, *column;
} own_columns[] = {
	{ "slice", "id" },	  { "slice", "parent_id" }, { "slice", "arg_set_id" },
	{ "slice", "launch_id" }, { "slice", "rowid" },	    { "collective_member", "slice_id" },
	{ "track", "n_slices" },
};

struct reads {
	gboolean has_slices, has_track_numbers;
	guint n_selects;
	gchar *refused; /* what keeps it from being shared; NULL: nothing does */
};

static gboolean is_shared_table(const gchar *table)
{
	for (guint i = 0; i < G_N_ELEMENTS(shared_tables); i++)
		if (g_ascii_strcasecmp(shared_tables[i]->name, table) == 0)
			return TRUE;
	return g_str_has_prefix(table, "sqlite_");
}

static void note_read(struct reads *reads, const gchar *table, const gchar *column)
{
	gboolean is_refused = !is_shared_table(table);

	for (guint i = 0; i < G_N_ELEMENTS(own_columns); i++)
		is_refused |= g_ascii_strcasecmp(table, own_columns[i].table) == 0 &&
			      g_ascii_strcasecmp(column, own_columns[i].column) == 0;
	if (is_refused && !reads->refused)
		reads->refused = is_shared_table(table) ? g_strdup_printf("%s.%s", table, column)
							: g_strdup_printf("the table %s", table);
	reads->has_slices |= g_ascii_strcasecmp(table, "slice") == 0;
	reads->has_track_numbers |= g_ascii_strcasecmp(table, "track") == 0 ||
				    g_ascii_strcasecmp(column, "track_id") == 0;
}

static int look(void *reads_pointer, int action, const char *first, const char *second,
		const char *database, const char *inner)
{
	struct reads *reads = reads_pointer;

	if (action == SQLITE_READ)
		note_read(reads, first, second);
	else if (action == SQLITE_SELECT)
		reads->n_selects++;
	return query_guard_allow(NULL, action, first, second, database, inner);
}

static gboolean find_reads(sqlite3 *db, const gchar *sql, struct reads *reads)
{
	sqlite3_stmt *statement = NULL;
	int status;

	sqlite3_set_authorizer(db, look, reads);
	status = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
	sqlite3_finalize(statement);
	sqlite3_set_authorizer(db, query_guard_allow, NULL);
	return status == SQLITE_OK;
}

/* Tracks that only their owners have, of samples say, give the others other numbers. */
static gboolean have_same_tracks(const TachoTimeline *timeline)
{
	guint64 hash = hash_mix(HASH_MIX_START, timeline->tracks->len);
	gint64 own, least;

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		hash = hash_mix(hash_mix(hash, track->process), track->kind);
		hash = hash_mix(hash_mix(hash, track->tid),
				g_str_hash(tacho_timeline_string(timeline, track->name)));
	}
	own = least = (gint64)hash;
	if (!tacho_peers_least(timeline->share->peers, "tracks", &least))
		return FALSE;
	least = least != own;
	least = -least; /* one that differs makes it less than 0 for all */
	return tacho_peers_least(timeline->share->peers, "equal tracks", &least) && least == 0;
}

static gboolean refuse(GError **error, const gchar *what)
{
	g_set_error(
		error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_SQL,
		"several processes cannot answer what reads %s, of which each has other rows; run "
		"it as one process, without the launcher",
		what);
	return FALSE;
}

/* --- the part ------------------------------------------------------------------------------------ */

enum { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_BYTES, CELL_TEXT };

static void pack_cell(GByteArray *bytes, sqlite3_stmt *statement, int column)
{
	sqlite3_int64 integer;
	gdouble real;
	gint type = sqlite3_column_type(statement, column);

	switch (type) {
	case SQLITE_INTEGER:
		pack_uint32(bytes, CELL_INTEGER);
		integer = sqlite3_column_int64(statement, column);
		pack_bytes(bytes, &integer, sizeof(integer));
		break;
	case SQLITE_FLOAT:
		pack_uint32(bytes, CELL_REAL);
		real = sqlite3_column_double(statement, column);
		pack_bytes(bytes, &real, sizeof(real));
		break;
	case SQLITE_TEXT:
	case SQLITE_BLOB:
		pack_uint32(bytes, type == SQLITE_TEXT ? CELL_TEXT : CELL_BYTES);
		integer = sqlite3_column_bytes(statement, column);
		pack_uint32(bytes, (guint32)integer);
		pack_bytes(bytes, sqlite3_column_blob(statement, column), (gsize)integer);
		break;
	default:
		pack_uint32(bytes, CELL_NULL);
	}
}

/* Sums of reals hang on their order, and so may the mean of so many whole numbers. */
static gboolean adds_up(const TachoTimeline *timeline, sqlite3_stmt *statement, int column)
{
	int type = sqlite3_column_type(statement, column);

	return type == SQLITE_NULL ||
	       (type == SQLITE_INTEGER &&
		run_share_adds_up(timeline, ABS((gdouble)sqlite3_column_int64(statement, column))));
}

static gboolean fail_part(sqlite3 *db, GError **error)
{
	g_set_error(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_SQL,
		    "several processes cannot answer this: %s", sqlite3_errmsg(db));
	return FALSE;
}

/* The rows of this process's slices behind `bytes`. */
static gboolean pack_rows(GByteArray *bytes, sqlite3 *db, sqlite3_stmt *statement,
			  const TachoTimeline *timeline, const struct query_split *split,
			  GError **error)
{
	int status;

	while ((status = sqlite3_step(statement)) == SQLITE_ROW)
		for (guint i = 0; i < split->is_sum->len; i++) {
			if (g_array_index(split->is_sum, gboolean, i) &&
			    !adds_up(timeline, statement, (int)i)) {
				g_set_error(
					error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_SQL,
					"several processes cannot make %s exactly, as it is no "
					"sum of whole numbers below 2^53; divide the sum instead "
					"of what is summed up, or run it as one process, without "
					"the launcher",
					sqlite3_column_name(statement, (int)i));
				return FALSE;
			}
			pack_cell(bytes, statement, (int)i);
		}
	return status == SQLITE_DONE || fail_part(db, error);
}

/* The table that the whole is asked of: columns compare as those of the run do. */
static gboolean make_table(struct query_share *share, sqlite3_stmt *part,
			   const struct query_split *split, GError **error)
{
	g_autoptr(GString) sql = g_string_new("CREATE TABLE part(");

	for (guint i = 0; i < split->is_sum->len; i++) {
		const char *type =
			i < split->n_groups ? sqlite3_column_decltype(part, (int)i) : NULL;

		g_string_append_printf(sql, "%sc%u %s", i ? ", " : "", i, type ? type : "");
	}
	g_string_append_c(sql, ')');
	if (sqlite3_open_v2(":memory:", &share->rows,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK ||
	    sqlite3_exec(share->rows, sql->str, NULL, NULL, NULL) != SQLITE_OK)
		return fail_part(share->rows, error);
	return TRUE;
}

/* --- the rows of all ------------------------------------------------------------------------------ */

struct gathering {
	sqlite3_stmt *insert;
	guint n_columns;
};

static gboolean take_cell(struct packed_bytes *packed, sqlite3_stmt *insert, int number)
{
	sqlite3_int64 integer;
	gdouble real;
	guint32 type, n;
	const void *at;

	if (!unpack_bytes(packed, &type, sizeof(type)))
		return FALSE;
	switch (type) {
	case CELL_NULL:
		return sqlite3_bind_null(insert, number) == SQLITE_OK;
	case CELL_INTEGER:
		return unpack_bytes(packed, &integer, sizeof(integer)) &&
		       sqlite3_bind_int64(insert, number, integer) == SQLITE_OK;
	case CELL_REAL:
		return unpack_bytes(packed, &real, sizeof(real)) &&
		       sqlite3_bind_double(insert, number, real) == SQLITE_OK;
	case CELL_TEXT:
	case CELL_BYTES:
		if (!unpack_count(packed, &n, 1) || n > G_MAXINT32)
			return FALSE;
		at = packed->at;
		packed->at += n;
		packed->n_left -= n;
		return (type == CELL_TEXT
				? sqlite3_bind_text(insert, number, at, (int)n, SQLITE_TRANSIENT)
				: sqlite3_bind_blob(insert, number, at, (int)n,
						    SQLITE_TRANSIENT)) == SQLITE_OK;
	default:
		return FALSE;
	}
}

static gboolean take_row(guint from, struct packed_bytes *packed, gpointer gathering_pointer)
{
	const struct gathering *gathering = gathering_pointer;

	(void)from;
	for (guint i = 0; i < gathering->n_columns; i++)
		if (!take_cell(packed, gathering->insert, (int)i + 1))
			return FALSE;
	return sqlite3_step(gathering->insert) == SQLITE_DONE &&
	       sqlite3_reset(gathering->insert) == SQLITE_OK;
}

static gboolean gather(struct query_share *share, const TachoTimeline *timeline,
		       const struct query_split *split, const GByteArray *bytes, GError **error)
{
	g_autoptr(GString) sql = g_string_new("INSERT INTO part VALUES(");
	struct gathering gathering = { NULL, split->is_sum->len };

	for (guint i = 0; i < split->is_sum->len; i++)
		g_string_append(sql, i ? ", ?" : "?");
	g_string_append_c(sql, ')');
	if (sqlite3_exec(share->rows, "BEGIN", NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(share->rows, sql->str, -1, &gathering.insert, NULL) != SQLITE_OK)
		return fail_part(share->rows, error);
	group_exchange(timeline, "rows", bytes, take_row, &gathering);
	sqlite3_finalize(gathering.insert);
	if (tacho_peers_failure(timeline->share->peers)) {
		g_set_error_literal(error, TACHO_QUERY_ERROR, TACHO_QUERY_ERROR_SQL,
				    tacho_peers_failure(timeline->share->peers));
		return FALSE;
	}
	if (sqlite3_exec(share->rows, "COMMIT", NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(share->rows, split->whole, -1, &share->statement, NULL) != SQLITE_OK)
		return fail_part(share->rows, error);
	return TRUE;
}

/* --- as one -------------------------------------------------------------------------------------- */

/* The names of all columns of the tables that may be read. */
static GHashTable *column_names(void)
{
	GHashTable *names = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < G_N_ELEMENTS(shared_tables); i++)
		for (guint k = 0; k < shared_tables[i]->n_columns; k++)
			g_hash_table_add(names, (gpointer)shared_tables[i]->columns[k].name);
	return names;
}

static gboolean ask(struct query_share *share, sqlite3 *db, const TachoTimeline *timeline,
		    const struct query_split *split, GError **error)
{
	g_autoptr(GByteArray) bytes = g_byte_array_new();
	sqlite3_stmt *part = NULL;
	GError *local = NULL;
	gboolean is_asked;

	if (sqlite3_prepare_v2(db, split->part, -1, &part, NULL) != SQLITE_OK)
		return fail_part(db, error);
	is_asked = make_table(share, part, split, &local) &&
		   pack_rows(bytes, db, part, timeline, split, &local);
	sqlite3_finalize(part);
	if (!is_asked) { /* the others may have found nothing wrong with theirs */
		tacho_peers_fail(timeline->share->peers, local->message);
		g_propagate_error(error, local);
	}
	return is_asked && gather(share, timeline, split, bytes, error);
}

gboolean query_share_init(struct query_share *share, sqlite3 *db, const TachoTimeline *timeline,
			  const gchar *sql, GError **error)
{
	g_autoptr(GHashTable) columns = NULL;
	struct reads reads = { 0 };
	struct query_split split;
	g_autofree gchar *refused = NULL;
	gboolean is_asked;

	*share = (struct query_share){ 0 };
	if (!find_reads(db, sql, &reads))
		return fail_part(db, error);
	refused = reads.refused;
	if (refused)
		return refuse(error, refused);
	if (reads.has_track_numbers && !have_same_tracks(timeline))
		return refuse(error, "numbers of tracks");
	if (!reads.has_slices)
		return TRUE;
	columns = column_names();
	if (!query_split_init(&split, sql, columns, error))
		return FALSE;
	is_asked = ask(share, db, timeline, &split, error);
	query_split_release(&split);
	return is_asked;
}

void query_share_release(struct query_share *share)
{
	sqlite3_finalize(share->statement);
	sqlite3_close_v2(share->rows);
}
