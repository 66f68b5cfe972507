#include "thread_peers.h"

#include <pthread.h>
#include <string.h>

#include <tacho/graph.h>
#include <tacho/import.h>
#include <tacho/query.h>
#include <tacho/timeline.h>

struct meeting {
	pthread_barrier_t barrier;
	gconstpointer *offered; /* by thread, between two barriers */
	guint n;
	guint32 seed; /* 0: bytes come as they were sent */
};

struct participant {
	struct meeting *meeting;
	guint index;
	void (*task)(TachoPeers *peers, gpointer data);
	gpointer data;
	pthread_t thread;
	GRand *chance;
};

static gboolean gather(gpointer data, gconstpointer bytes, gsize n_bytes, gpointer ret_all)
{
	struct participant *own = data;
	struct meeting *meeting = own->meeting;

	meeting->offered[own->index] = bytes;
	pthread_barrier_wait(&meeting->barrier);
	for (guint i = 0; i < meeting->n; i++)
		memcpy((guint8 *)ret_all + i * n_bytes, meeting->offered[i], n_bytes);
	pthread_barrier_wait(&meeting->barrier);
	return TRUE;
}

/* Where that was asked for: now and then one bit becomes another. */
static void damage(struct participant *own, guint8 *bytes, gsize n_bytes)
{
	if (own->meeting->seed && g_rand_int_range(own->chance, 0, 4) == 0)
		bytes[g_rand_int(own->chance) % n_bytes] ^=
			(guint8)(1u << g_rand_int_range(own->chance, 0, 8));
}

static gboolean share(gpointer data, guint from, gpointer bytes, gsize n_bytes)
{
	struct participant *own = data;
	struct meeting *meeting = own->meeting;

	if (from == own->index)
		meeting->offered[from] = bytes;
	pthread_barrier_wait(&meeting->barrier);
	if (from != own->index) {
		memcpy(bytes, meeting->offered[from], n_bytes);
		damage(own, bytes, n_bytes);
	}
	pthread_barrier_wait(&meeting->barrier);
	return TRUE;
}

static gboolean bring(gpointer data, guint from, gpointer bytes, gsize n_bytes)
{
	struct participant *own = data;
	struct meeting *meeting = own->meeting;

	if (from == own->index)
		meeting->offered[from] = bytes;
	pthread_barrier_wait(&meeting->barrier);
	if (own->index == 0) {
		memcpy(bytes, meeting->offered[from], n_bytes);
		damage(own, bytes, n_bytes);
	}
	pthread_barrier_wait(&meeting->barrier);
	return TRUE;
}

static void *run(void *participant)
{
	static const TachoPeerCalls calls = { gather, share, bring };
	struct participant *own = participant;
	g_autoptr(TachoPeers) peers =
		tacho_peers_new(own->index, own->meeting->n, &calls, participant);

	own->task(peers, own->data);
	return NULL;
}

void thread_peers_run(guint n, void (*task)(TachoPeers *peers, gpointer data), gpointer data)
{
	thread_peers_run_damaged(n, 0, task, data);
}

void thread_peers_run_damaged(guint n, guint32 seed, void (*task)(TachoPeers *peers, gpointer data),
			      gpointer data)
{
	g_autofree struct participant *all = g_new0(struct participant, n);
	struct meeting meeting = { .offered = g_new0(gconstpointer, n), .n = n, .seed = seed };

	/* What a process makes once for itself, threads would make at once. */
	(void)TACHO_TIMELINE_ERROR, (void)TACHO_IMPORT_ERROR, (void)TACHO_QUERY_ERROR,
		(void)TACHO_GRAPH_ERROR;
	pthread_barrier_init(&meeting.barrier, NULL, n);
	for (guint i = 0; i < n; i++) {
		all[i] = (struct participant){
			.meeting = &meeting, .index = i, .task = task, .data = data
		};
		all[i].chance = g_rand_new_with_seed(seed * 64 + i);
		g_assert_cmpint(pthread_create(&all[i].thread, NULL, run, &all[i]), ==, 0);
	}
	for (guint i = 0; i < n; i++) {
		pthread_join(all[i].thread, NULL);
		g_rand_free(all[i].chance);
	}
	pthread_barrier_destroy(&meeting.barrier);
	g_free(meeting.offered);
}
