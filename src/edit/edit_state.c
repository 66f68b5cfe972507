#include "edit/edit_state.h"

static struct graph_companion *copy(const struct graph_companion *companion);
static void split(struct graph_companion *companion, guint32 n_recorded, guint32 from, guint32 to);
static void release(struct graph_companion *companion);

static const struct graph_companion_class edit_state_class = { copy, split, release };

static struct edit_state *edit_state_new(void)
{
	struct edit_state *state = g_new0(struct edit_state, 1);

	state->companion.class = &edit_state_class;
	state->guest_rounds = 1;
	state->batch_factor = 1;
	state->batched = g_array_new(FALSE, TRUE, sizeof(guint8));
	state->precisions = g_array_new(FALSE, FALSE, sizeof(struct changed_precision));
	state->devices = g_array_new(FALSE, TRUE, sizeof(const gchar *));
	return state;
}

static struct graph_companion *copy(const struct graph_companion *companion)
{
	const struct edit_state *state = (const struct edit_state *)companion;
	struct edit_state *other = g_memdup2(state, sizeof(*state));

	other->batched = g_array_copy(state->batched);
	other->precisions = g_array_copy(state->precisions);
	other->devices = g_array_copy(state->devices);
	return &other->companion;
}

static void split_devices(GArray *devices, guint32 n_recorded, guint32 from, guint32 to)
{
	guint n = devices->len;

	if (n <= from * n_recorded)
		return;
	if (n < (to + 1) * n_recorded)
		g_array_set_size(devices, (to + 1) * n_recorded);
	for (guint32 i = 0; i < n_recorded && from * n_recorded + i < n; i++)
		g_array_index(devices, const gchar *, to *n_recorded + i) =
			g_array_index(devices, const gchar *, from *n_recorded + i);
}

static void split(struct graph_companion *companion, guint32 n_recorded, guint32 from, guint32 to)
{
	struct edit_state *state = (struct edit_state *)companion;
	guint n = state->precisions->len;

	split_devices(state->devices, n_recorded, from, to);
	for (guint i = 0; i < n; i++) {
		struct changed_precision precision =
			g_array_index(state->precisions, struct changed_precision, i);

		if (precision.set != from)
			continue;
		precision.set = to;
		g_array_append_val(state->precisions, precision);
	}
}

static void release(struct graph_companion *companion)
{
	struct edit_state *state = (struct edit_state *)companion;

	g_array_unref(state->batched);
	g_array_unref(state->precisions);
	g_array_unref(state->devices);
	g_free(state);
}

gdouble edit_state_batch_of(const struct edit_state *state, guint32 slice)
{
	return slice < state->batched->len && g_array_index(state->batched, guint8, slice)
		       ? state->batch_factor
		       : 1;
}

struct edit_state *edit_state_of(TachoGraph *graph)
{
	if (!graph->companion)
		graph->companion = &edit_state_new()->companion;
	return (struct edit_state *)graph->companion;
}

const struct edit_state *edit_state_read(const TachoGraph *graph)
{
	static GArray none;
	static const struct edit_state nothing = { .guest_rounds = 1,
						   .batch_factor = 1,
						   .batched = &none,
						   .precisions = &none,
						   .devices = &none };

	return graph->companion ? (const struct edit_state *)graph->companion : &nothing;
}
