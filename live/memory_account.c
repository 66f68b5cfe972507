#include "live/memory_account.h"

#include "base/for_each.h"
#include "base/order.h"

struct rank_memory {
	GHashTable *blocks; /* address -> bytes, as far as a guint64 fits a pointer */
	gint64 bytes, peak_bytes;
	gint64 done_unix_ns;
	gboolean is_recorded;
	gboolean is_lost; /* what was allocated or freed is not known of all steps */
};

struct _MemoryAccount {
	GHashTable *ranks; /* rank -> struct rank_memory */
};

static void rank_memory_free(gpointer pointer)
{
	struct rank_memory *memory = pointer;

	g_hash_table_unref(memory->blocks);
	g_free(memory);
}

MemoryAccount *memory_account_new(void)
{
	MemoryAccount *account = g_new0(MemoryAccount, 1);

	account->ranks = g_hash_table_new_full(NULL, NULL, NULL, rank_memory_free);
	return account;
}

void memory_account_free(MemoryAccount *account)
{
	if (!account)
		return;
	g_hash_table_unref(account->ranks);
	g_free(account);
}

void memory_account_restart(MemoryAccount *account)
{
	g_hash_table_remove_all(account->ranks);
}

void memory_account_pass(MemoryAccount *account)
{
	FOR_EACH_ENTRY(entry, account->ranks) {
		struct rank_memory *memory = entry.value;

		g_hash_table_remove_all(memory->blocks);
		memory->is_lost = TRUE;
	}
}

static struct rank_memory *memory_of(MemoryAccount *account, gint32 rank)
{
	struct rank_memory *memory = g_hash_table_lookup(account->ranks, GINT_TO_POINTER(rank));

	if (memory)
		return memory;
	memory = g_new0(struct rank_memory, 1);
	memory->blocks = g_hash_table_new(NULL, NULL);
	memory->done_unix_ns = G_MININT64;
	g_hash_table_insert(account->ranks, GINT_TO_POINTER(rank), memory);
	return memory;
}

static gint compare_events(gconstpointer a, gconstpointer b)
{
	const TachoMemoryEvent *left = a, *right = b;

	return ORDER(left->time_ns, right->time_ns);
}

/* The events of the rank's main process from `begin_ns` up to `end_ns`, by time; the caller's. */
static GArray *collect_events(const TachoTimeline *timeline, guint32 rank_index, gint64 begin_ns,
			      gint64 end_ns)
{
	GArray *events = g_array_new(FALSE, FALSE, sizeof(TachoMemoryEvent));
	guint32 process = tacho_timeline_rank(timeline, rank_index)->main_process;

	FOR_EACH(const TachoMemoryEvent, event, timeline->memory)
		if (event->track != TACHO_NONE &&
		    tacho_timeline_track(timeline, event->track)->process == process &&
		    event->time_ns >= begin_ns && event->time_ns < end_ns)
			g_array_append_vals(events, event, 1);
	g_array_sort(events, compare_events);
	return events;
}

static void take(struct rank_memory *memory, const TachoMemoryEvent *event)
{
	gpointer address = GSIZE_TO_POINTER(event->address ^ (guint64)event->device << 56);

	if (event->bytes > 0) {
		g_hash_table_insert(memory->blocks, address, GSIZE_TO_POINTER(event->bytes));
		memory->bytes += event->bytes;
	} else {
		/* what was allocated before the recording was not counted */
		memory->bytes -=
			(gint64)GPOINTER_TO_SIZE(g_hash_table_lookup(memory->blocks, address));
		g_hash_table_remove(memory->blocks, address);
	}
	memory->peak_bytes = MAX(memory->peak_bytes, memory->bytes);
}

void memory_account_fill(MemoryAccount *account, const TachoTimeline *timeline, guint32 rank_index,
			 TachoLiveStep *steps, guint n)
{
	struct rank_memory *memory =
		memory_of(account, tacho_timeline_rank(timeline, rank_index)->rank);
	gint64 end_ns = n ? steps[n - 1].end_unix_ns - timeline->origin_unix_ns : G_MININT64;
	gint64 begin_ns = memory->done_unix_ns == G_MININT64
				  ? G_MININT64
				  : memory->done_unix_ns - timeline->origin_unix_ns;
	g_autoptr(GArray) events = NULL;
	guint at = 0;

	if (!n || memory->is_lost)
		return;
	events = collect_events(timeline, rank_index, begin_ns, end_ns);
	memory->is_recorded |= events->len > 0;
	for (guint i = 0; i < n; i++) {
		memory->peak_bytes = memory->bytes;
		for (; at < events->len; at++) {
			const TachoMemoryEvent *event =
				&g_array_index(events, TachoMemoryEvent, at);

			if (event->time_ns + timeline->origin_unix_ns >= steps[i].end_unix_ns)
				break;
			take(memory, event);
		}
		if (!memory->is_recorded)
			continue;
		steps[i].memory_bytes = memory->bytes;
		steps[i].peak_bytes = memory->peak_bytes;
	}
	memory->done_unix_ns = steps[n - 1].end_unix_ns;
}
