#include "import/execution/chakra_node.h"

#include <string.h>

static const gchar *const collective_names[] = {
	"all_reduce", "reduce",		"all_gather",		"gather",  "scatter", "broadcast",
	"all_to_all", "reduce_scatter", "reduce_scatter_block", "barrier",
};

static gboolean is_communication(gint64 type)
{
	return type == CHAKRA_SEND || type == CHAKRA_RECEIVE || type == CHAKRA_COLLECTIVE;
}

static TachoSliceKind device_kind(gint64 type, const gchar *name)
{
	if (is_communication(type))
		return TACHO_SLICE_COLLECTIVE;
	if (type == CHAKRA_LOAD || type == CHAKRA_STORE || g_str_has_prefix(name, "Memcpy"))
		return TACHO_SLICE_MEMCPY;
	if (g_str_has_prefix(name, "Memset"))
		return TACHO_SLICE_MEMSET;
	return type == CHAKRA_COMPUTE ? TACHO_SLICE_KERNEL : TACHO_SLICE_EVENT;
}

static TachoSliceKind host_kind(gint64 type)
{
	if (type == CHAKRA_LOAD || type == CHAKRA_STORE)
		return TACHO_SLICE_MEMCPY;
	return type == CHAKRA_COMPUTE || is_communication(type) ? TACHO_SLICE_OP
								: TACHO_SLICE_EVENT;
}

void chakra_facts_use(struct execution_trace *trace, struct execution_node *node,
		      const struct chakra_facts *facts)
{
	TachoTimeline *timeline = trace->timeline;
	gboolean is_host = facts->is_host >= 0
				   ? facts->is_host != 0
				   : !is_communication(facts->type) && facts->type != CHAKRA_LOAD &&
					     facts->type != CHAKRA_STORE;

	node->role = is_host ? EXECUTION_HOST : EXECUTION_DEVICE;
	node->kind = (guint8)(is_host ? host_kind(facts->type)
				      : device_kind(facts->type,
						    tacho_timeline_string(timeline, node->name)));
	node->tid = facts->tid >= 0 ? (guint32)MIN(facts->tid, (gint64)G_MAXUINT32 - 1)
				    : (guint32)(!is_host && is_communication(facts->type));
	node->sequence = facts->sequence;
	node->record_function = facts->record_function;
	node->forward_thread = (guint64)MAX(facts->forward_thread, 0);
	node->bytes = (guint64)MAX(facts->bytes, 0);
	node->flops = (guint64)MAX(facts->n_operations, 0);
	if (node->kind != TACHO_SLICE_COLLECTIVE)
		return;
	if (facts->collective >= 0 && facts->collective < (gint64)G_N_ELEMENTS(collective_names))
		node->collective =
			tacho_timeline_intern(timeline, collective_names[facts->collective], -1);
	else
		node->collective =
			tacho_timeline_intern(timeline,
					      facts->type == CHAKRA_SEND      ? "send"
					      : facts->type == CHAKRA_RECEIVE ? "recv"
									      : "collective",
					      -1);
	if (facts->group.n)
		node->group =
			tacho_timeline_intern(timeline, facts->group.bytes, (gssize)facts->group.n);
}

gint64 chakra_ns(guint64 us)
{
	return us <= (guint64)TACHO_MAX_TIME_NS / 1000 ? (gint64)us * 1000 : -1;
}

gint64 *chakra_facts_find(struct chakra_facts *facts, const gchar *name, gsize n)
{
	const struct {
		const gchar *name;
		gint64 *value;
	} numbers[] = {
		{ "is_cpu_op", &facts->is_host },     { "tid", &facts->tid },
		{ "seq_id", &facts->sequence },	      { "rf_id", &facts->record_function },
		{ "fw_tid", &facts->forward_thread }, { "comm_type", &facts->collective },
		{ "comm_size", &facts->bytes },	      { "num_ops", &facts->n_operations },
		{ "tensor_size", &facts->bytes },
	};

	for (guint i = 0; i < G_N_ELEMENTS(numbers); i++)
		if (strlen(numbers[i].name) == n && memcmp(numbers[i].name, name, n) == 0)
			return numbers[i].value;
	return NULL;
}
