#include "precision/surroundings.h"

#include "base/for_each.h"

/* By how much what is of no operation may be longer or shorter in another recording.
 * Source: a rule: it computes the same. If wrong, chance of a recording goes into a prediction, or an effect of memory is missing. */
#define MAX_REST_FACTOR 1.5
/* The share of operations that counts as all of them. Source: derived from less than one in a thousand. */
#define ALL_FOUND 0.999

/* The plan's share of operations, by the reference's time, that are chosen and compute as in the recording of each format. */
static void find_shares(const struct precision_job *job, const guint8 *formats,
			gdouble shares[N_NUMBER_FORMATS])
{
	gdouble all = 0;

	for (guint32 i = 0; i < job->identity->operations->len; i++) {
		gdouble ns = layer_cost_ns(&job->reference->costs.operations[i]);

		if (identity_at(job->identity, i)->rule != PRECISION_CHOSEN)
			continue;
		shares[formats[i]] += ns;
		all += ns;
	}
	for (guint format = 0; format < N_NUMBER_FORMATS; format++)
		shares[format] = all > 0 ? shares[format] / all : 0;
}

/* (1); NULL: it is not so. */
static const struct layer_cost *cost_behind(const struct precision_job *job, guint32 operation,
					    const guint8 *formats)
{
	const struct identity_operation *own = identity_at(job->identity, operation);

	for (guint32 i = 0; i < own->n_inputs && own->rule == PRECISION_FIXED; i++) {
		guint32 producer = identity_input_at(job->identity, own->first_input + i)->producer;
		enum number_format stored;

		if (producer == IDENTITY_OUTSIDE)
			continue;
		stored = precision_job_stores(job, producer, (enum number_format)formats[producer]);
		if (stored != precision_job_reads(job, operation,
						  (enum number_format)formats[operation]) &&
		    job->run_of[stored] &&
		    !job->run_of[stored]->costs.operations[operation].is_estimated)
			return &job->run_of[stored]->costs.operations[operation];
	}
	return NULL;
}

static void add_share(struct layer_cost *sum, const struct layer_cost *cost, gdouble share)
{
	for (guint pass = 0; pass < N_LAYER_PASSES; pass++)
		for (guint place = 0; place < N_LAYER_PLACES; place++)
			sum->ns[pass][place] += share * cost->ns[pass][place];
	sum->spread_ns += share * cost->spread_ns;
}

/* (2) */
static struct layer_cost mean_cost(const struct precision_job *job, guint32 operation,
				   const guint8 *formats, const gdouble shares[N_NUMBER_FORMATS])
{
	struct layer_cost mean = { .is_known = TRUE };
	gdouble all = 0;

	for (guint side = 0; side < 2; side++) /* their sum first */
		FOR_EACH_POINTER(const struct job_run, run, job->runs) {
			const struct layer_cost *cost = &run->costs.operations[operation];

			if (run->formats[operation] != formats[operation] || cost->is_estimated)
				continue;
			if (side == 0)
				all += shares[run->format];
			else if (all > 0)
				add_share(&mean, cost, shares[run->format] / all);
		}
	return all > 0 ? mean
		       : *precision_job_cost(job, operation,
					     (enum number_format)formats[operation]);
}

static gdouble mean_factor(const struct precision_job *job, const gdouble shares[N_NUMBER_FORMATS],
			   gboolean is_between)
{
	gdouble own = is_between ? job->reference->costs.between_ns : job->reference->costs.rest_ns;
	gdouble sum = 0, all = 0;

	FOR_EACH_POINTER(const struct job_run, run, job->runs) {
		if (run->layers.found_share < ALL_FOUND) /* what was not found is there, too */
			continue;
		sum += shares[run->format] *
		       (is_between ? run->costs.between_ns : run->costs.rest_ns);
		all += shares[run->format];
	}
	return own > 0 && all > 0 ? CLAMP(sum / all / own, 1 / MAX_REST_FACTOR, MAX_REST_FACTOR)
				  : 1;
}

void surroundings_init(struct surroundings *surroundings, const struct precision_job *job,
		       const guint8 *formats)
{
	guint32 n = job->identity->operations->len;
	gdouble shares[N_NUMBER_FORMATS] = { 0 };

	find_shares(job, formats, shares);
	surroundings->costs = g_new0(struct layer_cost, MAX(n, 1u));
	for (guint32 i = 0; i < n; i++) {
		const struct layer_cost *behind = cost_behind(job, i, formats);

		surroundings->costs[i] =
			behind ? *behind
			: identity_at(job->identity, i)->rule == PRECISION_CHOSEN
				? *precision_job_cost(job, i, (enum number_format)formats[i])
				: mean_cost(job, i, formats, shares);
	}
	surroundings->rest_factor = mean_factor(job, shares, FALSE);
	surroundings->between_factor = mean_factor(job, shares, TRUE);
}

void surroundings_release(struct surroundings *surroundings)
{
	g_clear_pointer(&surroundings->costs, g_free);
}
