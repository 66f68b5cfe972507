/* Pipelines send to the stage behind and receive from the one before in one kernel (PyTorch's batch_isend_irecv), of which
 * a trace tells no more than when it ran. Who the other was follows from the times:
 *
 *     rank 0  | send 1 |        |   send 2     |
 *     rank 1  |  recv  |        |     recv | send 1 |      ends tell: both are over when the bytes are there
 *     rank 2       |           recv            ...  |
 *
 * (1) A batch has one peer, and a rank's batches of a group follow each other, on its communicator's stream. So of all
 *     batches at the heads of their ranks' rows, the one that ends first has its partner among the other heads.
 * (2) The partner ran at the same time, is of as many bytes where both are known, and ends within END_SLACK_NS and an
 *     eighth of the shorter of the two (and the doubt about the clocks). Where several do, those that end much nearer go
 *     before the others; then the heads that may be partners of each other must fall into pairs in one way only, or all
 *     of them are left alone.
 * (3) That is done twice. The first time shows which ranks speak with each other all along the trace; the second
 *     time only these are looked at. */
#include "correlate/send_batches.h"

#include <tacho/timeline.h>

#include "base/for_each.h"
#include "base/order.h"
#include "trace/clock_map.h"

enum {
	MAX_RANKS = 256,
	END_SLACK_NS = 20 * 1000, /* of kernels that end together */
	END_SHARE = 8,
	MUCH_NEARER = 5,      /* times ... */
	NEARER_NS = 5 * 1000, /* ... and by so much */
	MAX_TIED = 16,
	MIN_MEETINGS = 2,
	MEETINGS_SHARE = 4, /* neighbours meet at least so much as often as those that meet most */
};

/* A rank's batches: [first, end), of which those before `head` are done with. */
struct row {
	guint first, end, head;
};

struct sweep {
	GArray *batches;
	GArray *rows;	      /* struct row */
	guint32 *n_meetings;  /* of each two rows */
	guint8 *is_neighbour; /* NULL: the first time */
};

static struct send_batch *batch_at(const struct sweep *sweep, guint i)
{
	return &g_array_index(sweep->batches, struct send_batch, i);
}

static struct row *row_at(const struct sweep *sweep, guint i)
{
	return &g_array_index(sweep->rows, struct row, i);
}

/* The row's first batch that is not done with; NULL: there is none. */
static struct send_batch *head_of(const struct sweep *sweep, guint i)
{
	const struct row *row = row_at(sweep, i);

	return row->head < row->end ? batch_at(sweep, row->head) : NULL;
}

static gint compare_batches(gconstpointer a, gconstpointer b)
{
	const struct send_batch *x = a, *y = b;

	return ORDER(x->rank_index, y->rank_index) ?: ORDER(x->begin_ns, y->begin_ns) ?:
	       ORDER(x->slice, y->slice);
}

/* False: a rank's batches do not follow each other. */
static gboolean make_rows(struct sweep *sweep)
{
	FOR_EACH_AT(const struct send_batch, batch, i, sweep->batches) {
		struct row row = { i, i + 1, i };

		if (i == 0 || batch_at(sweep, i - 1)->rank_index != batch->rank_index) {
			g_array_append_val(sweep->rows, row);
			continue;
		}
		if (batch->begin_ns < batch_at(sweep, i - 1)->end_ns)
			return FALSE;
		row_at(sweep, sweep->rows->len - 1)->end++;
	}
	return TRUE;
}

/* --- two batches ------------------------------------------------------------------------------- */

static gint64 duration_ns(const struct send_batch *batch)
{
	return clock_map_add(batch->end_ns, -batch->begin_ns);
}

static gint64 ends_apart_ns(const struct send_batch *a, const struct send_batch *b)
{
	return ABS(clock_map_add(a->end_ns, -b->end_ns));
}

static gboolean can_be_partners(const struct send_batch *a, const struct send_batch *b)
{
	return a->begin_ns < b->end_ns && b->begin_ns < a->end_ns && a->reference == b->reference &&
	       (a->bytes == 0 || b->bytes == 0 || a->bytes == b->bytes);
}

static gboolean ends_with(const struct send_batch *a, const struct send_batch *b)
{
	gint64 slack_ns = END_SLACK_NS + MIN(duration_ns(a), duration_ns(b)) / END_SHARE;

	if (a->clock != b->clock)
		slack_ns = clock_map_add(slack_ns,
					 clock_map_add(a->uncertainty_ns, b->uncertainty_ns));
	return ends_apart_ns(a, b) <= slack_ns;
}

/* --- sweeps ------------------------------------------------------------------------------------ */

/* The row whose head ends first; G_MAXUINT: all are done with. */
static guint first_to_end(const struct sweep *sweep)
{
	guint first = G_MAXUINT;

	for (guint i = 0; i < sweep->rows->len; i++) {
		const struct send_batch *head = head_of(sweep, i);

		if (head && (first == G_MAXUINT || head->end_ns < head_of(sweep, first)->end_ns))
			first = i;
	}
	return first;
}

/* Heads that may be partners of each other, directly or over others; rows[0] is the one that is asked for. */
struct tie {
	guint rows[MAX_RANKS];
	guint n;
	guint8 may_be[MAX_TIED][MAX_TIED];
};

static gboolean may_be_partners(const struct sweep *sweep, guint a, guint b)
{
	const struct send_batch *one = head_of(sweep, a), *other = head_of(sweep, b);

	return a != b && one && other &&
	       (!sweep->is_neighbour || sweep->is_neighbour[a * sweep->rows->len + b]) &&
	       can_be_partners(one, other) && ends_with(one, other);
}

static gboolean is_in_tie(const struct tie *tie, guint row)
{
	for (guint i = 0; i < tie->n; i++)
		if (tie->rows[i] == row)
			return TRUE;
	return FALSE;
}

static void collect_tie(const struct sweep *sweep, guint own, struct tie *tie)
{
	tie->rows[0] = own;
	tie->n = 1;
	for (guint i = 0; i < tie->n; i++)
		for (guint row = 0; row < sweep->rows->len; row++)
			if (may_be_partners(sweep, tie->rows[i], row) && !is_in_tie(tie, row))
				tie->rows[tie->n++] = row;
}

/* Whether another head ends so much nearer to the head of `a` than `apart_ns`. */
static gboolean has_nearer(const struct sweep *sweep, const struct tie *tie, guint a,
			   gint64 apart_ns)
{
	for (guint i = 0; i < tie->n; i++)
		if (may_be_partners(sweep, tie->rows[a], tie->rows[i]) &&
		    clock_map_add(MUCH_NEARER * ends_apart_ns(head_of(sweep, tie->rows[a]),
							      head_of(sweep, tie->rows[i])),
				  NEARER_NS) <= apart_ns)
			return TRUE;
	return FALSE;
}

static void compare_tied(const struct sweep *sweep, struct tie *tie)
{
	for (guint a = 0; a < tie->n; a++)
		for (guint b = 0; b < tie->n; b++) {
			gint64 apart_ns = ends_apart_ns(head_of(sweep, tie->rows[a]),
							head_of(sweep, tie->rows[b]));

			tie->may_be[a][b] = may_be_partners(sweep, tie->rows[a], tie->rows[b]) &&
					    !has_nearer(sweep, tie, a, apart_ns) &&
					    !has_nearer(sweep, tie, b, apart_ns);
		}
}

/* The only one that `a` may be the partner of; MAX_TIED: none, or several. */
static guint only_choice(const struct tie *tie, guint a)
{
	guint found = MAX_TIED;

	for (guint b = 0; b < tie->n; b++) {
		if (!tie->may_be[a][b])
			continue;
		if (found != MAX_TIED)
			return MAX_TIED;
		found = b;
	}
	return found;
}

static void take_out(struct tie *tie, guint a)
{
	for (guint b = 0; b < tie->n; b++)
		tie->may_be[a][b] = tie->may_be[b][a] = 0;
}

/* Pair those that have but one choice with it, as long as there are any: there is no other way to pair them all. */
static void pair_forced(struct tie *tie, guint *partner_of)
{
	for (guint a = 0; a < tie->n; a++)
		partner_of[a] = MAX_TIED;
	for (guint a = 0; a < tie->n;) {
		guint b = only_choice(tie, a);

		if (b == MAX_TIED) {
			a++;
			continue;
		}
		partner_of[a] = b;
		partner_of[b] = a;
		take_out(tie, a);
		take_out(tie, b);
		a = 0;
	}
}

static void add_meeting(struct sweep *sweep, guint a, guint b)
{
	head_of(sweep, a)->peer = head_of(sweep, b)->rank_index;
	sweep->n_meetings[a * sweep->rows->len + b]++;
}

static void reach(const struct tie *tie, guint from, guint8 *is_reached)
{
	is_reached[from] = 1;
	for (guint i = 0; i < tie->n; i++)
		if (tie->may_be[from][i] && !is_reached[i])
			reach(tie, i, is_reached);
}

/* Settle the head of `own`, and those that may be its partner, or the partner of one of those; be done with them. */
static void settle(struct sweep *sweep, guint own)
{
	guint8 is_reached[MAX_TIED] = { 0 };
	guint partner_of[MAX_TIED];
	gboolean is_decided = TRUE;
	struct tie tie;

	collect_tie(sweep, own, &tie);
	if (tie.n > MAX_TIED) {
		for (guint i = 0; i < tie.n; i++)
			row_at(sweep, tie.rows[i])->head++;
		return;
	}
	compare_tied(sweep, &tie);
	reach(&tie, 0, is_reached);
	pair_forced(&tie, partner_of);
	for (guint i = 0; i < tie.n; i++)
		is_decided &= !is_reached[i] || partner_of[i] != MAX_TIED;
	for (guint i = 0; i < tie.n; i++)
		if (is_reached[i] && is_decided)
			add_meeting(sweep, tie.rows[i], tie.rows[partner_of[i]]);
	for (guint i = 0; i < tie.n; i++)
		row_at(sweep, tie.rows[i])->head += is_reached[i];
}

static void run_sweep(struct sweep *sweep)
{
	guint own;

	for (guint i = 0; i < sweep->rows->len; i++)
		row_at(sweep, i)->head = row_at(sweep, i)->first;
	for (guint i = 0; i < sweep->batches->len; i++)
		batch_at(sweep, i)->peer = TACHO_NONE;
	while ((own = first_to_end(sweep)) != G_MAXUINT)
		settle(sweep, own);
}

/* (3) */
static void find_neighbours(struct sweep *sweep, guint8 *is_neighbour)
{
	guint n_rows = sweep->rows->len;
	guint32 most = 0;

	for (guint i = 0; i < n_rows * n_rows; i++)
		most = MAX(most, sweep->n_meetings[i]);
	for (guint i = 0; i < n_rows * n_rows; i++)
		is_neighbour[i] = sweep->n_meetings[i] >= MIN_MEETINGS &&
				  sweep->n_meetings[i] >= most / MEETINGS_SHARE;
	sweep->is_neighbour = is_neighbour;
}

void send_batches_find_peers(GArray *batches)
{
	g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(struct row));
	g_autofree guint32 *n_meetings = NULL;
	g_autofree guint8 *is_neighbour = NULL;
	struct sweep sweep = { .batches = batches, .rows = rows };

	g_array_sort(batches, compare_batches);
	for (guint i = 0; i < batches->len; i++)
		batch_at(&sweep, i)->peer = TACHO_NONE;
	if (!make_rows(&sweep) || rows->len > MAX_RANKS)
		return;
	n_meetings = g_new0(guint32, (gsize)rows->len * rows->len);
	is_neighbour = g_new0(guint8, (gsize)rows->len * rows->len);
	sweep.n_meetings = n_meetings;
	run_sweep(&sweep);
	find_neighbours(&sweep, is_neighbour);
	run_sweep(&sweep);
}
