#include "precision/precision_job.h"

#include <string.h>

#include <tacho/correlate.h>
#include <tacho/import.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/quantile.h"
#include "edit/graph_memory.h"
#include "precision/even_cost.h"
#include "precision/plan_memory.h"
#include "precision/plan_scratch.h"
#include "predict/prediction.h"

/* How far the recordings' own casts may be from those of a file, which are made alone.
 * Source: a rule: a tensor that is in the caches or not makes a factor of two or three. If wrong, casts are as slow as alone. */
#define MAX_CAST_RATIO 4.0
/* The share of operations that must be found in a recording.
 * Source: a rule: of another model nearly none are. If wrong, a job is refused, or costs are those of another one. */
#define LEAST_FOUND 0.5
/* Recordings in one format whose middle one has the machine's usual pace, at least.
 * Source: a rule: of three one may be odd. If wrong, a machine that was slow for that long is taken for a slow format. */
#define LEAST_ALIKE 3u
/* The same that is worth a note. Source: a rule: less does not show in a step. If wrong, a note is missing, or one too many. */
#define NOTED_FOUND 0.999

/* --- runs --------------------------------------------------------------------------------------- */

static void job_run_free(gpointer data)
{
	struct job_run *run = data;

	layers_release(&run->layers);
	run_costs_release(&run->costs);
	tacho_graph_free(run->graph);
	tacho_timeline_free(run->timeline);
	g_free(run->recorded_ns);
	g_free(run->formats);
	g_free(run->scratch_bytes);
	g_free(run->name);
	g_free(run);
}

/* FORMAT=PATH, or a path. */
static const gchar *split_format(const gchar *text, enum number_format *ret_format)
{
	const gchar *equals = strchr(text, '=');

	*ret_format = equals ? number_format_find(text, (gsize)(equals - text)) : N_NUMBER_FORMATS;
	return *ret_format < N_NUMBER_FORMATS ? equals + 1 : text;
}

/* What the run says of its operations; NULL without an error: nothing. */
static struct identity *read_identity(const gchar *path, GError **error)
{
	static const gchar *const names[] = { "precision.json", "precision.0.json" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *file = g_build_filename(path, names[i], NULL);

		if (g_file_test(file, G_FILE_TEST_EXISTS))
			return identity_read(file, error);
	}
	return NULL;
}

/* By which one of several recordings is chosen. */
static gboolean find_unrecorded_step(struct job_run *run, GError **error)
{
	g_autoptr(TachoReplay) played = tacho_replay_run(run->graph, error);

	if (played)
		run->step_ns = replay_median_step_ns(played);
	return played != NULL;
}

static gboolean play_run(struct job_run *run, GError **error)
{
	g_autoptr(TachoReplay) recorded = NULL;
	gdouble share;

	run->graph = replay_build_graph(run->timeline, -1, -1, error);
	if (!run->graph)
		return FALSE;
	graph_find_memory(run->graph);
	recorded = tacho_replay_run(run->graph, error);
	if (!recorded)
		return FALSE;
	replay_measure_lags(run->graph, recorded);
	run->measured_step_ns = replay_median_step_ns(recorded);
	run->recorded_ns = even_cost_durations(run->graph);
	return replay_take_out_recording(run->graph, recorded, &share, error) &&
	       (run->n_alike == 1 || find_unrecorded_step(run, error));
}

/* With what recording took out of operations evenly. */
static gboolean play_evenly(struct job_run *run, GError **error)
{
	g_autoptr(TachoReplay) played = NULL;

	if (!even_cost_spread(run->graph, &run->layers, run->recorded_ns, error))
		return FALSE;
	g_clear_pointer(&run->recorded_ns, g_free);
	played = tacho_replay_run(run->graph, error);
	if (!played)
		return FALSE;
	run->step_ns = replay_median_step_ns(played);
	run->peak_bytes = plan_memory_peak(played);
	return TRUE;
}

static gboolean open_source(const gchar *text, struct job_source *source, GError **error)
{
	const gchar *path = split_format(text, &source->format);
	GError *cause = NULL;

	source->name = path;
	source->identity = read_identity(path, &cause);
	if (!cause)
		source->timeline = tacho_run_open(&path, 1, NULL, NULL, &cause);
	if (cause) {
		g_propagate_error(error, cause); /* it names the file */
		return FALSE;
	}
	tacho_correlate(source->timeline);
	if (source->format == N_NUMBER_FORMATS && source->identity)
		source->format = source->identity->format;
	return TRUE;
}

static gboolean refuse_match(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse_match(GError **error, const gchar *format, ...)
{
	va_list arguments;
	g_autofree gchar *text = NULL;

	va_start(arguments, format);
	text = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error_literal(error, TACHO_PRECISION_ERROR, TACHO_PRECISION_ERROR_MATCH, text);
	return FALSE;
}

static gint compare_step_times(gconstpointer a, gconstpointer b)
{
	const struct job_run *x = *(struct job_run *const *)a, *y = *(struct job_run *const *)b;

	return ORDER(x->step_ns, y->step_ns);
}

/* Of several recordings in one format the one whose step, without what recording took, is the median: neither is a machine equally fast at all times,
 * nor does recording always take the same. */
static const struct job_run *choose_run(struct precision_job *job, enum number_format format)
{
	g_autoptr(GPtrArray) same = g_ptr_array_new();
	const struct job_run *least, *most, *chosen;

	FOR_EACH_POINTER(struct job_run, run, job->runs)
		if (run->format == format)
			g_ptr_array_add(same, run);
	if (same->len < 2)
		return same->len ? same->pdata[0] : NULL;
	g_ptr_array_sort(same, compare_step_times);
	least = same->pdata[0];
	most = same->pdata[same->len - 1];
	chosen = same->pdata[(same->len - 1) / 2];
	if (chosen->step_ns > 0)
		job->recordings_spread =
			MAX(job->recordings_spread,
			    (most->step_ns - least->step_ns) / 2 / chosen->step_ns);
	g_ptr_array_add(job->notes,
			g_strdup_printf("%u recordings in %s have steps of %.3f to %.3f ms without "
					"what recording took; what counts is the middle one, %s",
					same->len, number_format_name(format), least->step_ns / 1e6,
					most->step_ns / 1e6, chosen->name));
	return chosen;
}

/* One run a format stays, and its identity with it. */
static void choose_runs(struct precision_job *job, GPtrArray *identities)
{
	for (guint format = 0; format < N_NUMBER_FORMATS; format++)
		job->run_of[format] = choose_run(job, (enum number_format)format);
	for (guint i = job->runs->len; i-- > 0;) {
		const struct job_run *run = job->runs->pdata[i];

		if (job->run_of[run->format] == run)
			continue;
		g_ptr_array_remove_index(job->runs, i);
		g_ptr_array_remove_index(identities, i);
	}
}

/* fp32, else the widest. The identity is the reference's where that tells one. */
static void choose_reference(struct precision_job *job, GPtrArray *identities)
{
	guint best = 0;

	for (guint i = 1; i < job->runs->len; i++) {
		const struct job_run *run = job->runs->pdata[i], *other = job->runs->pdata[best];

		if (other->format != FORMAT_FP32 &&
		    (run->format == FORMAT_FP32 ||
		     number_format_promote(run->format, other->format) != other->format))
			best = i;
	}
	job->reference = job->runs->pdata[best];
	job->identity = identities->pdata[best];
	identities->pdata[best] = NULL;
	for (guint i = 0; i < identities->len && !job->identity; i++) {
		job->identity = identities->pdata[i];
		identities->pdata[i] = NULL;
	}
	if (job->identity && job->identity->operations->len > 0)
		return;
	g_clear_pointer(&job->identity, identity_free);
	job->identity = layers_identity(job->reference->graph, job->registry);
	g_ptr_array_add(job->notes,
			g_strdup("no recording tells its operations (precision.json); they are "
				 "those that the reference shows, aligned with the others' by "
				 "their order"));
}

/* The middle one of several is not the odd one: its pace is the machine's usual one, as the reference's is. What computes the same and takes longer in
 * it then does so for what is around it. */
static gboolean has_usual_pace(const struct precision_job *job, const struct job_run *run)
{
	return MIN(run->n_alike, job->reference->n_alike) >= LEAST_ALIKE;
}

static void note_found(struct precision_job *job, const struct job_run *run)
{
	if (run->layers.found_share < NOTED_FOUND)
		g_ptr_array_add(job->notes,
				g_strdup_printf("%s: %.1f %% of the operations were found in each "
						"step; the first that was not is %s",
						run->name, 100 * run->layers.found_share,
						run->layers.first_missing));
	if (run != job->reference && !run->costs.is_speed_known && !has_usual_pace(job, run))
		g_ptr_array_add(
			job->notes,
			g_strdup_printf("%s: too few operations are the same in it and in "
					"%s to tell how fast the machine was; its times count "
					"as they are",
					run->name, job->reference->name));
}

/* The stated cost of recording is that of a warm loop; jobs of many small operations pay more. */
static void note_estimated_costs(struct precision_job *job)
{
	TachoRecordingExcess excess;
	guint n_without = 0;

	FOR_EACH_POINTER(const struct job_run, run, job->runs)
		n_without += !tacho_recording_excess(run->timeline, &excess);
	if (n_without > 0)
		g_ptr_array_add(
			job->notes,
			g_strdup_printf(
				"what recording took is estimated in %u of %u recordings, "
				"too little where operations are small and many (int8); record "
				"with --control 4 to have it measured",
				n_without, job->runs->len));
}

static gboolean align_runs(struct precision_job *job, GError **error)
{
	if (job->identity->operations->len == 0)
		return refuse_match(error, "%s: no operations of a forward pass were recorded",
				    job->reference->name);
	FOR_EACH_POINTER(struct job_run, run, job->runs) {
		layers_init(&run->layers, run->graph, job->identity, job->registry);
		if (!play_evenly(run, error))
			return FALSE;
		run_costs_init(&run->costs, &run->layers);
		if (run->layers.found_share < LEAST_FOUND)
			return refuse_match(
				error,
				"%s: only %.0f %% of the job's operations are in it: %s "
				"is missing; recordings must be of one job",
				run->name, 100 * run->layers.found_share,
				run->layers.first_missing);
	}
	FOR_EACH_POINTER(struct job_run, run, job->runs) {
		if (run != job->reference) {
			if (!has_usual_pace(job, run))
				run_costs_adjust(&run->costs, &job->reference->costs,
						 job->identity);
			run_costs_estimate(&run->costs, &job->reference->costs, job->identity);
		}
		note_found(job, run);
	}
	note_estimated_costs(job);
	return TRUE;
}

/* --- casts -------------------------------------------------------------------------------------- */

static gint compare_seen(gconstpointer a, gconstpointer b)
{
	const struct layer_cast *x = a, *y = b;

	return ORDER(x->from, y->from) ?: ORDER(x->to, y->to) ?: ORDER(x->elements, y->elements);
}

/* The median of each size of each pair. */
static void sum_up_casts(struct casts *casts, GArray *seen)
{
	g_array_sort(seen, compare_seen);
	for (guint i = 0, end; i < seen->len; i = end) {
		const struct layer_cast *first = &g_array_index(seen, struct layer_cast, i);
		g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gint64));

		for (end = i; end < seen->len; end++) {
			const struct layer_cast *cast =
				&g_array_index(seen, struct layer_cast, end);

			if (compare_seen(first, cast) != 0)
				break;
			g_array_append_val(values, cast->duration_ns);
		}
		casts_add(casts, first->from, first->to, first->elements, quantile(values, 0.5));
	}
	casts_fit(casts);
}

static void see_casts(struct precision_job *job)
{
	for (guint pass = 0; pass < N_LAYER_PASSES; pass++) {
		g_autoptr(GArray) seen = g_array_new(FALSE, FALSE, sizeof(struct layer_cast));

		FOR_EACH_POINTER(const struct job_run, run, job->runs)
			FOR_EACH(const struct layer_cast, recorded, run->layers.casts) {
				struct layer_cast cast = *recorded;

				cast.duration_ns =
					(gint64)((gdouble)cast.duration_ns / run->costs.speed);
				if (cast.pass == pass)
					g_array_append_val(seen, cast);
			}
		job->seen.of[pass] = casts_new();
		sum_up_casts(job->seen.of[pass], seen);
	}
}

/* A cast of just that size, as recorded; 0: there was none. */
static gdouble seen_ns(const struct casts *seen, guint from, guint to, gdouble elements)
{
	const struct cast_pair *pair = &seen->pairs[from][to];

	for (guint i = 0; pair->samples && i < pair->samples->len; i++)
		if (g_array_index(pair->samples, struct cast_sample, i).elements == elements)
			return g_array_index(pair->samples, struct cast_sample, i).ns;
	return 0;
}

/* By how much casts of a pair take longer in the job than alone. */
static gdouble in_job_ratio(const struct casts *alone, const struct casts *seen, guint from,
			    guint to)
{
	const struct cast_pair *pair = &seen->pairs[from][to];
	g_autoptr(GArray) ratios = g_array_new(FALSE, FALSE, sizeof(gdouble));

	for (guint i = 0; pair->samples && i < pair->samples->len; i++) {
		const struct cast_sample *sample =
			&g_array_index(pair->samples, struct cast_sample, i);
		gdouble ratio = sample->ns / casts_ns(alone, from, to, sample->elements, NULL);

		g_array_append_val(ratios, ratio);
	}
	if (ratios->len == 0)
		return 1;
	g_array_sort(ratios, order_double);
	return CLAMP(g_array_index(ratios, gdouble, ratios->len / 2), 1 / MAX_CAST_RATIO,
		     MAX_CAST_RATIO);
}

gdouble precision_job_cast_ns(const struct precision_job *job, enum layer_pass pass,
			      enum number_format from, enum number_format to, gdouble elements,
			      gboolean *ret_is_estimated)
{
	gboolean has_devices = graph_has_devices(job->reference->graph);
	const struct casts *seen = job->seen.of[pass];
	gdouble ns = 0;

	if (ret_is_estimated)
		*ret_is_estimated = FALSE;
	if (from == to || job->has_no_casts)
		return 0;
	if (!has_devices) /* what the host does for a device's is not the cast */
		ns = seen_ns(seen, from, to, elements);
	if (ns > 0)
		return ns;
	if (job->casts)
		ns = casts_ns(job->casts, from, to, elements, ret_is_estimated) *
		     (has_devices ? 1 : in_job_ratio(job->casts, seen, from, to));
	if (ns <= 0) {
		ns = casts_ns(seen, from, to, elements, NULL);
		if (ns <= 0)
			ns = casts_ns(job->seen.of[1 - pass], from, to, elements, NULL);
		if (ret_is_estimated)
			*ret_is_estimated = TRUE;
	}
	return MAX(ns, 0);
}

/* --- asked -------------------------------------------------------------------------------------- */

static const struct registered_kernel *kernel_of(const struct precision_job *job, guint32 operation,
						 enum number_format format)
{
	return job->kernels ? job->kernels[(gsize)operation * N_NUMBER_FORMATS + format] : NULL;
}

enum number_format format_reads(enum number_format format)
{
	return format == FORMAT_INT8 ? FORMAT_FP32 : number_format_input(format);
}

enum number_format precision_job_reads(const struct precision_job *job, guint32 operation,
				       enum number_format format)
{
	const struct registered_kernel *kernel = kernel_of(job, operation, format);

	return format_reads(kernel ? kernel_operand_format(kernel, KERNEL_X) : format);
}

gboolean precision_job_fuses(const struct precision_job *job, guint32 operation,
			     enum number_format format)
{
	const struct registered_kernel *kernel = kernel_of(job, operation, format);

	return kernel && kernel->fuses_quantize;
}

enum number_format precision_job_stores(const struct precision_job *job, guint32 operation,
					enum number_format format)
{
	const struct registered_kernel *kernel = kernel_of(job, operation, format);

	return kernel ? kernel_operand_format(kernel, KERNEL_Y) : number_format_result(format);
}

enum number_format precision_job_input_gradient(const struct precision_job *job, guint32 operation,
						enum number_format format)
{
	const struct registered_kernel *kernel = kernel_of(job, operation, format);

	return kernel ? kernel_operand_format(kernel, KERNEL_DX)
		      : precision_job_reads(job, operation, format);
}

enum number_format precision_job_weight_gradient(const struct precision_job *job, guint32 operation,
						 enum number_format format)
{
	const struct registered_kernel *kernel = kernel_of(job, operation, format);

	return kernel ? kernel_operand_format(kernel, KERNEL_DW)
		      : number_format_result(job->reference->format);
}

gboolean precision_job_keeps_weight(const struct precision_job *job, guint32 operation,
				    enum number_format format)
{
	const struct registered_kernel *kernel = kernel_of(job, operation, format);

	return !kernel || !kernel->has_saves || kernel->saved[KERNEL_W] != N_NUMBER_FORMATS;
}

enum number_format precision_job_keeps(const struct precision_job *job, guint32 operation,
				       enum number_format format)
{
	const struct registered_kernel *kernel = kernel_of(job, operation, format);

	return kernel && kernel->has_saves ? kernel->saved[KERNEL_X]
					   : precision_job_reads(job, operation, format);
}

const struct layer_cost *precision_job_cost(const struct precision_job *job, guint32 operation,
					    enum number_format format)
{
	const struct job_run *run = job->run_of[format];

	if (!run || identity_at(job->identity, operation)->rule == PRECISION_FIXED)
		run = job->reference;
	return &run->costs.operations[operation];
}

gboolean precision_job_allows(const struct precision_job *job, guint32 operation,
			      enum number_format format)
{
	const struct identity_operation *own = identity_at(job->identity, operation);
	enum number_format reference = job->reference->format;

	if (own->rule == PRECISION_FIXED)
		return own->allowed ? (own->allowed >> format & 1) != 0 : format == reference;
	if (own->rule == PRECISION_PROMOTED)
		return number_format_input(format) == format && format != FORMAT_INT8;
	if (own->allowed && !(own->allowed >> format & 1) && !kernel_of(job, operation, format))
		return FALSE;
	return job->run_of[format] != NULL;
}

static enum number_format fixed_format(const struct precision_job *job, guint32 operation)
{
	for (guint format = 0; format < N_NUMBER_FORMATS; format++)
		if (precision_job_allows(job, operation, format))
			return (enum number_format)format;
	return job->reference->format;
}

static enum number_format promoted_format(const struct precision_job *job, guint32 operation,
					  const guint8 *formats)
{
	const struct identity_operation *own = identity_at(job->identity, operation);
	guint format = N_NUMBER_FORMATS;

	for (guint32 i = 0; i < own->n_inputs; i++) {
		guint32 producer = identity_input_at(job->identity, own->first_input + i)->producer;
		guint stored;

		if (producer == IDENTITY_OUTSIDE)
			continue;
		stored = precision_job_stores(job, producer, formats[producer]);
		format =
			format == N_NUMBER_FORMATS ? stored : number_format_promote(format, stored);
	}
	return format == N_NUMBER_FORMATS ? job->reference->format : format;
}

void precision_job_follow(const struct precision_job *job, guint8 *formats)
{
	for (guint32 i = 0; i < job->identity->operations->len; i++) {
		enum precision_rule rule = identity_at(job->identity, i)->rule;

		if (rule == PRECISION_FIXED)
			formats[i] = fixed_format(job, i);
		else if (rule == PRECISION_PROMOTED)
			formats[i] = promoted_format(job, i, formats);
	}
}

gdouble precision_job_coverage(const struct precision_job *job)
{
	gdouble measured_ns = 0, all_ns = 0;

	for (guint32 i = 0; i < job->identity->operations->len; i++) {
		gdouble ns = layer_cost_ns(&job->reference->costs.operations[i]);
		gboolean is_measured = TRUE;

		FOR_EACH_POINTER(const struct job_run, run, job->runs)
			if (precision_job_allows(job, i, run->format))
				is_measured &= !run->costs.operations[i].is_estimated;
		all_ns += ns;
		measured_ns += is_measured ? ns : 0;
	}
	return all_ns > 0 ? measured_ns / all_ns : 0;
}

/* --- all ---------------------------------------------------------------------------------------- */

static void find_formats(const struct precision_job *job, struct job_run *run)
{
	guint32 n = job->identity->operations->len;

	run->formats = g_malloc(MAX(n, 1u));
	for (guint32 i = 0; i < n; i++)
		run->formats[i] = (guint8)(precision_job_allows(job, i, run->format)
						   ? run->format
						   : job->reference->format);
	precision_job_follow(job, run->formats);
}

/* Which registered kernels compute what; of one format the first in the file. */
static void find_kernels(struct precision_job *job)
{
	guint32 n = job->identity->operations->len;

	if (!job->registry)
		return;
	job->kernels =
		g_new0(const struct registered_kernel *, MAX((gsize)n * N_NUMBER_FORMATS, 1u));
	for (guint k = 0; k < kernel_registry_n(job->registry); k++) {
		const struct registered_kernel *kernel = kernel_registry_at(job->registry, k);
		guint32 n_computed = 0;

		for (guint32 i = 0; i < n; i++) {
			const struct identity_operation *own = identity_at(job->identity, i);
			gsize at = (gsize)i * N_NUMBER_FORMATS + kernel->precision;

			if (own->rule != PRECISION_CHOSEN || job->kernels[at] ||
			    !registered_kernel_computes(kernel, own->kind))
				continue;
			job->kernels[at] = kernel;
			n_computed++;
		}
		g_ptr_array_add(job->notes,
				g_strdup_printf("the registered kernel '%s' computes %u operations "
						"in %s",
						kernel->name, n_computed,
						number_format_name(kernel->precision)));
	}
}

static void find_depths(struct precision_job *job)
{
	guint32 n = job->identity->operations->len;

	job->depth = g_new0(guint32, n);
	job->hops = g_new0(guint32, n);
	job->has_gradient = g_new0(guint8, n);
	for (guint32 i = 0; i < n; i++) {
		const struct identity_operation *own = identity_at(job->identity, i);
		guint32 fewest = G_MAXUINT32;

		job->has_gradient[i] = own->weight > 0;
		for (guint32 k = 0; k < own->n_inputs; k++) {
			guint32 from =
				identity_input_at(job->identity, own->first_input + k)->producer;

			if (from == IDENTITY_OUTSIDE)
				continue;
			job->depth[i] = MAX(job->depth[i], job->depth[from] + 1);
			fewest = MIN(fewest, job->hops[from] + 1);
			job->has_gradient[i] |= job->has_gradient[from];
		}
		job->hops[i] = fewest == G_MAXUINT32 ? 0 : fewest;
	}
}

static void count_alike(const struct precision_job *job)
{
	guint n_of[N_NUMBER_FORMATS] = { 0 };

	FOR_EACH_POINTER(const struct job_run, run, job->runs)
		n_of[run->format]++;
	FOR_EACH_POINTER(struct job_run, run, job->runs)
		run->n_alike = n_of[run->format];
}

/* The sources are the job's. */
static gboolean take_sources(struct precision_job *job, const struct job_source *sources,
			     guint n_sources, GError **error)
{
	g_autoptr(GPtrArray) identities =
		g_ptr_array_new_with_free_func((GDestroyNotify)identity_free);

	for (guint i = 0; i < n_sources; i++) {
		struct job_run *run = g_new0(struct job_run, 1);

		run->name = g_strdup(sources[i].name);
		run->format = sources[i].format;
		run->timeline = sources[i].timeline;
		g_ptr_array_add(job->runs, run);
		g_ptr_array_add(identities, sources[i].identity);
	}
	if (n_sources == 0)
		return refuse_match(error, "there are no recordings");
	FOR_EACH_POINTER(struct job_run, run, job->runs)
		if (run->format == N_NUMBER_FORMATS)
			return refuse_match(error,
					    "%s: it does not say what it was recorded in; write "
					    "FORMAT=%s, with FORMAT fp32, bf16 ...",
					    run->name, run->name);
	count_alike(job);
	FOR_EACH_POINTER(struct job_run, run, job->runs)
		if (!play_run(run, error)) {
			g_prefix_error(error, "%s: ", run->name);
			return FALSE;
		}
	choose_runs(job, identities);
	choose_reference(job, identities);
	return TRUE;
}

/* Of the recordings that stand for a format. */
static void find_scratch(struct precision_job *job)
{
	FOR_EACH_POINTER(struct job_run, run, job->runs)
		if (run != job->reference && run == job->run_of[run->format])
			run->scratch_bytes = plan_scratch_of_run(job, run);
}

struct precision_job *precision_job_of(const struct job_source *sources, guint n_sources,
				       struct casts *casts, KernelRegistry *registry,
				       GError **error)
{
	g_autoptr(precision_job) job = g_new0(precision_job, 1);

	job->runs = g_ptr_array_new_with_free_func(job_run_free);
	job->notes = g_ptr_array_new_with_free_func(g_free);
	job->casts = casts;
	job->registry = registry;
	if (!casts)
		g_ptr_array_add(
			job->notes,
			g_strdup("no file of casts is named (tacho calibrate casts): those of "
				 "sizes that no recording has are estimated from those it has"));
	if (!take_sources(job, sources, n_sources, error) || !align_runs(job, error))
		return NULL;
	see_casts(job);
	find_depths(job);
	find_kernels(job);
	FOR_EACH_POINTER(struct job_run, run, job->runs)
		find_formats(job, run);
	find_scratch(job);
	return g_steal_pointer(&job);
}

static void sources_release(struct job_source *sources, guint n_sources)
{
	for (guint i = 0; i < n_sources; i++) {
		tacho_timeline_free(sources[i].timeline);
		identity_free(sources[i].identity);
	}
}

struct precision_job *precision_job_new(const TachoPrecisionInputs *inputs, GError **error)
{
	guint n_runs = g_strv_length((gchar **)inputs->runs);
	g_autofree struct job_source *sources = g_new0(struct job_source, MAX(n_runs, 1u));
	g_autoptr(casts) model = inputs->casts ? casts_read(inputs->casts, error) : NULL;
	g_autoptr(KernelRegistry) registry = NULL;

	if (inputs->casts && !model)
		return NULL;
	registry = inputs->registry ? kernel_registry_read(inputs->registry, error) : NULL;
	if (inputs->registry && !registry)
		return NULL;
	for (guint i = 0; i < n_runs; i++)
		if (!open_source(inputs->runs[i], &sources[i], error)) {
			sources_release(sources, i + 1);
			return NULL;
		}
	return precision_job_of(sources, n_runs, g_steal_pointer(&model),
				g_steal_pointer(&registry), error);
}

void precision_job_free(struct precision_job *job)
{
	if (!job)
		return;
	for (guint pass = 0; pass < N_LAYER_PASSES; pass++)
		casts_free(job->seen.of[pass]);
	casts_free(job->casts);
	kernel_registry_free(job->registry);
	g_free(job->kernels);
	identity_free(job->identity);
	g_ptr_array_unref(job->runs);
	g_ptr_array_unref(job->notes);
	g_free(job->has_gradient);
	g_free(job->depth);
	g_free(job->hops);
	g_free(job);
}
