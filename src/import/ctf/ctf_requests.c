/* ctf_requests: which request that came in is which that was sent.
 *
 * (1) A key (rendezvous key, name of a method) comes again in each step. Where both sides tell the step, the n-th of a
 *     key and step that was sent is the n-th of these that came in; else the n-th of the key.
 * (2) That is exact where all of a key were sent by one process and came in at another, and as many came in as were
 *     sent, or the steps told. Else it is a guess, and where numbers differ, a problem.
 * (3) The client's span of a request is around the server's span, whatever their clocks say. */
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "import/ctf/ctf_import.h"

/* A request that was sent, or one that came in. */
struct ctf_request {
	guint32 key; /* string id */
	guint32 row;
	gint64 step; /* -1: not told */
	gint64 time_ns;
	const struct ctf_owner *owner; /* NULL: the key is of two of them */
	guint8 is_receive;
	guint8 is_span; /* the whole of it, on either side */
};

/* "step_id: 12 rendezvous_key: ..." as the client's text of a request has it; -1: it has not. */
gint64 ctf_step_of_request(const gchar *text)
{
	static const gchar mark[] = "step_id:";
	const gchar *found = text ? strstr(text, mark) : NULL;
	gchar *end;
	gint64 step;

	if (!found)
		return -1;
	found += strlen(mark);
	step = g_ascii_strtoll(found, &end, 10);
	return end == found || step < 0 ? -1 : step;
}

void ctf_add_request(struct ctf_import *ctf, const struct ctf_owner *owner, const gchar *key,
		     guint32 row, gint64 step, gint64 time_ns, gboolean is_receive,
		     gboolean is_span)
{
	struct ctf_request request = { .row = row,
				       .step = step,
				       .time_ns = time_ns,
				       .owner = owner,
				       .is_receive = (guint8)is_receive,
				       .is_span = (guint8)is_span };

	request.key = tacho_timeline_intern(ctf->timeline, key, -1);
	if (row != TACHO_NONE)
		g_array_append_val(ctf->requests, request);
}

/* --- pairing -------------------------------------------------------------------------------- */

/* By key, then who sent before who received, then by time. */
static gint compare_requests(gconstpointer first, gconstpointer second)
{
	const struct ctf_request *a = first, *b = second;

	return ORDER(a->key, b->key) ?: ORDER(a->is_receive, b->is_receive) ?:
	       ORDER(a->step, b->step) ?: ORDER(a->time_ns, b->time_ns) ?: ORDER(a->row, b->row);
}

/* All requests of a key: `n_sends` sends, then receives. */
struct requests_of_key {
	struct ctf_request *all;
	guint n_sends, n;
};

static gboolean are_of_one(const struct ctf_request *requests, guint n)
{
	for (guint i = 1; i < n; i++)
		if (requests[i].owner != requests[0].owner)
			return FALSE;
	return TRUE;
}

/* Whether all tell their step; if not, none is taken to. */
static gboolean have_steps(struct requests_of_key *requests)
{
	guint n_told = 0;

	for (guint i = 0; i < requests->n; i++)
		n_told += requests->all[i].step >= 0;
	if (n_told == requests->n)
		return TRUE;
	for (guint i = 0; i < requests->n; i++)
		requests->all[i].step = -1;
	qsort(requests->all, requests->n, sizeof(*requests->all), compare_requests);
	return FALSE;
}

static void pair_key(struct ctf_import *ctf, struct requests_of_key *requests)
{
	gboolean has_steps = have_steps(requests);
	const struct ctf_request *receives = requests->all + requests->n_sends;
	guint n_receives = requests->n - requests->n_sends, send = 0, receive = 0;
	gboolean is_exact = are_of_one(requests->all, requests->n_sends) &&
			    are_of_one(receives, n_receives) &&
			    (has_steps || requests->n_sends == n_receives);

	while (send < requests->n_sends && receive < n_receives) {
		const struct ctf_request *sent = &requests->all[send], *got = &receives[receive];
		TachoFlow flow = { .from = sent->row, .to = got->row, .is_exact = is_exact };

		if (sent->step != got->step) { /* the other side's was not recorded */
			send += sent->step < got->step;
			receive += got->step < sent->step;
			continue;
		}
		flow.kind = sent->is_span ? TACHO_FLOW_REQUEST : TACHO_FLOW_MESSAGE;
		g_array_append_val(ctf->timeline->flows, flow);
		send++;
		receive++;
	}
	if (requests->all[0].owner && n_receives && requests->n_sends && !has_steps &&
	    requests->n_sends != n_receives)
		ctf->n_guessed_requests += MIN(requests->n_sends, n_receives);
}

void ctf_pair_requests(struct ctf_import *ctf)
{
	struct ctf_request *all = (struct ctf_request *)(gpointer)ctf->requests->data;
	guint n = ctf->requests->len;

	g_array_sort(ctf->requests, compare_requests);
	for (guint first = 0, next; first < n; first = next) {
		struct requests_of_key requests = { .all = all + first };

		for (next = first; next < n && all[next].key == all[first].key; next++)
			requests.n_sends += !all[next].is_receive;
		requests.n = next - first;
		pair_key(ctf, &requests);
	}
	if (ctf->n_guessed_requests)
		tacho_timeline_add_problem(
			ctf->timeline, TACHO_PROBLEM_UNPAIRED_MESSAGE, ctf->n_guessed_requests,
			"requests with a key that was sent and received a different number of "
			"times; they are matched by their order, which is a guess");
}

GArray *ctf_requests_new(void)
{
	return g_array_new(FALSE, FALSE, sizeof(struct ctf_request));
}
