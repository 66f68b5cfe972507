/* thread_peers: threads of one test that stand for the processes that make one report together. */
#ifndef TACHO_THREAD_PEERS_H
#define TACHO_THREAD_PEERS_H

#include <tacho/peers.h>

/* Call task(peers, data) in `n` threads, each with peers of its own, and return when all have returned. */
void thread_peers_run(guint n, void (*task)(TachoPeers *peers, gpointer data), gpointer data);

/* The same, where a few bytes of what threads send each other become others, by chance, which is the same in every run. */
void thread_peers_run_damaged(guint n, guint32 seed, void (*task)(TachoPeers *peers, gpointer data),
			      gpointer data);

#endif
