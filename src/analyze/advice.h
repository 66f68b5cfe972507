/* advice: what the checkers of the advise view share. */
#ifndef TACHO_ADVICE_H
#define TACHO_ADVICE_H

#include <tacho/analyze.h>

#include "analyze/selection.h"

/* What is worth less than this of a step is not advised: it would drown in what steps differ by anyway, so that
 * nobody could see whether the change has helped. */
#define ADVICE_WORTH_PCT 5.0

/* Means over the chosen steps of a rank; of a run without steps, its whole life. */
struct rank_time {
	guint n_stretches; /* 0: nothing of it was chosen */
	gdouble duration_ns, compute_ns, transfer_ns, exposed_ns, wait_ns;
	gdouble data_wait_ns; /* for the data loader */
	gdouble idle_ns;      /* without data_wait_ns */
};

/* What the checkers look at. */
struct advice_input {
	const TachoTimeline *timeline;
	TachoFilter filter;    /* of the views asked: the user's ranks, steps, devices; no names */
	TachoFilter all_ranks; /* the same of all ranks */
	struct selection selection; /* by all_ranks */
	struct rank_time *times;    /* of all ranks, by index */
	gdouble step_ns;	    /* the mean step of the chosen ranks; 0: there is none */
	const gchar *each;	    /* "a step", or "in all" where the run has no steps */
};

struct advice {
	const gchar *checker; /* static */
	gint32 rank;	      /* -1: of all ranks */
	const gchar *metric;  /* static: what `value` is, and is held against `threshold` */
	gdouble value, threshold;
	gdouble gain_ns;    /* a step gets shorter by so much at most; 0: by nothing */
	gdouble gain_bytes; /* so much memory less at most; 0: nothing */
	gchar *where;	    /* op, device, collective ...; may be NULL */
	gchar *file;	    /* function of the program with its file and line; NULL: not known */
	gchar *evidence, *action; /* a sentence each */
	const gchar
		*what_if; /* static: the change that takes it all away; NULL: no replay can tell */
	gdouble gain_share; /* of the whole gain, what the mean step of all ranks shows of it; 0: all */
	gboolean is_replayed; /* `gain_ns` is what the replay says of that, and no upper bound */
};

/* By how much a step is shorter with a what-if, or FALSE: it cannot be told. Analysis stands before the replay, which
 * therefore brings it in. */
typedef gboolean (*AdviceReplay)(gpointer data, const gchar *what_if, gdouble *ret_gain_ns);

/* The advise view; `replay` may be NULL: all gains are upper bounds. With `n_most` > 0 only so many advices are given,
 * and nothing of what was not looked for. */
TachoTable *advise_table(const TachoTimeline *timeline, const TachoFilter *filter, guint n_most,
			 AdviceReplay replay, gpointer data);

/* Looks for one thing and adds what it finds to `advices` (struct advice; the strings then are the array's).
 * Returns why there was nothing to look at, static, or NULL. */
typedef const gchar *(*AdviceChecker)(const struct advice_input *input, GArray *advices);

/* CHECKER(name): check_<name>(), in advice_<theme>.c. */
#define ADVICE_CHECKERS(CHECKER)                                                                   \
	CHECKER(communication)                                                                     \
	CHECKER(straggler)                                                                         \
	CHECKER(waiting)                                                                           \
	CHECKER(data_loader)                                                                       \
	CHECKER(host_idle)                                                                         \
	CHECKER(device_idle)                                                                       \
	CHECKER(blocking_calls)                                                                    \
	CHECKER(layout)                                                                            \
	CHECKER(fragmentation)                                                                     \
	CHECKER(preemption)                                                                        \
	CHECKER(retransmits)

#define ADVICE_CHECKER_DECLARE(name)                                                               \
	const gchar *check_##name(const struct advice_input *input, GArray *advices);
ADVICE_CHECKERS(ADVICE_CHECKER_DECLARE)
#undef ADVICE_CHECKER_DECLARE

/* `timeline` outlives the input; what the filter borrows, too. */
void advice_input_init(struct advice_input *input, const TachoTimeline *timeline,
		       const TachoFilter *filter);
void advice_input_release(struct advice_input *input);

/* Whether advice about that rank was asked for, and it has time in the chosen steps. */
gboolean advice_takes_rank(const struct advice_input *input, guint rank_index);
/* Its number, and back: TACHO_NONE where there is no such rank. */
gint32 advice_rank(const struct advice_input *input, guint rank_index);
guint advice_rank_index(const struct advice_input *input, gint32 rank);
/* In percent of a step. */
gdouble advice_share(const struct advice_input *input, gdouble ns);

/* A list of struct advice, which owns what they own. */
GArray *advice_list_new(void);

#endif
