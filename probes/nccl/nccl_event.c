#include "nccl/nccl_event.h"

#include <string.h>

#include "trace/trace_layout.h"

static const char *const funcs[] = { "Broadcast", "Reduce",   "AllGather", "ReduceScatter",
				     "AllReduce", "SendRecv", "Send",	   "Recv" };
static const char *const algos[] = { "TREE",	  "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
				     "NVLS_TREE", "PAT" };
static const char *const protos[] = { "LL", "LL128", "SIMPLE" };

/* In the order of their numbers. */
static const struct {
	const char *name;
	uint32_t bytes;
	uint8_t dtype;
} datatypes[] = {
	{ "ncclInt8", 1, TRACE_DTYPE_I8 },
	{ "ncclUint8", 1, TRACE_DTYPE_U8 },
	{ "ncclInt32", 4, TRACE_DTYPE_I32 },
	{ "ncclUint32", 4, TRACE_DTYPE_UNKNOWN },
	{ "ncclInt64", 8, TRACE_DTYPE_I64 },
	{ "ncclUint64", 8, TRACE_DTYPE_UNKNOWN },
	{ "ncclFloat16", 2, TRACE_DTYPE_F16 },
	{ "ncclFloat32", 4, TRACE_DTYPE_F32 },
	{ "ncclFloat64", 8, TRACE_DTYPE_F64 },
	{ "ncclBfloat16", 2, TRACE_DTYPE_BF16 },
	{ "ncclFloat8e4m3", 1, TRACE_DTYPE_UNKNOWN },
	{ "ncclFloat8e5m2", 1, TRACE_DTYPE_UNKNOWN },
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const char *text_of(const char *const *texts, size_t n, uint8_t number)
{
	return number < n ? texts[number] : NULL;
}

static uint8_t number_of(const char *const *texts, size_t n, const char *text)
{
	for (size_t i = 0; text && i < n; i++)
		if (strcmp(texts[i], text) == 0)
			return (uint8_t)i;
	return (uint8_t)n;
}

static size_t find_datatype(const char *datatype)
{
	size_t i = 0;

	while (i < COUNT(datatypes) && (!datatype || strcmp(datatypes[i].name, datatype) != 0))
		i++;
	return i;
}

uint32_t nccl_datatype_bytes(const char *datatype)
{
	size_t found = find_datatype(datatype);

	return found < COUNT(datatypes) ? datatypes[found].bytes : 0;
}

uint8_t nccl_datatype_dtype(const char *datatype)
{
	size_t found = find_datatype(datatype);

	return found < COUNT(datatypes) ? datatypes[found].dtype : TRACE_DTYPE_UNKNOWN;
}

uint64_t nccl_types(int version)
{
	if (version <= 2)
		return NCCL_KERNEL_CH - 1;
	if (version <= 4)
		return NCCL_GROUP_API - 1;
	return version == 5 ? NCCL_CE_COLL - 1 : NCCL_ALL_TYPES;
}

bool nccl_has_state(int version, int state)
{
	if (version <= 3)
		return state <= NCCL_CTRL_APPEND_END;
	return version == 4
		       ? state <= NCCL_KERNEL_STOP
		       : state <= NCCL_GROUP_END_BEGIN || (version > 5 && state < NCCL_N_STATES);
}

/* What all versions tell of a collective. */
#define COPY_COLL(to, from)                                                                        \
	((to)->sequence = (from)->sequence, (to)->send = (from)->send,                             \
	 (to)->receive = (from)->receive, (to)->count = (from)->count, (to)->root = (from)->root,  \
	 (to)->n_channels = (from)->n_channels, (to)->n_warps = (from)->n_warps)
#define COPY_COLL_TEXTS(to, from)                                                                  \
	((to)->func = (from)->func, (to)->datatype = (from)->datatype, (to)->algo = (from)->algo,  \
	 (to)->proto = (from)->proto)
#define COPY_COMMUNICATOR(to, from) ((to)->name = (from)->name, (to)->hash = (from)->hash)

static void read_coll(struct nccl_event *event, int version, const struct nccl_descriptor *told)
{
	const struct nccl_coll_v1 *v1 = &told->coll_v1;

	if (version == 1) {
		COPY_COLL(event, v1);
		COPY_COMMUNICATOR(event, v1);
		event->func = text_of(funcs, COUNT(funcs), v1->func);
		event->algo = text_of(algos, COUNT(algos), v1->algo);
		event->proto = text_of(protos, COUNT(protos), v1->proto);
		event->datatype =
			v1->datatype < COUNT(datatypes) ? datatypes[v1->datatype].name : NULL;
	} else if (version == 2) {
		COPY_COLL(event, &told->coll_v2);
		COPY_COLL_TEXTS(event, &told->coll_v2);
		COPY_COMMUNICATOR(event, &told->coll_v2);
	} else if (version == 3) {
		COPY_COLL(event, &told->coll_v3);
		COPY_COLL_TEXTS(event, &told->coll_v3);
		COPY_COMMUNICATOR(event, &told->coll_v3);
	} else {
		COPY_COLL(event, &told->coll_v4);
		COPY_COLL_TEXTS(event, &told->coll_v4);
	}
	event->group = version >= 5 ? told->coll_v4.group : event->parent;
}

static void write_coll(const struct nccl_event *event, int version, struct nccl_descriptor *told)
{
	struct nccl_coll_v1 *v1 = &told->coll_v1;

	if (version == 1) {
		COPY_COLL(v1, event);
		COPY_COMMUNICATOR(v1, event);
		v1->func = number_of(funcs, COUNT(funcs), event->func);
		v1->algo = number_of(algos, COUNT(algos), event->algo);
		v1->proto = number_of(protos, COUNT(protos), event->proto);
		v1->datatype = (uint8_t)find_datatype(event->datatype);
	} else if (version == 2) {
		COPY_COLL(&told->coll_v2, event);
		COPY_COLL_TEXTS(&told->coll_v2, event);
		COPY_COMMUNICATOR(&told->coll_v2, event);
	} else if (version == 3) {
		COPY_COLL(&told->coll_v3, event);
		COPY_COLL_TEXTS(&told->coll_v3, event);
		COPY_COMMUNICATOR(&told->coll_v3, event);
	} else {
		COPY_COLL(&told->coll_v4, event);
		COPY_COLL_TEXTS(&told->coll_v4, event);
	}
	if (version >= 5)
		told->coll_v4.group = event->group;
	else
		told->head.parent = event->group;
}

#define COPY_P2P(to, from)	 ((to)->count = (from)->count)
#define COPY_P2P_TEXTS(to, from) ((to)->func = (from)->func, (to)->datatype = (from)->datatype)

static void read_p2p(struct nccl_event *event, int version, const struct nccl_descriptor *told)
{
	const struct nccl_p2p_v1 *v1 = &told->p2p_v1;
	const struct nccl_p2p_v2 *v2 = &told->p2p_v2;
	const struct nccl_p2p_v4 *v4 = &told->p2p_v4;

	if (version == 1) {
		COPY_P2P(event, v1);
		COPY_COMMUNICATOR(event, v1);
		event->func = text_of(funcs, COUNT(funcs), v1->func);
		event->datatype =
			v1->datatype < COUNT(datatypes) ? datatypes[v1->datatype].name : NULL;
		event->receive = v1->buffer;
		event->root = v1->peer;
	} else if (version <= 3) {
		COPY_P2P(event, v2);
		COPY_P2P_TEXTS(event, v2);
		COPY_COMMUNICATOR(event, v2);
		event->receive = v2->buffer;
		event->root = v2->peer;
	} else {
		COPY_P2P(event, v4);
		COPY_P2P_TEXTS(event, v4);
		event->receive = v4->buffer;
		event->root = v4->peer;
		event->n_channels = v4->n_channels;
	}
	event->group = version >= 5 ? v4->group : event->parent;
}

static void write_p2p(const struct nccl_event *event, int version, struct nccl_descriptor *told)
{
	struct nccl_p2p_v1 *v1 = &told->p2p_v1;
	struct nccl_p2p_v2 *v2 = &told->p2p_v2;
	struct nccl_p2p_v4 *v4 = &told->p2p_v4;

	if (version == 1) {
		COPY_P2P(v1, event);
		COPY_COMMUNICATOR(v1, event);
		v1->func = number_of(funcs, COUNT(funcs), event->func);
		v1->datatype = (uint8_t)find_datatype(event->datatype);
		v1->buffer = event->receive;
		v1->peer = event->root;
	} else if (version <= 3) {
		COPY_P2P(v2, event);
		COPY_P2P_TEXTS(v2, event);
		COPY_COMMUNICATOR(v2, event);
		v2->buffer = event->receive;
		v2->peer = event->root;
	} else {
		COPY_P2P(v4, event);
		COPY_P2P_TEXTS(v4, event);
		v4->buffer = event->receive;
		v4->peer = event->root;
		v4->n_channels = event->n_channels;
	}
	if (version >= 5)
		v4->group = event->group;
	else
		told->head.parent = event->group;
}

/* Of `same`, as much as NCCL has: a descriptor of an earlier version is shorter. */
static size_t same_bytes(uint64_t type, int version)
{
	static const union nccl_same *const same = NULL;

	switch (type) {
	case NCCL_GROUP_API:
		return sizeof(same->group_api);
	case NCCL_COLL_API:
		return sizeof(same->coll_api);
	case NCCL_P2P_API:
		return sizeof(same->p2p_api);
	case NCCL_KERNEL_LAUNCH:
		return sizeof(same->kernel_launch);
	case NCCL_PROXY_OP:
		return sizeof(same->proxy_op);
	case NCCL_PROXY_STEP:
		return sizeof(same->proxy_step);
	case NCCL_KERNEL_CH:
		return version >= 4 ? sizeof(same->kernel_ch) : sizeof(same->kernel_ch.channel);
	case NCCL_NET_PLUGIN:
		return sizeof(same->net);
	case NCCL_CE_COLL:
		return sizeof(same->ce_coll);
	case NCCL_CE_SYNC:
		return sizeof(same->ce_sync);
	case NCCL_CE_BATCH:
		return sizeof(same->ce_batch);
	}
	return 0;
}

void nccl_event_read(struct nccl_event *event, int version, const struct nccl_descriptor *told)
{
	uint64_t type = version >= 5 ? told->head.type : told->head.short_type;

	memset(event, 0, sizeof(*event));
	/* one at a time, and of those that the version has */
	if (!type || type & (type - 1) || !(type & nccl_types(version)))
		return;
	event->type = type;
	event->parent = told->head.parent;
	event->rank = told->head.rank;
	if (type == NCCL_COLL)
		read_coll(event, version, told);
	else if (type == NCCL_P2P)
		read_p2p(event, version, told);
	else
		memcpy(&event->same, &told->same, same_bytes(type, version));
}

void nccl_event_write(const struct nccl_event *event, int version, struct nccl_descriptor *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (version >= 5)
		ret->head.type = event->type;
	else
		ret->head.short_type = (uint8_t)event->type;
	ret->head.parent = event->parent;
	ret->head.rank = event->rank;
	if (event->type == NCCL_COLL)
		write_coll(event, version, ret);
	else if (event->type == NCCL_P2P)
		write_p2p(event, version, ret);
	else
		memcpy(&ret->same, &event->same, same_bytes(event->type, version));
}
