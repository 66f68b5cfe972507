/* advice_system: what the operating system's kernel did to a step: threads without a core, segments sent once more. */
#include "analyze/advice.h"

#include "analyze/kernel_account.h"
#include "analyze/rank_activity.h"
#include "base/for_each.h"
#include "base/time_units.h"

/* These are told from less of a step on than other advice: that somebody else uses the job's cores, or that a link loses
 * packets, is wrong however little it costs now. */
#define SYSTEM_WORTH_PCT 1.0

/* A rank and what explains most of its time. */
struct system_loss {
	guint rank_index; /* TACHO_NONE: there is none */
	gdouble ns;	  /* of all causes together, a step */
	guint32 name;	  /* the cause with most */
	gboolean is_own;
	gdouble name_ns;
};

typedef gboolean (*TakesCause)(const struct kernel_cause *cause);

static gboolean is_without_core(const struct kernel_cause *cause)
{
	return cause->kind == KERNEL_EVENT_PREEMPTED || cause->kind == KERNEL_EVENT_RUN_QUEUE;
}

static gboolean is_retransmit(const struct kernel_cause *cause)
{
	return cause->kind == KERNEL_EVENT_RETRANSMIT;
}

static void add_parts(struct interval_set *all, const struct kernel_cause *cause)
{
	for (guint part = 0; part < N_KERNEL_PARTS; part++)
		interval_set_add_all(all, &cause->parts[part]);
}

static gdouble measure(const struct interval_set *set, const GArray *stretches)
{
	gdouble sum_ns = 0;

	FOR_EACH(const struct interval, stretch, stretches)
		sum_ns += (gdouble)interval_set_measure(set, stretch->begin_ns, stretch->end_ns);
	return stretches->len ? sum_ns / stretches->len : 0;
}

static struct system_loss measure_rank(const struct advice_input *input, guint rank_index,
				       GHashTable *collectives, TakesCause takes)
{
	g_autoptr(GArray) stretches = selection_stretches(&input->selection, rank_index);
	struct system_loss loss = { .rank_index = rank_index };
	struct rank_activity activity;
	struct kernel_account account;
	struct interval_set all;

	rank_activity_init(&activity, input->timeline, rank_index, collectives);
	kernel_account_init(&account, input->timeline, rank_index, &activity);
	interval_set_init(&all);
	FOR_EACH(const struct kernel_cause, cause, account.causes) {
		struct interval_set one;
		gdouble ns;

		if (!takes(cause))
			continue;
		interval_set_init(&one);
		add_parts(&one, cause);
		interval_set_normalize(&one);
		ns = measure(&one, stretches);
		interval_set_add_all(&all, &one);
		interval_set_release(&one);
		if (ns > loss.name_ns) {
			loss.name_ns = ns;
			loss.name = cause->name;
			loss.is_own = cause->is_own;
		}
	}
	interval_set_normalize(&all);
	loss.ns = measure(&all, stretches);
	interval_set_release(&all);
	kernel_account_release(&account);
	rank_activity_release(&activity);
	return loss;
}

static struct system_loss find_worst(const struct advice_input *input, TakesCause takes)
{
	struct system_loss worst = { .rank_index = TACHO_NONE };
	g_autoptr(GHashTable) collectives = index_collectives(input->timeline);

	for (guint i = 0; i < input->timeline->ranks->len; i++) {
		struct system_loss loss;

		if (!advice_takes_rank(input, i))
			continue;
		loss = measure_rank(input, i, collectives, takes);
		if (worst.rank_index == TACHO_NONE || loss.ns > worst.ns)
			worst = loss;
	}
	return worst;
}

const gchar *check_preemption(const struct advice_input *input, GArray *advices)
{
	struct advice advice = { .checker = "preemption",
				 .metric = "without_core_pct",
				 .threshold = SYSTEM_WORTH_PCT };
	struct system_loss worst;
	const gchar *name;

	if (!kernel_events_are_in(input->timeline))
		return "the kernel was not recorded";
	worst = find_worst(input, is_without_core);
	advice.gain_ns = worst.ns;
	advice.value = advice_share(input, worst.ns);
	if (worst.rank_index == TACHO_NONE || advice.value < advice.threshold)
		return NULL;
	name = tacho_timeline_string(input->timeline, worst.name);
	advice.rank = advice_rank(input, worst.rank_index);
	advice.where = g_strdup(name);
	advice.evidence = g_strdup_printf(
		"For %.2f ms %s, some thread of rank %d could run and had no core; for %.2f ms it "
		"was: %s.",
		MS(worst.ns), input->each, advice.rank, MS(worst.name_ns), name);
	advice.action = g_strdup(
		worst.is_own
			? "The job has more threads that run than cores: lower OMP_NUM_THREADS, "
			  "torch.set_num_threads() or num_workers, or bind ranks to cores of their "
			  "own. --view system shows which threads wait."
			: "Keep others off the job's cores: move what runs there to other cores or "
			  "hosts (taskset, cpuset, nice), or bind the job to cores that are free. "
			  "--view system shows who took which thread's core.");
	g_array_append_val(advices, advice);
	return NULL;
}

const gchar *check_retransmits(const struct advice_input *input, GArray *advices)
{
	struct advice advice = { .checker = "retransmits",
				 .metric = "retransmit_wait_pct",
				 .threshold = SYSTEM_WORTH_PCT };
	struct system_loss worst;

	if (!kernel_events_are_in(input->timeline))
		return "the kernel was not recorded";
	worst = find_worst(input, is_retransmit);
	advice.gain_ns = worst.ns;
	advice.value = advice_share(input, worst.ns);
	if (worst.rank_index == TACHO_NONE || advice.value < advice.threshold)
		return NULL;
	advice.rank = advice_rank(input, worst.rank_index);
	advice.where = g_strdup(tacho_timeline_string(input->timeline, worst.name));
	advice.evidence = g_strdup_printf(
		"Rank %d waits for %.2f ms %s while TCP waits to send something once more; for "
		"%.2f ms it is: %s.",
		advice.rank, MS(worst.ns), input->each, MS(worst.name_ns), advice.where);
	advice.action = g_strdup(
		"Packets are lost on that link: look for errors and drops of its interfaces and "
		"switches (ip -s link, ethtool -S), for a queue that is too short, and for other "
		"traffic on it. --view system lists the retransmits.");
	g_array_append_val(advices, advice);
	return NULL;
}
