#include "analyze/kernel_account.h"

#include "analyze/rank_activity.h"
#include "base/for_each.h"
#include "base/time_units.h"

enum { MAX_CAUSES = 256, MAX_TOLD = 3 };

static gboolean counts(enum kernel_event_kind kind)
{
	return kind != KERNEL_EVENT_NONE && kind != KERNEL_EVENT_BLOCKED; /* (2) */
}

static struct kernel_cause *cause_of(struct kernel_account *account, GHashTable *by_name,
				     guint32 name, enum kernel_event_kind kind)
{
	gpointer known = g_hash_table_lookup(by_name, GUINT_TO_POINTER(name));
	struct kernel_cause cause = { .name = name, .kind = kind };

	if (known)
		return &g_array_index(account->causes, struct kernel_cause,
				      GPOINTER_TO_UINT(known) - 1);
	if (account->causes->len == MAX_CAUSES)
		return NULL;
	cause.is_own = kernel_event_is_own(account->timeline, name, kind);
	for (guint part = 0; part < N_KERNEL_PARTS; part++)
		interval_set_init(&cause.parts[part]);
	g_array_append_val(account->causes, cause);
	g_hash_table_insert(by_name, GUINT_TO_POINTER(name),
			    GUINT_TO_POINTER(account->causes->len));
	return &g_array_index(account->causes, struct kernel_cause, account->causes->len - 1);
}

/* All of a cause goes to IDLE at first. */
static void collect(struct kernel_account *account, guint rank_index)
{
	const TachoTimeline *timeline = account->timeline;
	g_autoptr(GHashTable) by_name = g_hash_table_new(NULL, NULL);

	FOR_EACH(const TachoTrack, track, timeline->tracks) {
		const TachoProcess *process = tacho_track_process(timeline, track);
		gboolean is_of_rank = process->is_main && process->rank_index == rank_index;

		if (track->kind != TACHO_TRACK_ASYNC)
			continue;
		for (guint32 i = track->first_slice; i < track->first_slice + track->n_slices;
		     i++) {
			enum kernel_event_kind kind = kernel_event_of(timeline, i);
			struct kernel_cause *cause = NULL;

			if (counts(kind) && (is_of_rank || kind == KERNEL_EVENT_RETRANSMIT))
				cause = cause_of(account, by_name, timeline->slices.name[i], kind);
			if (cause)
				interval_set_add(&cause->parts[KERNEL_PART_IDLE],
						 timeline->slices.start_ns[i],
						 tacho_slice_end_ns(timeline, i));
		}
	}
}

/* Move to `to` what of `from` is in `set`. */
static void move_common(struct interval_set *to, struct interval_set *from,
			const struct interval_set *set)
{
	struct interval_set rest;

	interval_set_init(&rest);
	interval_set_add_all(&rest, from);
	interval_set_normalize(&rest);
	interval_set_subtract(&rest, set);
	interval_set_add_all(to, from);
	interval_set_normalize(to);
	interval_set_subtract(to, &rest);
	interval_set_release(from);
	*from = rest;
}

static void divide(struct kernel_cause *cause, const struct rank_activity *activity,
		   const struct interval_set *waiting)
{
	struct interval_set *idle = &cause->parts[KERNEL_PART_IDLE];

	interval_set_normalize(idle);
	move_common(&cause->parts[KERNEL_PART_WAIT], idle, waiting);
	move_common(&cause->parts[KERNEL_PART_COMPUTE], idle, &activity->compute);
	if (cause->kind != KERNEL_EVENT_RETRANSMIT)
		return;
	interval_set_release(idle); /* (3) */
	interval_set_init(idle);
	interval_set_release(&cause->parts[KERNEL_PART_COMPUTE]);
	interval_set_init(&cause->parts[KERNEL_PART_COMPUTE]);
}

void kernel_account_init(struct kernel_account *account, const TachoTimeline *timeline,
			 guint rank_index, const struct rank_activity *activity)
{
	struct interval_set waiting;

	account->timeline = timeline;
	account->causes = g_array_new(FALSE, FALSE, sizeof(struct kernel_cause));
	collect(account, rank_index);
	interval_set_init(&waiting);
	interval_set_add_all(&waiting, &activity->exposed);
	interval_set_add_all(&waiting, &activity->wait);
	interval_set_normalize(&waiting);
	FOR_EACH(struct kernel_cause, cause, account->causes)
		divide(cause, activity, &waiting);
	interval_set_release(&waiting);
}

void kernel_account_release(struct kernel_account *account)
{
	FOR_EACH(struct kernel_cause, cause, account->causes)
		for (guint part = 0; part < N_KERNEL_PARTS; part++)
			interval_set_release(&cause->parts[part]);
	g_array_unref(account->causes);
}

const gchar *kernel_part_word(enum kernel_part part)
{
	static const gchar *const words[N_KERNEL_PARTS] = { "computing", "waiting", "idle" };

	return words[part];
}

struct told_part {
	const struct kernel_cause *cause;
	enum kernel_part part;
	gint64 ns;
};

/* Keep the greatest parts of `told`, the greatest first. */
static void keep_greatest(struct told_part told[MAX_TOLD], struct told_part next)
{
	for (guint i = 0; i < MAX_TOLD; i++) {
		struct told_part smaller = told[i];

		if (next.ns <= told[i].ns)
			continue;
		told[i] = next;
		next = smaller;
	}
}

static gint64 measure(const struct interval_set *set, const GArray *stretches)
{
	gint64 sum_ns = 0;

	FOR_EACH(const struct interval, stretch, stretches)
		sum_ns += interval_set_measure(set, stretch->begin_ns, stretch->end_ns);
	return sum_ns;
}

gchar *kernel_account_mean_text(const struct kernel_account *account, const GArray *stretches,
				gdouble least_pct)
{
	struct told_part told[MAX_TOLD] = { 0 };
	GString *text = NULL;
	gint64 whole_ns = 0;

	FOR_EACH(const struct interval, stretch, stretches)
		whole_ns += stretch->end_ns - stretch->begin_ns;
	FOR_EACH(const struct kernel_cause, cause, account->causes)
		for (guint part = 0; part < N_KERNEL_PARTS; part++)
			keep_greatest(told, (struct told_part){
						    cause, (enum kernel_part)part,
						    measure(&cause->parts[part], stretches) });
	for (guint i = 0; i < MAX_TOLD; i++) {
		if (told[i].ns <= 0 || 100.0 * (gdouble)told[i].ns < least_pct * (gdouble)whole_ns)
			break;
		if (!text)
			text = g_string_new(NULL);
		g_string_append_printf(
			text, "%s%s: %s %.2f ms", text->len ? "; " : "",
			kernel_part_word(told[i].part),
			tacho_timeline_string(account->timeline, told[i].cause->name),
			MS(told[i].ns) / stretches->len);
	}
	return text ? g_string_free(text, FALSE) : NULL;
}

gchar *kernel_account_text(const struct kernel_account *account, gint64 begin_ns, gint64 end_ns,
			   gdouble least_pct)
{
	struct interval whole = { begin_ns, end_ns };
	g_autoptr(GArray) stretches = g_array_new(FALSE, FALSE, sizeof(whole));

	g_array_append_val(stretches, whole);
	return kernel_account_mean_text(account, stretches, least_pct);
}
