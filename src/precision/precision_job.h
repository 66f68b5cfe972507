/* precision_job: recordings of one job in several formats, and all that is known of its operations from them. */
#ifndef TACHO_PRECISION_JOB_H
#define TACHO_PRECISION_JOB_H

#include "precision/casts.h"
#include "precision/costs.h"
#include "precision/registry.h"

/* A recording in one format. */
struct job_run {
	gchar *name;
	enum number_format format;
	TachoTimeline *timeline; /* owned */
	TachoGraph *graph;	 /* without what recording took; frozen */
	gint64 *recorded_ns;	 /* [node], while it is opened */
	guint8 *formats;	 /* [operation]: what each computes in, in this recording */
	struct layers layers;
	struct run_costs costs;		   /* whole, and comparable with the reference's */
	gdouble measured_step_ns, step_ns; /* as recorded; as the graph is played */
	guint n_alike;			   /* recordings in its format, of which this one counts */
	gdouble peak_bytes;	/* of a rank's fullest memory; -1: no memory was recorded */
	gdouble *scratch_bytes; /* plan_scratch_of_run(); NULL: of the reference, and not known */
};

/* Casts as recordings show them, by size. */
struct seen_casts {
	struct casts *of[N_LAYER_PASSES]; /* one sample a size, a median; fitted */
};

struct precision_job {
	GPtrArray *runs; /* struct job_run */
	const struct job_run *reference;
	const struct job_run *run_of[N_NUMBER_FORMATS]; /* or NULL */
	struct identity *identity;
	guint32 *depth,
		*hops; /* [operation]: of the longest and the shortest path to it, in edges */
	guint8 *has_gradient; /* [operation]: a gradient of what it makes is wanted: something before it has weights */
	struct casts *casts;	  /* of a file; or NULL */
	KernelRegistry *registry; /* or NULL */
	/* [operation * N_NUMBER_FORMATS + format]: the registered kernel that computes it; or NULL: the framework's. */
	const struct registered_kernel **kernels;
	struct seen_casts seen;
	gboolean is_cast_once, has_no_casts;
	gdouble recordings_spread; /* half of what recordings in one format differ by, of a step: the most of a format */
	GPtrArray *notes; /* gchar */
};

typedef struct precision_job precision_job;

/* The reference is the recording in fp32, else in the widest format. `runs` are paths, each of a run that says what it was recorded in, or
 * FORMAT=PATH; of several in one format the one with the median step counts. TACHO_PRECISION_ERROR_MATCH: they do not belong together; and what reading them gives. */
struct precision_job *precision_job_new(const TachoPrecisionInputs *inputs, GError **error);

/* What a recording is made of. */
struct job_source {
	const gchar *name;
	enum number_format format;
	TachoTimeline *timeline;   /* correlated */
	struct identity *identity; /* or NULL */
};
/* The same of recordings that are open; their timelines and identities, and `casts` and `registry` (or NULL), are the job's from then on,
 * whatever is returned. */
struct precision_job *precision_job_of(const struct job_source *sources, guint n_sources,
				       struct casts *casts, KernelRegistry *registry,
				       GError **error);
void precision_job_free(struct precision_job *job);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(precision_job, precision_job_free)

/* What a tensor is read in by a framework's kernel that computes in `format`: those in 8 bits that are integers read fp32, and quantise themselves. */
enum number_format format_reads(enum number_format format);
/* What the operation reads its tensors in: the same, or what its registered kernel says. */
enum number_format precision_job_reads(const struct precision_job *job, guint32 operation,
				       enum number_format format);
/* It casts what it reads as it goes, so that no cast stands before it. */
gboolean precision_job_fuses(const struct precision_job *job, guint32 operation,
			     enum number_format format);
/* What the operation leaves its results in; what it gives out the gradient of what it reads in, and that of its weight. */
enum number_format precision_job_stores(const struct precision_job *job, guint32 operation,
					enum number_format format);
enum number_format precision_job_input_gradient(const struct precision_job *job, guint32 operation,
						enum number_format format);
enum number_format precision_job_weight_gradient(const struct precision_job *job, guint32 operation,
						 enum number_format format);
/* What an operation that keeps what it reads keeps that in; N_NUMBER_FORMATS: its registered kernel does not keep it. */
enum number_format precision_job_keeps(const struct precision_job *job, guint32 operation,
				       enum number_format format);
/* A copy of its weight in the format that it computes in is kept, unless its registered kernel says otherwise. */
gboolean precision_job_keeps_weight(const struct precision_job *job, guint32 operation,
				    enum number_format format);

/* What a cast takes in a pass, in ns. `ret_is_estimated` may be NULL. */
gdouble precision_job_cast_ns(const struct precision_job *job, enum layer_pass pass,
			      enum number_format from, enum number_format to, gdouble elements,
			      gboolean *ret_is_estimated);

/* What an operation takes in a format; never NULL. */
const struct layer_cost *precision_job_cost(const struct precision_job *job, guint32 operation,
					    enum number_format format);
/* An operation can compute in it, and there is a recording that shows what it takes. */
gboolean precision_job_allows(const struct precision_job *job, guint32 operation,
			      enum number_format format);

/* Set the formats of operations that do not choose: fixed ones to theirs, promoted ones by what they read. [operation] */
void precision_job_follow(const struct precision_job *job, guint8 *formats);

/* The search's problem. The job must outlive it. */
TachoPrecisionProblem *precision_job_problem(struct precision_job *job, GError **error);

/* The share of the reference's operations' time that was measured in all formats that there are. */
gdouble precision_job_coverage(const struct precision_job *job);

#endif
