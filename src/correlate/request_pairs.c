/* request_pairs: which call of a client is which that a server handled (gRPC, TensorFlow).
 *
 * gRPC numbers no calls for both ends to see. A client knows its end of the connection, and a server who it talks to; so calls of
 * one method over one connection are two rows, in the order in which they began. TensorFlow numbers them: those of one method and one
 * number are such rows, mostly of one call each.
 *
 *     client   | 1: 40 out, 8 in |  2: failed  | 3: 64 out, 8 in |
 *     server   | 40 in, 8 out    |             | 64 in, 8 out    |
 *
 * (1) Each of a server belongs to the first of the client which sent what the server received, and received what it sent, and which no other
 *     belongs to. Calls that never arrived, and those that overtook others, are so told apart by their bytes.
 * (2) A pair is exact where both rows are equally long, all of them fit, and the client had no other call of the row under way: then nothing else
 *     could have been meant. All others are inferred.
 * (3) A call that the client gave up by itself may go on at the server: such a pair is an arrow that says nothing of clocks.
 * (4) Times of two hosts are not compared: their clocks may be apart.
 * (5) Of a number 32 bits are known. Where two calls have the same, (1) tells them apart. */
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "correlate/correlate_internal.h"

/* So many calls of a client are looked at for one of a server. */
#define MAX_SKIPPED 1024

/* One end of a call. */
struct request {
	TachoRequestArgs args;
	guint32 slice, name;
	guint32 loopback; /* string id of the host + 1 where the address is the loopback's, else 0 */
	gint64 start_ns, end_ns;
	guint32 host;	   /* string id */
	gboolean is_alone; /* no other of its row overlaps it */
	gboolean is_taken;
};

/* All of one method, and one connection or number: those of the client, then the server's. */
struct row {
	struct request *client, *server;
	guint n_client, n_server;
};

static const TachoEndpoint *end_of_client(const struct request *request)
{
	return request->args.is_server ? &request->args.peer : &request->args.local;
}

static gboolean is_loopback(const TachoEndpoint *endpoint)
{
	static const guint8 ipv4[13] = { [10] = 0xff, [11] = 0xff, [12] = 127 };
	static const guint8 ipv6[16] = { [15] = 1 };

	return memcmp(endpoint->address, ipv4, sizeof(ipv4)) == 0 ||
	       memcmp(endpoint->address, ipv6, sizeof(ipv6)) == 0;
}

static GArray *collect(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;
	GArray *requests = g_array_new(FALSE, FALSE, sizeof(struct request));

	for (guint32 i = 0; i < slices->n; i++) {
		struct request request = { .slice = i, .name = slices->name[i], .is_alone = TRUE };
		const TachoEndpoint *client;
		const TachoProcess *process;

		if (slices->kind[i] != TACHO_SLICE_EVENT ||
		    !tacho_slice_request(timeline, i, &request.args))
			continue;
		client = end_of_client(&request);
		if (!client->port && !request.args.key)
			continue;
		process = track_process(timeline, slices->track[i]);
		request.host = process ? process->host : TACHO_NONE;
		if (process && is_loopback(client))
			request.loopback = process->host + 1;
		request.start_ns = slices->start_ns[i];
		request.end_ns = tacho_slice_end_ns(timeline, i);
		g_array_append_val(requests, request);
	}
	return requests;
}

static gint compare_rows(const struct request *a, const struct request *b)
{
	const TachoEndpoint *x = end_of_client(a), *y = end_of_client(b);

	return ORDER(a->name, b->name) ?:
	       ORDER(a->args.key, b->args.key) ?:
	       ORDER(a->loopback, b->loopback) ?:
	       ORDER(x->port, y->port) ?:
	       memcmp(x->address, y->address, sizeof(x->address));
}

static gint compare_requests(gconstpointer first, gconstpointer second)
{
	const struct request *a = first, *b = second;

	return compare_rows(a, b) ?: ORDER(a->args.is_server, b->args.is_server) ?:
	       ORDER(a->start_ns, b->start_ns) ?: ORDER(a->slice, b->slice);
}

/* --- one row ---------------------------------------------------------------------------------- */

static void find_alone(struct request *requests, guint n)
{
	gint64 last_end_ns = G_MININT64;

	for (guint i = 0; i < n; i++) {
		if (i > 0 && requests[i].start_ns < last_end_ns)
			requests[i - 1].is_alone = requests[i].is_alone = FALSE;
		last_end_ns = MAX(last_end_ns, requests[i].end_ns);
	}
}

static gboolean is_open(const TachoTimeline *timeline, const struct request *request)
{
	return (timeline->slices.flags[request->slice] & TACHO_SLICE_OPEN) != 0;
}

/* A call that was cut short on either side fits as far as it went. On one host there is one clock. */
static gboolean fits(const TachoTimeline *timeline, const struct request *client,
		     const struct request *server)
{
	const TachoRequestArgs *asked = &client->args, *done = &server->args;

	if (client->host == server->host &&
	    (server->start_ns < client->start_ns || server->start_ns > client->end_ns))
		return FALSE;
	if (is_open(timeline, client) || is_open(timeline, server) || asked->status || done->status)
		return done->received_bytes <= asked->sent_bytes &&
		       asked->received_bytes <= done->sent_bytes;
	return done->received_bytes == asked->sent_bytes &&
	       asked->received_bytes == done->sent_bytes;
}

/* Whether the answer that the client has is the server's: it may have given up by itself. gRPC's codes. */
static gboolean is_whole(const TachoTimeline *timeline, const struct request *client,
			 const struct request *server)
{
	enum { CANCELLED = 1, DEADLINE_EXCEEDED = 4 };
	guint32 status = client->args.status;

	return !is_open(timeline, client) && !is_open(timeline, server) &&
	       status == server->args.status && status != CANCELLED && status != DEADLINE_EXCEEDED;
}

/* The first of the client that may be the server's `request`; NULL: there is none. */
static struct request *find_client(const TachoTimeline *timeline, const struct row *row, guint next,
				   const struct request *server)
{
	guint last = MIN(row->n_client, next + MAX_SKIPPED);

	for (guint i = next; i < last; i++)
		if (!row->client[i].is_taken && fits(timeline, &row->client[i], server))
			return &row->client[i];
	return NULL;
}

static void pair_row(TachoTimeline *timeline, const struct row *row)
{
	guint first = timeline->flows->len, next = 0, n_paired = 0;
	gboolean has_all;

	find_alone(row->client, row->n_client);
	for (guint i = 0; i < row->n_server; i++) {
		const struct request *server = &row->server[i];
		struct request *client = find_client(timeline, row, next, server);
		TachoFlow flow = { .to = server->slice };

		if (!client)
			continue;
		client->is_taken = TRUE;
		flow.from = client->slice;
		flow.kind =
			is_whole(timeline, client, server) ? TACHO_FLOW_REQUEST : TACHO_FLOW_OTHER;
		flow.is_exact = client->is_alone;
		g_array_append_val(timeline->flows, flow);
		n_paired++;
		while (next < row->n_client && row->client[next].is_taken)
			next++;
	}
	has_all = n_paired == row->n_client && n_paired == row->n_server;
	for (guint i = first; !has_all && i < timeline->flows->len; i++)
		g_array_index(timeline->flows, TachoFlow, i).is_exact = FALSE;
}

void pair_requests(TachoTimeline *timeline)
{
	g_autoptr(GArray) requests = collect(timeline);
	struct request *all = (struct request *)(gpointer)requests->data;

	g_array_sort(requests, compare_requests);
	for (guint first = 0, n; first < requests->len; first += n) {
		struct row row = { .client = all + first };

		for (n = 0;
		     first + n < requests->len && compare_rows(&all[first], &all[first + n]) == 0;
		     n++)
			row.n_client += !all[first + n].args.is_server;
		row.n_server = n - row.n_client;
		row.server = row.client + row.n_client;
		pair_row(timeline, &row);
	}
}
