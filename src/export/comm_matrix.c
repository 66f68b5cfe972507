#include "export/comm_matrix.h"

#include <string.h>

#include "base/for_each.h"

static guint64 *cell(struct comm_matrix *matrix, guint32 from, guint32 to)
{
	return &matrix->bytes[(gsize)from * matrix->n_ranks + to];
}

static void add(struct comm_matrix *matrix, guint32 from, guint32 to, guint64 bytes)
{
	guint64 *sum = cell(matrix, from, to);

	*sum = bytes > G_MAXUINT64 - *sum ? G_MAXUINT64 : *sum + bytes; /* a broken trace */
}

/* --- messages ----------------------------------------------------------------------------------- */

static gboolean add_messages(struct comm_matrix *matrix, const struct export_scope *scope)
{
	const TachoTimeline *timeline = scope->timeline;
	gboolean is_any = FALSE;

	FOR_EACH(const TachoMessage, message, timeline->messages) {
		if (message->is_receive || !export_scope_has_slice(scope, message->slice))
			continue;
		if (message->peer_process == TACHO_NONE) {
			matrix->n_outside++;
			continue;
		}
		add(matrix, tacho_slice_process(timeline, message->slice)->rank_index,
		    tacho_timeline_process(timeline, message->peer_process)->rank_index,
		    message->bytes);
		is_any = TRUE;
	}
	return is_any;
}

/* --- collectives -------------------------------------------------------------------------------- */

/* What the collectives of a group say together. */
struct group {
	guint64 bytes;
	guint8 *has_rank; /* by rank index */
};

static void free_group(gpointer data)
{
	struct group *group = data;

	g_free(group->has_rank);
	g_free(group);
}

static struct group *find_group(GHashTable *groups, guint32 number, guint n_ranks)
{
	struct group *group = g_hash_table_lookup(groups, GUINT_TO_POINTER(number));

	if (group)
		return group;
	group = g_new0(struct group, 1);
	group->has_rank = g_new0(guint8, n_ranks);
	g_hash_table_insert(groups, GUINT_TO_POINTER(number), group);
	return group;
}

static void add_collective(GHashTable *groups, const struct export_scope *scope,
			   const TachoCollective *collective)
{
	const TachoTimeline *timeline = scope->timeline;
	struct group *group = find_group(groups, collective->group, timeline->ranks->len);
	gboolean is_in_scope = FALSE;

	for (guint32 i = 0; i < collective->n_members; i++) {
		guint32 slice =
			g_array_index(timeline->members, guint32, collective->first_member + i);

		group->has_rank[tacho_slice_process(timeline, slice)->rank_index] = 1;
		is_in_scope |= export_scope_has_slice(scope, slice);
	}
	if (is_in_scope && collective->n_members > 1 &&
	    collective->bytes <= G_MAXUINT64 - group->bytes)
		group->bytes += collective->bytes;
}

static void add_group(struct comm_matrix *matrix, const struct group *group)
{
	for (guint from = 0; from < matrix->n_ranks; from++)
		for (guint to = 0; group->has_rank[from] && to < matrix->n_ranks; to++)
			if (to != from && group->has_rank[to])
				add(matrix, from, to, group->bytes);
}

static gboolean add_collectives(struct comm_matrix *matrix, const struct export_scope *scope)
{
	const TachoTimeline *timeline = scope->timeline;
	g_autoptr(GHashTable) groups = g_hash_table_new_full(NULL, NULL, NULL, free_group);
	gboolean is_any = FALSE;

	for (guint i = 0; i < timeline->collectives->len; i++)
		add_collective(groups, scope,
			       &g_array_index(timeline->collectives, TachoCollective, i));
	FOR_EACH_ENTRY(entry, groups) {
		add_group(matrix, entry.value);
		is_any |= ((const struct group *)entry.value)->bytes > 0;
	}
	return is_any;
}

/* --- the whole ---------------------------------------------------------------------------------- */

void comm_matrix_init(struct comm_matrix *matrix, const struct export_scope *scope)
{
	memset(matrix, 0, sizeof(*matrix));
	matrix->n_ranks = scope->timeline->ranks->len;
	if (matrix->n_ranks < 2 || matrix->n_ranks > COMM_MATRIX_MAX_RANKS)
		return;
	matrix->bytes = g_new0(guint64, (gsize)matrix->n_ranks * matrix->n_ranks);
	if (add_messages(matrix, scope))
		matrix->source = COMM_MATRIX_MESSAGES;
	else if (add_collectives(matrix, scope))
		matrix->source = COMM_MATRIX_COLLECTIVES;
}

void comm_matrix_release(struct comm_matrix *matrix)
{
	g_free(matrix->bytes);
}

static void write_row(const struct comm_matrix *matrix, guint from, JsonWriter *json)
{
	json_writer_begin_array(json);
	for (guint to = 0; to < matrix->n_ranks; to++)
		json_writer_unsigned(json, matrix->bytes[(gsize)from * matrix->n_ranks + to]);
	json_writer_end_array(json);
}

void comm_matrix_write_json(const struct comm_matrix *matrix, const TachoTimeline *timeline,
			    JsonWriter *json)
{
	static const gchar *const sources[] = { "nothing", "messages", "collectives" };
	gboolean is_there = matrix->source != COMM_MATRIX_NOTHING;

	json_writer_begin_object(json);
	json_writer_string(json_writer_key(json, "source"), sources[matrix->source]);
	json_writer_begin_array(json_writer_key(json, "ranks"));
	for (guint i = 0; is_there && i < matrix->n_ranks; i++)
		json_writer_integer(json, tacho_timeline_rank(timeline, i)->rank);
	json_writer_end_array(json);
	json_writer_begin_array(json_writer_key(json, "bytes"));
	for (guint i = 0; is_there && i < matrix->n_ranks; i++)
		write_row(matrix, i, json);
	json_writer_end_array(json);
	json_writer_unsigned(json_writer_key(json, "outside"), matrix->n_outside);
	json_writer_end_object(json);
}
