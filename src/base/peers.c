#include <tacho/peers.h>

#include <string.h>

#define MAX_MESSAGE_BYTES 4096
#define FAILED		  G_MAXUINT64 /* in the place of what is exchanged */
#define ENDED		  (G_MAXUINT64 - 1)
#define LOST		  "the connection between tacho's processes was lost"

/* What each tells before every exchange. */
struct announcement {
	guint64 what; /* its hash, or one of the above */
	guint64 n_bytes;
};

struct _TachoPeers {
	guint index, n;
	const TachoPeerCalls *calls;
	gpointer data;
	struct announcement *all; /* of the exchange under way, by process */
	guint64 n_done;		  /* exchanges, so that none is taken for another */
	gchar *own_failure;	  /* not told yet */
	gchar *failure;		  /* all know of it, or cannot be told */
};

TachoPeers *tacho_peers_new(guint index, guint n, const TachoPeerCalls *calls, gpointer data)
{
	TachoPeers *peers = g_new0(TachoPeers, 1);

	g_assert(index < n);
	peers->index = index;
	peers->n = n;
	peers->calls = calls;
	peers->data = data;
	peers->all = g_new0(struct announcement, n);
	return peers;
}

void tacho_peers_free(TachoPeers *peers)
{
	if (!peers)
		return;
	g_free(peers->all);
	g_free(peers->own_failure);
	g_free(peers->failure);
	g_free(peers);
}

guint tacho_peers_index(const TachoPeers *peers)
{
	return peers->index;
}

guint tacho_peers_count(const TachoPeers *peers)
{
	return peers->n;
}

void tacho_peers_fail(TachoPeers *peers, const gchar *message)
{
	if (!peers->own_failure)
		peers->own_failure = g_strndup(message, MAX_MESSAGE_BYTES);
}

const gchar *tacho_peers_failure(const TachoPeers *peers)
{
	return peers->failure;
}

/* All processes come to the same conclusion by themselves. */
static gboolean give_up(TachoPeers *peers, const gchar *reason)
{
	if (!peers->failure)
		peers->failure = g_strdup(reason);
	return FALSE;
}

/* What process `from` says of its failure. */
static gboolean hear_failure(TachoPeers *peers, guint from)
{
	gchar message[MAX_MESSAGE_BYTES + 1] = "";
	gsize n_bytes = peers->all[from].n_bytes;

	if (n_bytes > MAX_MESSAGE_BYTES)
		return give_up(peers, LOST);
	if (from == peers->index)
		memcpy(message, peers->own_failure, n_bytes);
	if (n_bytes && !peers->calls->share(peers->data, from, message, n_bytes))
		return give_up(peers, LOST);
	message[n_bytes] = '\0';
	return give_up(peers, *message ? message : "a process of tacho's failed");
}

static gboolean is_failed(const TachoPeers *peers, guint process)
{
	return peers->all[process].what == FAILED;
}

/* Whether all are about to exchange the same, which `peers->all` then tells the sizes of. */
static gboolean agree(TachoPeers *peers, guint64 what, guint64 n_bytes)
{
	struct announcement own = { what, n_bytes };
	gboolean is_same = TRUE;

	if (peers->failure)
		return FALSE;
	if (peers->own_failure)
		own = (struct announcement){ FAILED, strlen(peers->own_failure) };
	if (!peers->calls->gather(peers->data, &own, sizeof(own), peers->all))
		return give_up(peers, LOST);
	for (guint i = 0; i < peers->n; i++) {
		if (is_failed(peers, i))
			return hear_failure(peers, i);
		is_same &= peers->all[i].what == peers->all[0].what;
	}
	peers->n_done++;
	return is_same || give_up(peers, "the processes were not given the same arguments, or are "
					 "not the same version of tacho");
}

static guint64 hash_what(const TachoPeers *peers, const gchar *what)
{
	return (guint64)g_str_hash(what) << 24 | (peers->n_done & 0xffffff);
}

/* Whether all have what they said; this process does where `is_mine`. */
static gboolean all_have(TachoPeers *peers, gboolean is_mine)
{
	g_autofree guint8 *have = g_new0(guint8, peers->n);
	guint8 own = is_mine;

	if (!peers->calls->gather(peers->data, &own, sizeof(own), have))
		return give_up(peers, LOST);
	return !memchr(have, 0, peers->n) ||
	       give_up(peers, "there is not enough memory for what tacho's processes exchange");
}

static gsize largest_of_others(const TachoPeers *peers)
{
	gsize largest = 0;

	for (guint i = 0; i < peers->n; i++)
		if (i != peers->index)
			largest = MAX(largest, peers->all[i].n_bytes);
	return largest;
}

/* Call `read`, and let all fail with the next exchange where it refuses what process `from` has sent. */
static gboolean read_from(TachoPeers *peers, const gchar *what, guint from, const guint8 *bytes,
			  gsize n_bytes, TachoPeerReader read, gpointer data)
{
	g_autofree gchar *message = NULL;

	if (read(from, bytes, n_bytes, data))
		return TRUE;
	message = g_strdup_printf("process %u sent %s that cannot be; are all processes the same "
				  "version of tacho?",
				  from, what);
	tacho_peers_fail(peers, message);
	return FALSE;
}

gboolean tacho_peers_exchange(TachoPeers *peers, const gchar *what, gconstpointer bytes,
			      gsize n_bytes, TachoPeerReader read, gpointer data)
{
	g_autofree guint8 *room = NULL;
	gboolean is_read = TRUE;
	gsize n_room;

	if (!agree(peers, hash_what(peers, what), n_bytes))
		return FALSE;
	n_room = largest_of_others(peers);
	room = n_room < G_MAXSIZE ? g_try_malloc(n_room + 1) : NULL;
	if (!all_have(peers, room != NULL))
		return FALSE;
	for (guint from = 0; from < peers->n; from++) {
		gpointer at = from == peers->index ? (gpointer)bytes : room;
		gsize n = peers->all[from].n_bytes;

		if (n && !peers->calls->share(peers->data, from, at, n))
			return give_up(peers, LOST);
		is_read = is_read &&
			  read_from(peers, what, from, n ? at : (gpointer) "", n, read, data);
	}
	return is_read;
}

/* The next piece of process `from`, whose bytes `own` holds there, comes to process 0. False: there is none, or some process
 * has failed. */
static gboolean collect_piece(TachoPeers *peers, const gchar *what, guint from, GByteArray *own,
			      TachoPeerReader read, gpointer data)
{
	g_autofree guint8 *room = NULL;
	gsize n;

	if (!agree(peers, hash_what(peers, what), own->len) || !peers->all[from].n_bytes)
		return FALSE;
	n = peers->all[from].n_bytes;
	if (peers->index == 0)
		room = n < G_MAXSIZE ? g_try_malloc(n) : NULL;
	if (!all_have(peers, peers->index > 0 || room))
		return FALSE;
	if (!peers->calls->bring(peers->data, from, peers->index == 0 ? room : own->data, n))
		return give_up(peers, LOST);
	if (peers->index == 0)
		read_from(peers, what, from, room, n, read, data);
	return TRUE;
}

gboolean tacho_peers_collect(TachoPeers *peers, const gchar *what, TachoPeerPacker pack,
			     TachoPeerReader read, gpointer data)
{
	g_autoptr(GByteArray) own = g_byte_array_new();

	for (guint from = 1; from < peers->n; from++)
		do {
			g_byte_array_set_size(own, 0);
			if (from == peers->index)
				pack(own, data);
		} while (collect_piece(peers, what, from, own, read, data));
	return !peers->failure && !peers->own_failure;
}

/* The `n` rows of 8 bytes of each process, by process; NULL: some process has failed. */
static guint64 *gather_numbers(TachoPeers *peers, const gchar *what, const guint64 *values, guint n)
{
	g_autofree guint64 *all = NULL;

	if (!agree(peers, hash_what(peers, what), n))
		return NULL;
	for (guint i = 0; i < peers->n; i++)
		if (peers->all[i].n_bytes != n) {
			give_up(peers, "the processes do not read the same run");
			return NULL;
		}
	all = g_new(guint64, (gsize)peers->n * n + 1);
	if (n && !peers->calls->gather(peers->data, values, n * sizeof(*values), all)) {
		give_up(peers, LOST);
		return NULL;
	}
	return g_steal_pointer(&all);
}

gboolean tacho_peers_sum(TachoPeers *peers, const gchar *what, guint64 *values, guint n)
{
	g_autofree guint64 *all = gather_numbers(peers, what, values, n);

	if (!all)
		return FALSE;
	memset(values, 0, n * sizeof(*values));
	for (guint i = 0; i < peers->n; i++)
		for (guint k = 0; k < n; k++)
			values[k] += all[(gsize)i * n + k];
	return TRUE;
}

gboolean tacho_peers_least(TachoPeers *peers, const gchar *what, gint64 *value)
{
	g_autofree guint64 *all = gather_numbers(peers, what, (const guint64 *)value, 1);

	for (guint i = 0; all && i < peers->n; i++)
		*value = MIN(*value, (gint64)all[i]);
	return all != NULL;
}

gint tacho_peers_end(TachoPeers *peers, gint code)
{
	gint largest = 0;

	if (!agree(peers, ENDED, (guint64)MAX(code, 0)))
		return -1;
	for (guint i = 0; i < peers->n; i++)
		largest = MAX(largest, (gint)MIN(peers->all[i].n_bytes, G_MAXUINT8));
	return largest;
}
