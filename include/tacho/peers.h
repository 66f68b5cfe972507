/* peers: the processes that make one report together, each of its share of the run's ranks.
 *
 *     tacho_peers_new() --> tacho_peers_exchange(), tacho_peers_sum() ... --> tacho_peers_end()
 *                                        |                                        ^
 *                                        '--- one of them fails: none exchanges --'
 *
 * (1) All do the same exchanges in the same order, whatever their shares hold. What decides whether there is one is known to
 *     all of them, and the same.
 * (2) Before anything is exchanged, all agree on what it is and how large. Who has failed says so there, and then all have
 *     failed: nobody waits for one that is gone, and nobody prints half a report.
 * (3) What comes of another process is checked like a file: it may be another version of tacho, or its run another one.
 *
 * Not for several threads at once. */
#ifndef TACHO_PEERS_H
#define TACHO_PEERS_H

#include <glib.h>

G_BEGIN_DECLS

/* How the processes reach each other. All of them are called by all processes, and return false where that failed. */
typedef struct {
	/* Put the `n_bytes` of each process, the same number in all, into `ret_all`, by process. */
	gboolean (*gather)(gpointer data, gconstpointer bytes, gsize n_bytes, gpointer ret_all);
	/* Give the bytes of process `from` to all others, whose `bytes` has room for them. */
	gboolean (*share)(gpointer data, guint from, gpointer bytes, gsize n_bytes);
	/* Give the bytes of process `from`, which is not 0, to process 0, whose `bytes` has room for them; the others have none. */
	gboolean (*bring)(gpointer data, guint from, gpointer bytes, gsize n_bytes);
} TachoPeerCalls;

typedef struct _TachoPeers TachoPeers;

/* This process is number `index` of `n`. `calls` and `data` live as long as the result, which is the caller's, to end with
 * tacho_peers_free(). */
TachoPeers *tacho_peers_new(guint index, guint n, const TachoPeerCalls *calls, gpointer data);
void tacho_peers_free(TachoPeers *peers);
guint tacho_peers_index(const TachoPeers *peers);
guint tacho_peers_count(const TachoPeers *peers);

/* Use what process `from` has sent: `bytes` are good until it returns. False: they cannot be what it should have sent. */
typedef gboolean (*TachoPeerReader)(guint from, const guint8 *bytes, gsize n_bytes, gpointer data);

/* Send `bytes` to all, and have `read` called with those of each process in turn, this one's own included. `what` names the
 * exchange in error messages, and is the same in all. False: some process has failed, and tacho_peers_failure() says why. */
gboolean tacho_peers_exchange(TachoPeers *peers, const gchar *what, gconstpointer bytes,
			      gsize n_bytes, TachoPeerReader read, gpointer data);
/* Append what is next to be told to `bytes`, about TACHO_PEERS_PIECE_BYTES of it; nothing: all has been told. */
#define TACHO_PEERS_PIECE_BYTES (1u << 22)
typedef void (*TachoPeerPacker)(GByteArray *bytes, gpointer data);
/* Have `read` called in process 0 with what `pack` gives in the others: of one process after the other, piece by piece, so
 * that no process needs room for all of what another has. False: as above. */
gboolean tacho_peers_collect(TachoPeers *peers, const gchar *what, TachoPeerPacker pack,
			     TachoPeerReader read, gpointer data);
/* Make each of `n` numbers the sum of those of all processes; and: the least of them. */
gboolean tacho_peers_sum(TachoPeers *peers, const gchar *what, guint64 *values, guint n);
gboolean tacho_peers_least(TachoPeers *peers, const gchar *what, gint64 *value);

/* This process has failed: the others will be told with the next exchange. The first message counts. */
void tacho_peers_fail(TachoPeers *peers, const gchar *message);
/* Why no process goes on, as the first that failed has told all; NULL: all go on. */
const gchar *tacho_peers_failure(const TachoPeers *peers);

/* The last exchange: the largest of all processes' codes; -1 where one has failed. */
gint tacho_peers_end(TachoPeers *peers, gint code);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoPeers, tacho_peers_free)

G_END_DECLS

#endif
