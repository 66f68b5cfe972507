#include "trace/slice_args.h"

#include "base/decimal.h"

void slice_args_init(struct slice_args *args)
{
	args->n = 0;
	for (guint i = 0; i < N_SLICE_ARGS; i++)
		args->texts[i] = g_string_new(NULL);
}

void slice_args_release(struct slice_args *args)
{
	for (guint i = 0; i < N_SLICE_ARGS; i++)
		g_string_free(args->texts[i], TRUE);
}

const gchar *slice_arg_key_name(enum slice_arg_key key)
{
	static const gchar *const names[] = {
#define SLICE_ARG_NAME(enumerator, key) key,
		SLICE_ARGS(SLICE_ARG_NAME)
#undef SLICE_ARG_NAME
	};

	return names[key];
}

/* --- one value -------------------------------------------------------------------------------- */

static struct slice_arg *add(struct slice_args *args, enum slice_arg_key key,
			     enum slice_arg_type type)
{
	struct slice_arg *arg = &args->args[args->n++];

	arg->key = key;
	arg->type = type;
	return arg;
}

static void add_true(struct slice_args *args, enum slice_arg_key key)
{
	add(args, key, SLICE_ARG_TYPE_TRUE);
}

static void add_integer(struct slice_args *args, enum slice_arg_key key, gint64 value)
{
	add(args, key, SLICE_ARG_TYPE_INTEGER)->integer = value;
}

static void add_unsigned(struct slice_args *args, enum slice_arg_key key, guint64 value)
{
	add(args, key, SLICE_ARG_TYPE_UNSIGNED)->number = value;
}

/* An empty text is left out. */
static void add_string(struct slice_args *args, enum slice_arg_key key, const gchar *value)
{
	if (value && *value)
		add(args, key, SLICE_ARG_TYPE_STRING)->string = value;
}

static void append_dims(GString *text, const gint64 *dims, guint32 n_dims)
{
	for (guint32 i = 0; i < MIN(n_dims, TACHO_MAX_DIMS); i++) {
		if (i)
			g_string_append_c(text, ',');
		decimal_append(text, dims[i]);
	}
}

static void append_tensor(GString *text, const TachoTensor *tensor)
{
	if (text->len)
		g_string_append(text, ", ");
	g_string_append(text, tensor->dtype);
	g_string_append_c(text, '[');
	append_dims(text, tensor->shape, tensor->n_dims);
	g_string_append_c(text, ']');
}

/* --- what each kind of slice has -------------------------------------------------------------- */

typedef gboolean (*TensorGetter)(const TachoTimeline *timeline, guint32 slice, guint32 index,
				 TachoTensor *tensor);

static void add_tensors(struct slice_args *args, enum slice_arg_key key,
			const TachoTimeline *timeline, guint32 slice, TensorGetter get)
{
	GString *text = args->texts[key];
	TachoTensor tensor;

	g_string_truncate(text, 0);
	for (guint32 i = 0; get(timeline, slice, i, &tensor); i++)
		append_tensor(text, &tensor);
	add_string(args, key, text->str);
}

static void add_op(struct slice_args *args, const TachoTimeline *timeline, guint32 slice)
{
	TachoOpArgs op;

	if (!tacho_slice_op(timeline, slice, &op))
		return;
	add_tensors(args, SLICE_ARG_INPUTS, timeline, slice, tacho_slice_input);
	add_tensors(args, SLICE_ARG_OUTPUTS, timeline, slice, tacho_slice_output);
	if (op.sequence >= 0)
		add_integer(args, SLICE_ARG_SEQUENCE, op.sequence);
}

static void add_kernel(struct slice_args *args, const TachoTimeline *timeline, guint32 slice)
{
	GString *dims = args->texts[SLICE_ARG_DIMS];
	TachoKernelArgs kernel;

	if (!tacho_slice_kernel(timeline, slice, &kernel))
		return;
	if (kernel.bytes)
		add_unsigned(args, SLICE_ARG_BYTES, kernel.bytes);
	if (kernel.flops)
		add_unsigned(args, SLICE_ARG_FLOPS, kernel.flops);
	add_string(args, SLICE_ARG_DTYPE, kernel.dtype);
	g_string_truncate(dims, 0);
	append_dims(dims, kernel.dims, kernel.n_dims);
	add_string(args, SLICE_ARG_DIMS, dims->str);
	add_string(args, SLICE_ARG_DETAIL, kernel.text);
}

static void add_membership(struct slice_args *args, const TachoTimeline *timeline, guint32 slice,
			   const TachoCollective *collective)
{
	add_unsigned(args, SLICE_ARG_GROUP, collective->group);
	add_unsigned(args, SLICE_ARG_NUMBER, collective->sequence);
	add_unsigned(args, SLICE_ARG_MEMBERS, collective->n_members);
	add_unsigned(args, SLICE_ARG_EXPECTED, collective->n_expected);
	add_integer(args, SLICE_ARG_WAIT_NS,
		    collective->last_begin_ns - timeline->slices.start_ns[slice]);
}

static void add_collective(struct slice_args *args, const TachoTimeline *timeline, guint32 slice,
			   const TachoCollective *membership)
{
	TachoCollectiveArgs collective;

	if (tacho_slice_collective(timeline, slice, &collective)) {
		add_tensors(args, SLICE_ARG_INPUTS, timeline, slice, tacho_slice_input);
		if (collective.bytes)
			add_unsigned(args, SLICE_ARG_BYTES, collective.bytes);
	}
	if (membership)
		add_membership(args, timeline, slice, membership);
}

static void add_endpoint(struct slice_args *args, enum slice_arg_key key,
			 const TachoEndpoint *endpoint)
{
	g_autofree gchar *text = tacho_endpoint_text(endpoint);

	g_string_assign(args->texts[key], text);
	add_string(args, key, args->texts[key]->str);
}

/* What correlate found out. */
static void add_purpose(struct slice_args *args, const TachoTimeline *timeline,
			const TachoMessage *message)
{
	const GArray *processes = timeline->processes, *collectives = timeline->collectives;

	if (message->peer_process < processes->len &&
	    g_array_index(processes, TachoProcess, message->peer_process).rank >= 0)
		add_integer(args, SLICE_ARG_PEER_RANK,
			    g_array_index(processes, TachoProcess, message->peer_process).rank);
	if (message->collective != TACHO_NONE)
		add_string(args, SLICE_ARG_COLLECTIVE,
			   tacho_slice_name(timeline, message->collective));
	if (message->collective_row < collectives->len) {
		const TachoCollective *collective =
			&g_array_index(collectives, TachoCollective, message->collective_row);

		add_unsigned(args, SLICE_ARG_GROUP, collective->group);
		add_unsigned(args, SLICE_ARG_NUMBER, collective->sequence);
	}
	if (message->ring_step != TACHO_NONE)
		add_unsigned(args, SLICE_ARG_RING_STEP, message->ring_step);
}

static void add_message(struct slice_args *args, const TachoTimeline *timeline, guint32 slice)
{
	const TachoMessage *found = tacho_slice_borrow_message(timeline, slice);
	TachoMessageArgs message;

	if (!tacho_slice_message(timeline, slice, &message))
		return;
	add_string(args, SLICE_ARG_DIRECTION, message.is_receive ? "receive" : "send");
	add_unsigned(args, SLICE_ARG_BYTES, message.bytes);
	add_endpoint(args, SLICE_ARG_LOCAL, &message.local);
	add_endpoint(args, SLICE_ARG_PEER, &message.peer);
	add_unsigned(args, SLICE_ARG_FD, message.fd);
	if (found)
		add_purpose(args, timeline, found);
}

static void add_request(struct slice_args *args, const TachoRequestArgs *request)
{
	add_string(args, SLICE_ARG_SIDE, request->is_server ? "server" : "client");
	add_unsigned(args, SLICE_ARG_SENT_BYTES, request->sent_bytes);
	add_unsigned(args, SLICE_ARG_RECEIVED_BYTES, request->received_bytes);
	add_unsigned(args, SLICE_ARG_SENT_MESSAGES, request->n_sent);
	add_unsigned(args, SLICE_ARG_RECEIVED_MESSAGES, request->n_received);
	if (request->sent_ns)
		add_integer(args, SLICE_ARG_SENT_NS, request->sent_ns);
	if (request->received_ns)
		add_integer(args, SLICE_ARG_RECEIVED_NS, request->received_ns);
	if (request->status != G_MAXUINT32)
		add_unsigned(args, SLICE_ARG_STATUS, request->status);
	add_unsigned(args, SLICE_ARG_OTHERS, request->n_others);
	if (request->local.port)
		add_endpoint(args, SLICE_ARG_LOCAL, &request->local);
	if (request->peer.port)
		add_endpoint(args, SLICE_ARG_PEER, &request->peer);
}

void slice_args_of_slice(struct slice_args *args, const TachoTimeline *timeline, guint32 slice,
			 const TachoCollective *membership)
{
	guint8 flags = timeline->slices.flags[slice];
	TachoRequestArgs request;
	guint64 id;

	args->n = 0;
	if (flags & TACHO_SLICE_OPEN)
		add_true(args, SLICE_ARG_OPEN);
	if (flags & TACHO_SLICE_REPAIRED)
		add_true(args, SLICE_ARG_REPAIRED);
	if (flags & TACHO_SLICE_CRITICAL)
		add_true(args, SLICE_ARG_CRITICAL);
	switch ((TachoSliceKind)timeline->slices.kind[slice]) {
	case TACHO_SLICE_OP:
		add_op(args, timeline, slice);
		break;
	case TACHO_SLICE_KERNEL:
		add_kernel(args, timeline, slice);
		break;
	case TACHO_SLICE_COLLECTIVE:
		add_collective(args, timeline, slice, membership);
		break;
	case TACHO_SLICE_MESSAGE:
		add_message(args, timeline, slice);
		break;
	case TACHO_SLICE_EVENT:
		if (tacho_slice_request(timeline, slice, &request)) {
			add_request(args, &request);
			break;
		}
		/* fall through */
	default:
		id = tacho_slice_id(timeline, slice);
		if (id)
			add_unsigned(args, SLICE_ARG_ID, id);
	}
}

void slice_args_of_mark(struct slice_args *args, const TachoTimeline *timeline,
			const TachoMark *mark)
{
	args->n = 0;
	add_integer(args, SLICE_ARG_FIRST, mark->first);
	add_integer(args, SLICE_ARG_SECOND, mark->second);
	add_string(args, SLICE_ARG_TEXT, tacho_timeline_string(timeline, mark->text));
}

void slice_args_of_step(struct slice_args *args, const TachoStep *step)
{
	args->n = 0;
	add_unsigned(args, SLICE_ARG_NUMBER, step->number);
	if (!step->is_complete)
		add_true(args, SLICE_ARG_INCOMPLETE);
}
