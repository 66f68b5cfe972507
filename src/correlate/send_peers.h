/* send_peers: who a host's sends and receives were with, as their messages tell. */
#ifndef TACHO_SEND_PEERS_H
#define TACHO_SEND_PEERS_H

#include <tacho/timeline.h>

typedef struct send_peers send_peers;

/* For all sends and receives on hosts whose trace does not tell the peer; needs the rows of messages. The result is the
 * caller's, to end with send_peers_free(). */
send_peers *send_peers_new(const TachoTimeline *timeline);
void send_peers_free(send_peers *peers);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(send_peers, send_peers_free)

/* The index of the other's rank, or TACHO_NONE: not known. */
guint32 send_peers_find(const send_peers *peers, guint32 slice);

#endif
