/* batch_transfers: when the transfers of a kernel that carries out several sends and receives were over.
 *
 *     rank 1   |recv from 0, send to 2|             recv from 0: begins with the later of ranks 0 and 1, ...
 *     rank 0     |send to 1|
 *     rank 2              |recv from 1|             send to 2: ... and decides when the kernel is over
 *
 * (1) A kernel is over when the last of its transfers is. The one that begins last is taken to be that one, so a transfer
 *     that began last in a kernel of either rank ends when the first of the two kernels does.
 * (2) When any other was over is hidden by what began later. It is taken to have lasted what is usual: the median of those
 *     of as many bytes that are not hidden, of its two ranks or else of all; but it was over when the first of its two
 *     kernels was. Where nothing is usual, it lasted until then. */
#include "base/quantile.h"
#include "graph/graph_builder.h"

/* Durations of transfers that are alike. */
struct alike {
	guint32 group; /* TACHO_NONE: any */
	guint64 bytes;
	GArray *durations_ns; /* gint64 */
	gint64 usual_ns;      /* their median; -1: there are none */
};

struct batches {
	struct graph_builder *builder;
	guint8 *is_open;  /* of each transfer: it began last in a kernel */
	guint8 *is_batch; /* of each transfer: a kernel of it carries out others, too */
	GHashTable *alike;
};

static guint hash_alike(gconstpointer data)
{
	const struct alike *alike = data;
	guint64 hash = (alike->bytes + ((guint64)alike->group << 40)) *
		       G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);

	return (guint)(hash >> 32);
}

static gboolean equal_alike(gconstpointer a, gconstpointer b)
{
	const struct alike *x = a, *y = b;

	return x->group == y->group && x->bytes == y->bytes;
}

static void free_alike(gpointer data)
{
	struct alike *alike = data;

	g_array_unref(alike->durations_ns);
	g_free(alike);
}

/* --- (1) ------------------------------------------------------------------------------------- */

/* The transfer of the work that began last; of those that waited for nobody, none. */
static gint64 last_begin_ns(const struct graph_builder *builder, const struct build_work *work)
{
	gint64 last_ns = G_MININT64;

	for (guint32 i = work->member; i != TACHO_NONE; i = build_member_at(builder, i)->next) {
		const struct build_member *member = build_member_at(builder, i);

		if (!member->is_eager)
			last_ns =
				MAX(last_ns,
				    graph_transfer_at(builder->graph, member->transfer)->begin_ns);
	}
	return last_ns;
}

static void see_work(struct batches *batches, const struct build_work *work)
{
	struct graph_builder *builder = batches->builder;
	gint64 last_ns = last_begin_ns(builder, work);

	for (guint32 i = work->member; i != TACHO_NONE; i = build_member_at(builder, i)->next) {
		const struct build_member *member = build_member_at(builder, i);
		const struct graph_transfer *transfer =
			graph_transfer_at(builder->graph, member->transfer);

		batches->is_open[member->transfer] |=
			!member->is_eager && transfer->begin_ns == last_ns;
		batches->is_batch[member->transfer] |=
			member->next != TACHO_NONE || work->member != i;
	}
}

/* --- (2) ------------------------------------------------------------------------------------- */

static void note_duration(struct batches *batches, guint32 group, guint64 bytes, gint64 duration_ns)
{
	struct alike key = { .group = group, .bytes = bytes, .usual_ns = -1 };
	struct alike *alike = g_hash_table_lookup(batches->alike, &key);

	if (!alike) {
		alike = g_memdup2(&key, sizeof(key));
		alike->durations_ns = g_array_new(FALSE, FALSE, sizeof(gint64));
		g_hash_table_add(batches->alike, alike);
	}
	g_array_append_val(alike->durations_ns, duration_ns);
}

/* -1: nothing is. */
static gint64 usual_ns(struct batches *batches, guint32 group, guint64 bytes)
{
	struct alike key = { .group = group, .bytes = bytes };
	struct alike *alike = g_hash_table_lookup(batches->alike, &key);

	if (!alike)
		return -1;
	if (alike->usual_ns < 0)
		alike->usual_ns = (gint64)quantile(alike->durations_ns, 0.5);
	return alike->usual_ns;
}

static void note_usual(struct batches *batches)
{
	const GArray *transfers = batches->builder->graph->transfers;

	for (guint32 i = 0; i < transfers->len; i++) {
		const struct graph_transfer *transfer =
			graph_transfer_at(batches->builder->graph, i);
		gint64 duration_ns = transfer->end_ns - transfer->begin_ns;

		if (!batches->is_batch[i] || !batches->is_open[i])
			continue;
		note_duration(batches, transfer->group, transfer->bytes, duration_ns);
		note_duration(batches, TACHO_NONE, transfer->bytes, duration_ns);
	}
}

static void end_hidden(struct batches *batches, struct graph_transfer *transfer)
{
	gint64 duration_ns = usual_ns(batches, transfer->group, transfer->bytes);

	if (duration_ns < 0)
		duration_ns = usual_ns(batches, TACHO_NONE, transfer->bytes);
	if (duration_ns < 0)
		return;
	transfer->end_ns = MIN(transfer->end_ns, transfer->begin_ns + duration_ns);
	transfer->fixed_origin = transfer->work_origin = ORIGIN_MODELLED;
}

void builder_part_batches(struct graph_builder *builder)
{
	guint32 n = builder->graph->transfers->len;
	g_autofree guint8 *is_open = g_new0(guint8, n), *is_batch = g_new0(guint8, n);
	g_autoptr(GHashTable) alike =
		g_hash_table_new_full(hash_alike, equal_alike, free_alike, NULL);
	struct batches batches = {
		.builder = builder, .is_open = is_open, .is_batch = is_batch, .alike = alike
	};

	for (guint32 i = 0; i < builder->work->len; i++)
		see_work(&batches, build_work_at(builder, i));
	note_usual(&batches);
	for (guint32 i = 0; i < n; i++)
		if (is_batch[i] && !is_open[i])
			end_hidden(&batches, graph_transfer_at(builder->graph, i));
}
