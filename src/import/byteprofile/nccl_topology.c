#include "import/byteprofile/nccl_topology.h"

#include <string.h>

#include "import/read/small_file.h"

enum {
	MAX_RANKS = 1 << 20,
	MAX_CHANNELS = 1 << 10,
};

struct nccl_topology *nccl_topology_new(void)
{
	struct nccl_topology *topology = g_new(struct nccl_topology, 1);

	topology->next = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	topology->previous = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	topology->parent = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
	topology->children = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, g_free);
	return topology;
}

void nccl_topology_free(struct nccl_topology *topology)
{
	g_hash_table_unref(topology->next);
	g_hash_table_unref(topology->previous);
	g_hash_table_unref(topology->parent);
	g_hash_table_unref(topology->children);
	g_free(topology);
}

/* --- neighbours ------------------------------------------------------------------------------- */

static gint64 key_of(guint32 channel, guint32 rank)
{
	return (gint64)((guint64)channel << 32 | rank);
}

static void set_neighbour(GHashTable *table, guint32 channel, guint32 rank, guint32 neighbour)
{
	gint64 key = key_of(channel, rank);

	g_hash_table_insert(table, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(neighbour + 1));
}

static gint32 neighbour_of(GHashTable *table, guint32 channel, gint32 rank)
{
	gint64 key = key_of(channel, (guint32)rank);

	return (gint32)GPOINTER_TO_UINT(g_hash_table_lookup(table, &key)) - 1;
}

void nccl_topology_add_ring(struct nccl_topology *topology, guint32 channel, guint32 from,
			    guint32 to)
{
	set_neighbour(topology->next, channel, from, to);
	set_neighbour(topology->previous, channel, to, from);
}

gboolean nccl_topology_has_ring(const struct nccl_topology *topology)
{
	return g_hash_table_size(topology->next) > 0;
}

gint32 nccl_topology_next(const struct nccl_topology *topology, guint32 channel, gint32 rank)
{
	return neighbour_of(topology->next, channel, rank);
}

gint32 nccl_topology_previous(const struct nccl_topology *topology, guint32 channel, gint32 rank)
{
	return neighbour_of(topology->previous, channel, rank);
}

gint32 nccl_topology_parent(const struct nccl_topology *topology, guint32 channel, gint32 rank)
{
	return neighbour_of(topology->parent, channel, rank);
}

gint32 nccl_topology_child(const struct nccl_topology *topology, guint32 channel, gint32 rank,
			   guint index)
{
	gint64 key = key_of(channel, (guint32)rank);
	const gint32 *children = g_hash_table_lookup(topology->children, &key);

	return children && index < NCCL_MAX_CHILDREN ? children[index] : -1;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* A number at *at, which moves behind it; -1: there is none, or it is no rank. */
static gint32 read_rank(const gchar **at)
{
	gchar *end;
	gint64 value = g_ascii_strtoll(*at, &end, 10);

	if (end == *at)
		return -1;
	*at = end;
	return value >= 0 && value < MAX_RANKS ? (gint32)value : -1;
}

/* "3[3000] -> 0[2000] [receive],0[2000] -> 1[3000] [send]" */
static void read_ring(struct nccl_topology *topology, guint32 channel, const gchar *text)
{
	g_auto(GStrv) ways = g_strsplit(text, ",", -1);

	for (guint i = 0; ways[i]; i++) {
		const gchar *arrow = strstr(ways[i], "->"), *at = ways[i];
		gint32 from, to;

		if (!arrow)
			continue;
		from = read_rank(&at);
		at = arrow + strlen("->");
		to = read_rank(&at);
		if (from >= 0 && to >= 0 && from != to)
			nccl_topology_add_ring(topology, channel, (guint32)from, (guint32)to);
	}
}

/* "1/2/-1->0->3", of a channel. */
static void read_branch(struct nccl_topology *topology, guint32 channel, const gchar *at)
{
	gint32 children[NCCL_MAX_CHILDREN] = { -1, -1, -1 }, rank, parent;
	gint64 key;

	for (guint i = 0; i < NCCL_MAX_CHILDREN; i++) {
		children[i] = read_rank(&at);
		if (*at != '/')
			break;
		at++;
	}
	if (!g_str_has_prefix(at, "->"))
		return;
	at += strlen("->");
	rank = read_rank(&at);
	if (rank < 0 || !g_str_has_prefix(at, "->"))
		return;
	at += strlen("->");
	parent = read_rank(&at);
	key = key_of(channel, (guint32)rank);
	g_hash_table_insert(topology->children, g_memdup2(&key, sizeof(key)),
			    g_memdup2(children, sizeof(children)));
	if (parent >= 0)
		set_neighbour(topology->parent, channel, (guint32)rank, (guint32)parent);
}

static void read_trees(struct nccl_topology *topology, const gchar *text)
{
	const gchar *at = text;

	while ((at = strchr(at, '['))) {
		gint32 channel;

		at++;
		channel = read_rank(&at);
		if (channel < 0 || channel >= MAX_CHANNELS || *at != ']')
			continue;
		at++;
		while (*at == ' ')
			at++;
		read_branch(topology, (guint32)channel, at);
	}
}

static gchar *read_text(struct json_scan *scan)
{
	struct json_text text;

	if (json_peek(scan) != '"') {
		json_skip(scan);
		return NULL;
	}
	return json_string(scan, &text) ? json_text_dup(&text) : NULL;
}

static gboolean read_channel(const struct json_text *key, guint32 *ret_channel)
{
	g_autofree gchar *digits = g_strndup(key->bytes, key->n);
	guint64 channel;

	if (!g_ascii_string_to_unsigned(digits, 10, 0, MAX_CHANNELS, &channel, NULL))
		return FALSE;
	*ret_channel = (guint32)channel;
	return TRUE;
}

static void read_part(struct nccl_topology *topology, struct json_scan *scan, gboolean is_ring)
{
	struct json_text key;

	if (!json_enter(scan, '{'))
		return;
	while (json_member(scan, &key)) {
		g_autofree gchar *text = read_text(scan);
		guint32 channel;

		if (text && !is_ring)
			read_trees(topology, text);
		else if (text && read_channel(&key, &channel))
			read_ring(topology, channel, text);
	}
}

void nccl_topology_read(struct nccl_topology *topology, const gchar *path)
{
	g_autoptr(GByteArray) bytes = small_file_read(path);
	struct json_scan scan;
	struct json_text key;

	if (!bytes)
		return;
	scan = small_file_scan(bytes);
	if (!json_enter(&scan, '{'))
		return;
	while (json_member(&scan, &key)) {
		if (JSON_TEXT_IS(&key, "RealRing"))
			read_part(topology, &scan, TRUE);
		else if (JSON_TEXT_IS(&key, "Tree"))
			read_part(topology, &scan, FALSE);
		else
			json_skip(&scan);
	}
}
