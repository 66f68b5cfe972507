#include "pipeline_text.h"

enum { FORWARD, BACKWARD, BATCH };

/* Something that a stage does. */
struct item {
	guint kind;
	guint number; /* of the micro-batch; of a batch the peer's stage */
	gint64 begin_us, end_us;
};

struct stage {
	GArray *items; /* struct item */
	guint next;
	gint64 now_us;
};

static struct item *item_at(const struct stage *stage, guint i)
{
	return &g_array_index(stage->items, struct item, i);
}

/* Always the same for the same thing: splitmix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators",
 * OOPSLA 2014). */
static guint chance(const struct pipeline *pipeline, guint stage, guint item, guint most)
{
	guint64 x = ((guint64)pipeline->seed << 40) + ((guint64)stage << 20) + item +
		    G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);

	x = (x ^ (x >> 30)) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
	return (guint)((x ^ (x >> 31)) % most);
}

static void add_item(struct stage *stage, guint kind, guint number)
{
	struct item item = { .kind = kind, .number = number };

	g_array_append_val(stage->items, item);
}

static void add_batch(const struct pipeline *pipeline, struct stage *stage, guint own, gint step)
{
	gint peer = (gint)own + step;

	if (peer >= 0 && peer < (gint)pipeline->n_stages)
		add_item(stage, BATCH, (guint)peer);
}

static void plan_stage(const struct pipeline *pipeline, struct stage *stage, guint own)
{
	guint n_ahead = MIN(pipeline->n_stages - own - 1, pipeline->n_micro_batches);
	guint n_steady = pipeline->n_micro_batches - n_ahead;

	for (guint i = 0; i < n_ahead; i++) {
		add_batch(pipeline, stage, own, -1);
		add_item(stage, FORWARD, i);
		add_batch(pipeline, stage, own, 1);
	}
	if (n_steady > 0)
		add_batch(pipeline, stage, own, -1);
	for (guint i = 0; i < n_steady; i++) {
		add_item(stage, FORWARD, n_ahead + i);
		add_batch(pipeline, stage, own, 1); /* and the gradient back */
		add_item(stage, BACKWARD, i);
		add_batch(pipeline, stage, own, -1); /* and the next activation, if there is one */
	}
	for (guint i = n_steady; i < pipeline->n_micro_batches; i++) {
		add_batch(pipeline, stage, own, 1);
		add_item(stage, BACKWARD, i);
		add_batch(pipeline, stage, own, -1);
	}
}

static void compute(const struct pipeline *pipeline, struct stage *stage, guint own)
{
	struct item *item = item_at(stage, stage->next);
	gint64 us = item->kind == FORWARD ? pipeline->forward_us : pipeline->backward_us;

	us = us * (80 + chance(pipeline, own, stage->next, 41)) / 100;
	if (item->kind == FORWARD && item->number == 0 && pipeline->first_factor > 1)
		us *= pipeline->first_factor;
	item->begin_us = stage->now_us;
	item->end_us = stage->now_us = item->begin_us + us;
	stage->next++;
}

/* Whether the stage's next is a batch with a stage whose next is one with it; both are done then. */
static gboolean meet(const struct pipeline *pipeline, struct stage *stages, guint own)
{
	struct item *item = item_at(&stages[own], stages[own].next), *other;
	struct stage *peer = &stages[item->number];
	gint64 moved_us;

	if (peer->next >= peer->items->len)
		return FALSE;
	other = item_at(peer, peer->next);
	if (other->kind != BATCH || other->number != own)
		return FALSE;
	item->begin_us = stages[own].now_us;
	other->begin_us = peer->now_us;
	moved_us = MAX(item->begin_us, other->begin_us) + pipeline->transfer_us;
	item->end_us = moved_us + chance(pipeline, own, stages[own].next, 4);
	other->end_us = moved_us + chance(pipeline, item->number, peer->next, 4);
	stages[own].now_us = item->end_us;
	peer->now_us = other->end_us;
	stages[own].next++;
	peer->next++;
	return TRUE;
}

static struct stage *play(const struct pipeline *pipeline)
{
	struct stage *stages = g_new0(struct stage, pipeline->n_stages);
	gboolean is_moving = TRUE;

	for (guint i = 0; i < pipeline->n_stages; i++) {
		stages[i].items = g_array_new(FALSE, FALSE, sizeof(struct item));
		stages[i].now_us = 100;
		plan_stage(pipeline, &stages[i], i);
	}
	while (is_moving) {
		is_moving = FALSE;
		for (guint i = 0; i < pipeline->n_stages; i++) {
			struct stage *stage = &stages[i];

			if (stage->next == stage->items->len)
				continue;
			if (item_at(stage, stage->next)->kind != BATCH) {
				compute(pipeline, stage, i);
				is_moving = TRUE;
			} else {
				is_moving |= meet(pipeline, stages, i);
			}
		}
	}
	for (guint i = 0; i < pipeline->n_stages; i++)
		g_assert_cmpuint(stages[i].next, ==, stages[i].items->len);
	return stages;
}

static void free_stages(const struct pipeline *pipeline, struct stage *stages)
{
	for (guint i = 0; i < pipeline->n_stages; i++)
		g_array_unref(stages[i].items);
	g_free(stages);
}

/* All is launched before the first of it begins, and the step ends when the device is done. */
static void write_stage(GString *text, const struct stage *stage, guint own, gint64 end_us)
{
	g_string_append_printf(text, "rank %u thread %u main\n", own, 1000 + own);
	g_string_append_printf(text, " annotation ProfilerStep#0 0..%" G_GINT64_FORMAT "\n",
			       end_us + 20);
	for (guint i = 0; i < stage->items->len; i++)
		g_string_append_printf(text, "  runtime l%u %u.%03u..%u.%03u\n", i, i / 4,
				       i % 4 * 250, i / 4, i % 4 * 250 + 200);
	g_string_append_printf(text,
			       "  runtime cudaDeviceSynchronize 90..%" G_GINT64_FORMAT "\n"
			       " stream 7 all\n",
			       end_us + 10);
	for (guint i = 0; i < stage->items->len; i++) {
		const struct item *item = item_at(stage, i);
		g_autofree gchar *name =
			item->kind == BATCH
				? g_strdup("collective ncclDevKernel_SendRecv")
				: g_strdup_printf("kernel %c%u", item->kind == FORWARD ? 'F' : 'B',
						  item->number);

		g_string_append_printf(
			text, "  %s %" G_GINT64_FORMAT "..%" G_GINT64_FORMAT "%s launch=l%u\n",
			name, item->begin_us, item->end_us,
			item->kind == BATCH ? " bytes=4096" : "", i);
	}
}

gchar *pipeline_text(const struct pipeline *pipeline, GArray *ret_batches)
{
	struct stage *stages = play(pipeline);
	GString *text = g_string_new("unit us\n");
	gint64 end_us = 0;

	g_string_append_printf(text, "world %u\n", pipeline->n_stages);
	for (guint i = 0; i < pipeline->n_stages; i++)
		end_us = MAX(end_us, stages[i].now_us);
	for (guint i = 0; i < pipeline->n_stages; i++) {
		write_stage(text, &stages[i], i, end_us);
		for (guint k = 0; ret_batches && k < stages[i].items->len; k++) {
			const struct item *item = item_at(&stages[i], k);
			struct pipeline_batch batch = { i, item->number, item->begin_us,
							item->end_us };

			if (item->kind == BATCH)
				g_array_append_val(ret_batches, batch);
		}
	}
	free_stages(pipeline, stages);
	return g_string_free(text, FALSE);
}

gint64 pipeline_end_us(const struct pipeline *pipeline, guint stage)
{
	struct stage *stages = play(pipeline);
	gint64 end_us = stages[stage].now_us;

	free_stages(pipeline, stages);
	return end_us;
}
