/* kernel_account: which part of a rank's time the kernel explains: other threads had its cores, pages and disks were waited for, something
 * was sent once more on a link.
 *
 * (1) What counts is when at least one thread of the rank's main process was in it: not the sum over threads, and not more than the time
 *     itself. Whether the step needed that thread then, nobody knows: each part is an upper bound.
 * (2) Being blocked in a system call is no part of it: that is how threads wait for each other.
 * (3) A segment that is late is late for all ranks that wait: retransmits of any rank count, and only while this one waits. */
#ifndef TACHO_KERNEL_ACCOUNT_H
#define TACHO_KERNEL_ACCOUNT_H

#include <tacho/timeline.h>

#include "base/interval_set.h"
#include "trace/kernel_event.h"

struct rank_activity;

/* What a moment of a rank is without the kernel's word: src/analyze/rank_activity.h. */
enum kernel_part { KERNEL_PART_COMPUTE, KERNEL_PART_WAIT, KERNEL_PART_IDLE, N_KERNEL_PARTS };

struct kernel_cause {
	guint32 name; /* string id: "preempted by hog" */
	enum kernel_event_kind kind;
	gboolean is_own; /* it is a thread of the process itself */
	struct interval_set parts[N_KERNEL_PARTS];
};

struct kernel_account {
	const TachoTimeline *timeline;
	GArray *causes; /* struct kernel_cause */
};

/* Of the rank, whose time is divided as `activity` says. */
void kernel_account_init(struct kernel_account *account, const TachoTimeline *timeline,
			 guint rank_index, const struct rank_activity *activity);
void kernel_account_release(struct kernel_account *account);

/* "computing", "waiting", "idle" */
const gchar *kernel_part_word(enum kernel_part part);

/* What explains most of [begin_ns, end_ns): "idle: preempted by hog 3.21 ms; waiting: retransmit ...", of what is `least_pct` of it or
 * more. NULL: nothing is. To be freed with g_free(). */
gchar *kernel_account_text(const struct kernel_account *account, gint64 begin_ns, gint64 end_ns,
			   gdouble least_pct);
/* The same of the mean of `stretches` (struct interval). */
gchar *kernel_account_mean_text(const struct kernel_account *account, const GArray *stretches,
				gdouble least_pct);

#endif
