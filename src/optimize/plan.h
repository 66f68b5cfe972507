/* plan: what is to be different in a job, and for which job, as one JSON file (docs/plan.md).
 *
 * (1) A plan names its job by what can be seen in it: how many ranks, and the gradients in the order in which they come.
 *     Who carries it out compares them, and leaves another job as it is.
 * (2) Gradients are called by their place in that order, from 0. A change of buckets has each of them once; a bucket
 *     holds gradients of one data type.
 * (3) plan_read() takes nothing for granted: all counts have limits, no member stands twice, and of members and changes
 *     that it does not know the plan is refused. A plan names no files and no commands. */
#ifndef TACHO_PLAN_H
#define TACHO_PLAN_H

#include <stdio.h>

#include <tacho/plan.h>

#include "base/json_writer.h"

#define PLAN_VERSION	   1
#define PLAN_MAX_BYTES	   (64u << 20) /* of the file */
#define PLAN_MAX_RANKS	   (1u << 24)
#define PLAN_MAX_GRADIENTS (1u << 20)
#define PLAN_MAX_CHANGES   64
#define PLAN_MAX_NAMES	   (1u << 20) /* of modules or operations, in one change */
#define PLAN_MAX_POWERSGD  1024	      /* rank of the matrices that PowerSGD sends */

enum plan_change_kind {
#define PLAN_CHANGE(enumerator, name, form, most, what_if, hand) PLAN_##enumerator,
#include "optimize/plan_changes.def"
#undef PLAN_CHANGE
	PLAN_N_CHANGE_KINDS
};

/* What the value of a change is in the file. */
enum plan_form {
	PLAN_FORM_COUNT,
	PLAN_FORM_BUCKETS,     /* lists of gradients */
	PLAN_FORM_PARTS,       /* bytes of a part: of all buckets, or a list, one for each */
	PLAN_FORM_COMPRESSION, /* "bf16", "fp16", "powersgd:RANK" */
	PLAN_FORM_ALGORITHM,   /* "ring", "tree" */
	PLAN_FORM_NAMES,       /* a list of texts */
	PLAN_FORM_CLUSTERS,    /* lists of texts */
	PLAN_FORM_PRECISIONS,  /* what operations compute with */
};

enum plan_hand {
	PLAN_BY_HOOK,	   /* `tacho apply` does it */
	PLAN_BY_FRAMEWORK, /* a file or the environment tells a framework (plan_targets.def) */
};

struct plan_gradient {
	guint64 bytes;
	const gchar *dtype; /* static: of element_type_name() */
};

/* An operation of a model, and what it computes with. */
struct plan_precision {
	gchar *module, *kind;	       /* owned; module "": the model itself */
	guint32 ordinal;	       /* among those of the kind in the module */
	const gchar *format;	       /* static: "bf16" */
	guint32 first_rank, last_rank; /* that it is for; 0 to PLAN_MAX_RANKS - 1: all */
};

static inline gboolean plan_precision_is_of(const struct plan_precision *precision, guint32 rank)
{
	return precision->first_rank <= rank && rank <= precision->last_rank;
}

struct plan_change {
	enum plan_change_kind kind;
	guint64 count;	    /* of a COUNT, and of PARTS that are alike */
	GArray *sizes;	    /* of PARTS: guint64, one for each bucket of the plan; NULL: alike */
	GArray *order;	    /* of buckets: guint32, gradients, one bucket after the other ... */
	GArray *n_of;	    /* ... and how many of them each bucket has; the same of clusters */
	GPtrArray *names;   /* of NAMES, and of CLUSTERS one cluster after the other */
	gchar *word;	    /* of COMPRESSION and ALGORITHM */
	GArray *precisions; /* of PRECISIONS: struct plan_precision */
};

struct _TachoPlan {
	guint32 n_ranks;
	GArray *gradients; /* struct plan_gradient, in order of arrival; empty: not known */
	GArray *changes;   /* struct plan_change, each kind once at most */
	/* What was predicted; has_interval is FALSE where the recording does not tell how far steps differ. */
	gdouble baseline_step_ms, predicted_step_ms, interval_ms[2];
	gboolean has_interval;
};

/* A plan without changes. The caller's, to end with tacho_plan_free(). */
TachoPlan *plan_new(guint32 n_ranks);
/* The same as it was; the caller's. */
TachoPlan *plan_copy(const TachoPlan *plan);
/* Add a change that has a count. */
void plan_add_count(TachoPlan *plan, enum plan_change_kind kind, guint64 count);
/* Add one that has a word, which is one that plan_parse() takes. */
void plan_add_word(TachoPlan *plan, enum plan_change_kind kind, const gchar *word);
/* Add one of names without any, or of clusters without any; the plan's, to be filled. */
struct plan_change *plan_add_names(TachoPlan *plan, enum plan_change_kind kind);
/* Have the plan's change of precisions, which is made if it has none, say what one more operation computes with, whose names are copied. FALSE:
 * there is no such format, or a name may not stand in a plan. */
gboolean plan_add_precision(TachoPlan *plan, const struct plan_precision *precision);
/* PowerSGD's rank of a compression's word; 0: it is another one. */
guint plan_powersgd_rank(const gchar *word);
/* Whether a name may stand in a plan: not empty, no control characters, not too long. */
gboolean plan_name_is_good(const gchar *name);
/* Add one of buckets: gradients one after the other, `ends[i]` being the first that is no longer of bucket i. */
void plan_add_buckets(TachoPlan *plan, const guint32 *ends, guint32 n_buckets);
const struct plan_change *plan_find(const TachoPlan *plan, enum plan_change_kind kind);
const gchar *plan_change_name(enum plan_change_kind kind);
/* The what-if (docs/what-if.md) that predicts the change; the caller's. NULL: there is none, as buckets have gradients that do not
 * follow each other, or no model of the change. */
gchar *plan_change_what_if(const struct plan_change *change);

/* Read what a file says. TACHO_PLAN_ERROR_FORMAT, with the byte: it is no plan, or says what cannot be;
 * TACHO_PLAN_ERROR_VERSION: it was written by a later version. */
TachoPlan *plan_parse(const gchar *text, gsize n, GError **error);
/* What plan_parse() checks of changes that belong together, for who fills in a plan otherwise. */
gboolean plan_check(const TachoPlan *plan, GError **error);
/* The plan as a value, for JSON that holds it. */
void plan_write_json(const TachoPlan *plan, JsonWriter *json);

#endif
