/* process_groups: which process group each collective belongs to, numbered alike on all ranks.
 *
 * A process knows a group by an address, or by nothing: gloo tells of a collective on a thread of
 * its own, where nothing says for which group. Across processes addresses mean nothing. So first,
 * in each process, collectives are sorted into local groups:
 *
 * (1) A mark "process_group" creates one: the text is words KEY=VALUE; `ranks=0,1,4-7` lists the
 *     members, `tids=12,13` the threads that the backend started for it; `communicator=1f00` is what the
 *     backend calls it on all its ranks (NCCL), of which there are `second`; other keys are for people.
 *     first, if not 0, is the address.
 * (2) A collective with an address belongs to the local group of that address. An address that no
 *     mark told is the marked group that owns the thread which completed the collective; if there
 *     are as many unexplained addresses as unused marks, they pair up in order; else a group of its
 *     own.
 * (3) A collective without address belongs to the local group whose collectives were completed by
 *     the same thread (backends have threads of their own a group), by (1) or (2). If none is, to
 *     the only local group, or if there are several, to the default group, which is the first
 *     mark's, or one of its own if there are no marks.
 * (4) A batch of sends and receives without address has that of the calls it holds (batch_ops.h).
 *
 * Then local groups of different processes that their backend calls the same are one group, and those with the same members, as many-th of those members in
 * order of creation, are one group. Members that nobody told are all ranks. Groups are numbered by
 * creation. */
#include "correlate/process_groups.h"

#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "correlate/batch_ops.h"
#include "correlate/correlate_internal.h"
#include "trace/mark_kind.h"
#include "trace/rank_table.h"
#include "trace/slice_columns.h"

enum { MAX_IDS = 1 << 16 };

struct local_group {
	guint64 address; /* 0: not known */
	gboolean is_marked;
	gboolean is_called; /* `members` is what its backend calls it */
	gint64 first_ns;    /* its mark, or its first collective */
	gchar *members;	    /* ranks as merged spans: "0-3,8-8,"; "": all */
	guint32 n_members;  /* 0: not known */
	GArray *slices;	    /* guint32 */
};

/* One process at work. */
struct local_groups {
	const TachoTimeline *timeline;
	GPtrArray *groups;	/* struct local_group */
	GHashTable *of_tid;	/* thread that completes -> struct local_group */
	GHashTable *of_address; /* address -> struct local_group */
	GArray *collectives;	/* guint32, by begin */
	const struct batch_ops *batches;
};

static void local_group_free(gpointer data)
{
	struct local_group *group = data;

	g_free(group->members);
	g_array_unref(group->slices);
	g_free(group);
}

static struct local_group *add_local_group(struct local_groups *local, gint64 first_ns)
{
	struct local_group *group = g_new0(struct local_group, 1);

	group->first_ns = first_ns;
	group->members = g_strdup("");
	group->slices = g_array_new(FALSE, FALSE, sizeof(guint32));
	g_ptr_array_add(local->groups, group);
	return group;
}

/* --- marks ----------------------------------------------------------------------------------- */

/* Ids from `first` to `last`, both among them. */
struct id_span {
	guint32 first, last;
};

static gint compare_spans(gconstpointer a, gconstpointer b)
{
	const struct id_span *left = a, *right = b;

	return ORDER(left->first, right->first);
}

/* In order, none touching the next: however ids were listed, they become the same spans. */
static void merge_spans(GArray *spans)
{
	guint n = 0;

	g_array_sort(spans, compare_spans);
	for (guint i = 0; i < spans->len; i++) {
		struct id_span span = g_array_index(spans, struct id_span, i);
		struct id_span *before = n ? &g_array_index(spans, struct id_span, n - 1) : NULL;

		if (before && span.first <= (guint64)before->last + 1)
			before->last = MAX(before->last, span.last);
		else
			g_array_index(spans, struct id_span, n++) = span;
	}
	g_array_set_size(spans, n);
}

/* "0,1,4-7" as spans, merged; MAX_IDS ids at most. What is no number is passed over. */
static GArray *parse_ids(const gchar *text)
{
	GArray *spans = g_array_new(FALSE, FALSE, sizeof(struct id_span));
	guint64 n_left = MAX_IDS;

	while (*text && n_left) {
		gchar *end;
		guint64 first = g_ascii_strtoull(text, &end, 10), last = first;

		if (end == text) {
			text++;
			continue;
		}
		if (*end == '-')
			last = g_ascii_strtoull(end + 1, &end, 10);
		text = end;
		if (first > last)
			continue;
		last = MIN(last, first + MIN(n_left - 1, G_MAXUINT64 - first));
		n_left -= last - first + 1;
		g_array_append_val(spans, ((struct id_span){ (guint32)MIN(first, G_MAXUINT32),
							     (guint32)MIN(last, G_MAXUINT32) }));
	}
	merge_spans(spans);
	return spans;
}

static void set_members(struct local_group *group, const gchar *ranks)
{
	g_autoptr(GArray) spans = parse_ids(ranks);
	GString *members = g_string_new(NULL);

	group->n_members = 0;
	FOR_EACH(const struct id_span, span, spans) {
		g_string_append_printf(members, "%u-%u,", span->first, span->last);
		group->n_members += span->last - span->first + 1;
	}
	g_free(group->members);
	group->members = g_string_free(members, FALSE);
}

/* The name in place of the members, whom nobody told. */
static void set_called(struct local_group *group, const gchar *name, gint64 n_members)
{
	g_free(group->members);
	group->members = g_strdup_printf("=%s", name);
	group->n_members = (guint32)CLAMP(n_members, 0, MAX_IDS);
	group->is_called = TRUE;
}

static void own_threads(struct local_groups *local, struct local_group *group, const gchar *tids)
{
	g_autoptr(GArray) spans = parse_ids(tids);

	FOR_EACH(const struct id_span, span, spans)
		for (guint64 tid = span->first; tid <= span->last; tid++)
			g_hash_table_insert(local->of_tid, GSIZE_TO_POINTER(tid), group);
}

static void add_marked_group(struct local_groups *local, const TachoMark *mark)
{
	struct local_group *group = add_local_group(local, mark->time_ns);
	g_auto(GStrv) words =
		g_strsplit(tacho_timeline_string(local->timeline, mark->text), " ", 64);
	const gchar *called = NULL;

	group->is_marked = TRUE;
	group->address = (guint64)mark->first;
	for (gchar **word = words; *word; word++) {
		if (g_str_has_prefix(*word, "ranks="))
			set_members(group, *word + strlen("ranks="));
		else if (g_str_has_prefix(*word, "tids="))
			own_threads(local, group, *word + strlen("tids="));
		else if (g_str_has_prefix(*word, "communicator="))
			called = *word + strlen("communicator=");
	}
	if (called)
		set_called(group, called, mark->second);
	if (group->address)
		g_hash_table_insert(local->of_address, GSIZE_TO_POINTER(group->address), group);
}

static gint compare_marks(gconstpointer a, gconstpointer b)
{
	const TachoMark *left = *(TachoMark *const *)a, *right = *(TachoMark *const *)b;

	return ORDER(left->time_ns, right->time_ns) ?: ORDER(left, right);
}

/* --- addresses and threads ------------------------------------------------------------------- */

static TachoCollectiveArgs read_args(const struct local_groups *local, guint32 slice)
{
	TachoCollectiveArgs args = { 0 };
	const struct batch_op *op;
	guint n_ops;

	if (!tacho_slice_collective(local->timeline, slice, &args))
		memset(&args, 0, sizeof(args));
	op = args.group ? NULL : batch_ops_borrow(local->batches, slice, &n_ops);
	if (op) /* (4) */
		args.group = op->group;
	return args;
}

/* An address that no mark told, with the thread that completed a collective of it. */
struct stranger {
	guint64 address;
	guint32 end_tid;
	gint64 first_ns;
};

static gint compare_local_groups(gconstpointer a, gconstpointer b)
{
	const struct local_group *left = *(struct local_group *const *)a;
	const struct local_group *right = *(struct local_group *const *)b;

	return ORDER(left->first_ns, right->first_ns);
}

/* First uses of addresses that no mark told and no thread explains. */
static GArray *collect_strangers(struct local_groups *local)
{
	GArray *strangers = g_array_new(FALSE, FALSE, sizeof(struct stranger));

	for (guint i = 0; i < local->collectives->len; i++) {
		guint32 slice = g_array_index(local->collectives, guint32, i);
		TachoCollectiveArgs args = read_args(local, slice);
		struct stranger stranger = { args.group, args.end_tid,
					     local->timeline->slices.start_ns[slice] };
		struct local_group *owner;

		if (!args.group ||
		    g_hash_table_contains(local->of_address, GSIZE_TO_POINTER(args.group)))
			continue;
		owner = g_hash_table_lookup(local->of_tid, GUINT_TO_POINTER(args.end_tid));
		if (owner)
			owner->address = args.group;
		else
			g_array_append_val(strangers, stranger);
		g_hash_table_insert(local->of_address, GSIZE_TO_POINTER(args.group), owner);
	}
	return strangers;
}

static GPtrArray *collect_unused_marks(struct local_groups *local)
{
	GPtrArray *unused = g_ptr_array_new();

	FOR_EACH_POINTER(struct local_group, group, local->groups)
		if (!group->address)
			g_ptr_array_add(unused, group);
	return unused;
}

/* (2) */
static void settle_addresses(struct local_groups *local)
{
	g_autoptr(GArray) strangers = collect_strangers(local);
	g_autoptr(GPtrArray) unused = collect_unused_marks(local);

	FOR_EACH_AT(const struct stranger, stranger, i, strangers) {
		struct local_group *group = strangers->len == unused->len
						    ? g_ptr_array_index(unused, i)
						    : add_local_group(local, stranger->first_ns);

		group->address = stranger->address;
		g_hash_table_insert(local->of_address, GSIZE_TO_POINTER(group->address), group);
	}
	for (guint i = 0; i < local->collectives->len; i++) {
		guint32 slice = g_array_index(local->collectives, guint32, i);
		TachoCollectiveArgs args = read_args(local, slice);
		gpointer tid = GUINT_TO_POINTER(args.end_tid);

		if (args.group && args.end_tid && !g_hash_table_contains(local->of_tid, tid))
			g_hash_table_insert(local->of_tid, tid,
					    g_hash_table_lookup(local->of_address,
								GSIZE_TO_POINTER(args.group)));
	}
}

/* (3): where collectives go of which nothing is known. */
static struct local_group *find_default(struct local_groups *local, gint64 first_ns)
{
	struct local_group *first = local->groups->len ? g_ptr_array_index(local->groups, 0) : NULL;

	if (first && (local->groups->len == 1 || first->is_marked))
		return first;
	return add_local_group(local, first_ns);
}

static void sort_into_groups(struct local_groups *local)
{
	struct local_group *fallback = NULL;

	for (guint i = 0; i < local->collectives->len; i++) {
		guint32 slice = g_array_index(local->collectives, guint32, i);
		TachoCollectiveArgs args = read_args(local, slice);
		struct local_group *group = NULL;

		if (args.group)
			group = g_hash_table_lookup(local->of_address,
						    GSIZE_TO_POINTER(args.group));
		else if (args.end_tid)
			group = g_hash_table_lookup(local->of_tid, GUINT_TO_POINTER(args.end_tid));
		if (!group) {
			if (!fallback)
				fallback = find_default(local,
							local->timeline->slices.start_ns[slice]);
			group = fallback;
		}
		g_array_append_val(group->slices, slice);
	}
}

/* --- across processes ------------------------------------------------------------------------ */

static void group_rank_free(gpointer data)
{
	GroupRank *rank = data;

	g_array_unref(rank->slices);
	g_free(rank);
}

static void process_group_free(gpointer data)
{
	ProcessGroup *group = data;

	g_ptr_array_free(group->ranks, TRUE);
	g_free(group);
}

static guint32 count_all_ranks(const TachoTimeline *timeline)
{
	return MAX((gint64)timeline->expected_ranks, (gint64)timeline->ranks->len);
}

/* The group of the given members, the `ordinal`-th of theirs; made if it is new. */
static ProcessGroup *get_group(GHashTable *by_key, GPtrArray *groups, const TachoTimeline *timeline,
			       const struct local_group *local, guint ordinal)
{
	g_autofree gchar *key = g_strdup_printf("%u:%s", ordinal, local->members);
	ProcessGroup *group = g_hash_table_lookup(by_key, key);

	if (group) {
		group->first_ns = MIN(group->first_ns, local->first_ns);
		return group;
	}
	group = g_new0(ProcessGroup, 1);
	group->n_expected = local->n_members ? local->n_members : count_all_ranks(timeline);
	group->first_ns = local->first_ns;
	group->ranks = g_ptr_array_new_with_free_func(group_rank_free);
	g_ptr_array_add(groups, group);
	g_hash_table_insert(by_key, g_steal_pointer(&key), group);
	return group;
}

static gboolean lists_all_ranks(const TachoTimeline *timeline, const struct local_group *group)
{
	return !group->is_called && group->n_members >= count_all_ranks(timeline);
}

static void join_groups(struct local_groups *local, guint32 rank_index, GHashTable *by_key,
			GPtrArray *groups)
{
	g_autoptr(GHashTable) n_alike = g_hash_table_new(g_str_hash, g_str_equal);

	g_ptr_array_sort(local->groups, compare_local_groups);
	FOR_EACH_POINTER(struct local_group, one, local->groups) {
		GroupRank *rank;
		guint ordinal;

		if (lists_all_ranks(local->timeline, one))
			one->members[0] = '\0';
		ordinal = GPOINTER_TO_UINT(g_hash_table_lookup(n_alike, one->members));
		g_hash_table_insert(n_alike, one->members, GUINT_TO_POINTER(ordinal + 1));
		if (one->slices->len == 0)
			continue;
		rank = g_new0(GroupRank, 1);
		rank->rank_index = rank_index;
		rank->slices = g_array_ref(one->slices);
		g_ptr_array_add(get_group(by_key, groups, local->timeline, one, ordinal)->ranks,
				rank);
	}
}

static gint compare_groups(gconstpointer a, gconstpointer b)
{
	const ProcessGroup *left = *(ProcessGroup *const *)a, *right = *(ProcessGroup *const *)b;

	return ORDER(left->first_ns, right->first_ns);
}

/* What a rank's main process recorded of groups. */
struct rank_input {
	GPtrArray *marks;    /* TachoMark */
	GArray *collectives; /* guint32 */
};

static void collect_input(const TachoTimeline *timeline, struct rank_input *inputs)
{
	const TachoSlices *slices = &timeline->slices;

	FOR_EACH(TachoMark, mark, timeline->marks) {
		guint32 rank = mark->track < timeline->tracks->len
				       ? rank_index_of_main(timeline, mark->track)
				       : TACHO_NONE;

		if (rank != TACHO_NONE && mark_kind_of(timeline, mark) == MARK_PROCESS_GROUP)
			g_ptr_array_add(inputs[rank].marks, mark);
	}
	for (guint32 i = 0; i < slices->n; i++) {
		guint32 rank;

		if (slices->kind[i] != TACHO_SLICE_COLLECTIVE)
			continue;
		rank = rank_index_of_main(timeline, slices->track[i]);
		if (rank != TACHO_NONE)
			g_array_append_val(inputs[rank].collectives, i);
	}
}

static void group_rank_collectives(const TachoTimeline *timeline, const struct batch_ops *batches,
				   guint32 rank_index, struct rank_input *input, GHashTable *by_key,
				   GPtrArray *groups)
{
	g_autoptr(GPtrArray) local_list = g_ptr_array_new_with_free_func(local_group_free);
	g_autoptr(GHashTable) of_tid = g_hash_table_new(NULL, NULL);
	g_autoptr(GHashTable) of_address = g_hash_table_new(NULL, NULL);
	struct local_groups local = { timeline,	  local_list,	      of_tid,
				      of_address, input->collectives, batches };

	g_ptr_array_sort(input->marks, compare_marks);
	g_array_sort_with_data(input->collectives, slice_columns_order,
			       (gpointer)&timeline->slices);
	for (guint i = 0; i < input->marks->len; i++)
		add_marked_group(&local, g_ptr_array_index(input->marks, i));
	settle_addresses(&local);
	sort_into_groups(&local);
	join_groups(&local, rank_index, by_key, groups);
}

GPtrArray *process_groups_new(const TachoTimeline *timeline)
{
	GPtrArray *groups = g_ptr_array_new_with_free_func(process_group_free);
	g_autoptr(GHashTable) by_key = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	guint32 n = timeline->ranks->len;
	g_autofree struct rank_input *inputs = g_new0(struct rank_input, n);
	g_autoptr(batch_ops) batches = batch_ops_new(timeline);

	for (guint32 i = 0; i < n; i++) {
		inputs[i].marks = g_ptr_array_new();
		inputs[i].collectives = g_array_new(FALSE, FALSE, sizeof(guint32));
	}
	collect_input(timeline, inputs);
	for (guint32 i = 0; i < n; i++) {
		group_rank_collectives(timeline, batches, i, &inputs[i], by_key, groups);
		g_ptr_array_free(inputs[i].marks, TRUE);
		g_array_free(inputs[i].collectives, TRUE);
	}
	g_ptr_array_sort(groups, compare_groups);
	return groups;
}
