/* what_if_properties: what holds of every what-if (what_if_properties.def), asked of a recording. */
#ifndef TACHO_WHAT_IF_PROPERTIES_H
#define TACHO_WHAT_IF_PROPERTIES_H

#include "graph/graph_internal.h"

enum property_class {
	PROPERTY_IDENTITY,
	PROPERTY_INVERSE,
	PROPERTY_COMPOSITION,
	PROPERTY_LIMIT,
	PROPERTY_MONOTONY,
	PROPERTY_COMMUTATION, /* of any two samples */
	PROPERTY_N_CLASSES,
};

/* "identity" ... */
const gchar *property_class_name(enum property_class class);

enum property_result {
	PROPERTY_HOLDS,
	PROPERTY_FAILS,
	PROPERTY_NOT_ASKED, /* what-ifs that this recording refuses */
};

struct property_answer {
	enum property_class class;
	enum property_result result;
	const gchar *key;     /* of the change it is about; of two, of the first */
	const gchar *message; /* the two lists and what came out; or the refusal */
	gdouble difference;   /* of the steps, as a share; where it was played */
};

typedef void PropertyTell(const struct property_answer *answer, gpointer data);

/* A recording to ask. */
struct property_job;

/* `timeline` is correlated, and outlives the job. NULL: it has no step to replay. `beside` is a run for what-ifs that need
 * another one, or NULL; `folder` is where files of topologies are written. */
struct property_job *property_job_new(TachoTimeline *timeline, const gchar *beside,
				      const gchar *folder, GError **error);
/* The same of a frozen graph, which is the job's from now on. */
struct property_job *property_job_new_of_graph(TachoGraph *graph, const gchar *beside,
					       const gchar *folder);
void property_job_free(struct property_job *job);

/* Ask all properties, and tell each. */
void property_job_ask(struct property_job *job, PropertyTell *tell, gpointer data);

/* The keys of changes.def for which some class has neither a property nor a reason why there is none, or no sample: each with
 * the class, between ", "; empty: none. To be freed with g_free(). */
gchar *properties_missing(void);

#endif
