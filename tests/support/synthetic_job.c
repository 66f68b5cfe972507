#include "synthetic_job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "optimize/random_stream.h"

#define MS 1e6

/* --- models: sizes of parameters, forward -------------------------------------------------------- */

static void add(GArray *elements, guint64 n)
{
	g_array_append_val(elements, n);
}

static void add_conv(GArray *elements, guint64 in, guint64 out, guint64 kernel)
{
	add(elements, in * out * kernel * kernel);
	add(elements, out); /* of the batch norm behind it */
	add(elements, out);
}

static void add_resnet50(GArray *elements)
{
	static const guint blocks[] = { 3, 4, 6, 3 };
	guint64 in = 64;

	add_conv(elements, 3, 64, 7);
	for (guint stage = 0; stage < G_N_ELEMENTS(blocks); stage++)
		for (guint block = 0; block < blocks[stage]; block++) {
			guint64 width = 64u << stage;

			add_conv(elements, in, width, 1);
			add_conv(elements, width, width, 3);
			add_conv(elements, width, 4 * width, 1);
			if (block == 0)
				add_conv(elements, in, 4 * width, 1);
			in = 4 * width;
		}
	add(elements, 2048 * 1000);
	add(elements, 1000);
}

static void add_vgg16(GArray *elements)
{
	static const guint64 widths[] = { 64,  64,  128, 128, 256, 256, 256,
					  512, 512, 512, 512, 512, 512 };
	static const guint64 dense[] = { 25088, 4096, 4096, 1000 };
	guint64 in = 3;

	for (guint i = 0; i < G_N_ELEMENTS(widths); in = widths[i++]) {
		add(elements, in * widths[i] * 9);
		add(elements, widths[i]);
	}
	for (guint i = 0; i + 1 < G_N_ELEMENTS(dense); i++) {
		add(elements, dense[i] * dense[i + 1]);
		add(elements, dense[i + 1]);
	}
}

static void add_bert(GArray *elements)
{
	static const guint64 embeddings[] = { 30522 * 768, 512 * 768, 2 * 768, 768, 768 };

	for (guint i = 0; i < G_N_ELEMENTS(embeddings); i++)
		add(elements, embeddings[i]);
	for (guint layer = 0; layer < 12; layer++) {
		static const guint64 sizes[] = { 768 * 768,  768, 768 * 768, 768, 768 * 768,  768,
						 768 * 768,  768, 768,	     768, 768 * 3072, 3072,
						 768 * 3072, 768, 768,	     768 };

		for (guint i = 0; i < G_N_ELEMENTS(sizes); i++)
			add(elements, sizes[i]);
	}
	add(elements, 768 * 768);
	add(elements, 768);
}

static const struct {
	const gchar *name;
	void (*add)(GArray *elements);
	gdouble forward_ns, backward_ns;
} models[SYNTHETIC_MODELS] = {
	{ "ResNet50", add_resnet50, 35 * MS, 70 * MS },
	{ "VGG16", add_vgg16, 45 * MS, 90 * MS },
	{ "BERT", add_bert, 100 * MS, 200 * MS },
};

void synthetic_job_init(struct synthetic_job *job, guint model)
{
	g_autoptr(GArray) elements = g_array_new(FALSE, FALSE, sizeof(guint64));
	gdouble sum = 0;

	models[model].add(elements);
	*job = (struct synthetic_job){ .model = models[model].name,
				       .n = elements->len,
				       .bytes = g_new(guint64, elements->len),
				       .backward_ns = g_new(gdouble, elements->len),
				       .forward_ns = models[model].forward_ns,
				       .update_ns = 5 * MS,
				       .n_ranks = 2,
				       .ranks_per_host = 1,
				       .n_steps = 3,
				       .fixed_ns = 0.5 * MS,
				       .ns_per_byte = 1,
				       .seed = 1 };
	for (guint32 i = 0; i < job->n; i++) {
		job->bytes[i] = 4 * g_array_index(elements, guint64, job->n - 1 - i);
		sum += sqrt((gdouble)job->bytes[i]);
	}
	for (guint32 i = 0; i < job->n; i++)
		job->backward_ns[i] =
			models[model].backward_ns * sqrt((gdouble)job->bytes[i]) / sum;
}

void synthetic_job_release(struct synthetic_job *job)
{
	g_free(job->bytes);
	g_free(job->backward_ns);
}

/* --- buckets --------------------------------------------------------------------------------------- */

guint32 synthetic_job_caps(const struct synthetic_job *job, guint64 first_bytes, guint64 cap_bytes,
			   guint32 *ends)
{
	guint64 bytes = 0;
	guint32 n = 0;

	for (guint32 i = 0; i < job->n; i++) {
		bytes += job->bytes[i];
		if (bytes < (n == 0 ? first_bytes : cap_bytes) && i + 1 < job->n)
			continue;
		ends[n++] = i + 1;
		bytes = 0;
	}
	return n;
}

guint32 synthetic_job_even(const struct synthetic_job *job, guint32 n_buckets, guint32 *ends)
{
	for (guint32 i = 0; i < n_buckets; i++)
		ends[i] = (guint32)((guint64)job->n * (i + 1) / n_buckets);
	return n_buckets;
}

/* --- a step ---------------------------------------------------------------------------------------- */

/* All its moments, ns since its begin. */
struct step {
	gdouble *ready_ns; /* [rank * n + gradient] */
	gdouble *over_ns;  /* [bucket] */
	gdouble *end_ns;   /* [rank] */
};

static void step_init(struct step *step, const struct synthetic_job *job, guint32 n_buckets)
{
	step->ready_ns = g_new(gdouble, (gsize)job->n_ranks * job->n);
	step->over_ns = g_new(gdouble, n_buckets);
	step->end_ns = g_new(gdouble, job->n_ranks);
}

static void step_release(struct step *step)
{
	g_free(step->ready_ns);
	g_free(step->over_ns);
	g_free(step->end_ns);
}

static gdouble drawn(const struct synthetic_job *job, struct random_stream *random, gdouble ns)
{
	return ns * (1 + job->jitter * (2 * random_stream_share(random) - 1));
}

/* Draws are of the step and the rank, whatever the buckets are. */
static void play(const struct synthetic_job *job, const guint32 *ends, guint32 n_buckets,
		 guint32 number, struct step *step)
{
	gdouble over_ns = 0;

	for (guint32 rank = 0; rank < job->n_ranks; rank++) {
		struct random_stream random =
			random_stream_of(job->seed, (guint64)number * job->n_ranks + rank);
		gdouble now_ns = drawn(job, &random, job->forward_ns);

		for (guint32 i = 0; i < job->n; i++) {
			now_ns += drawn(job, &random, job->backward_ns[i]);
			step->ready_ns[(gsize)rank * job->n + i] = now_ns;
		}
		step->end_ns[rank] = drawn(job, &random, job->update_ns);
	}
	for (guint32 bucket = 0; bucket < n_buckets; bucket++) {
		guint32 first = bucket ? ends[bucket - 1] : 0;
		guint64 bytes = 0;

		for (guint32 i = first; i < ends[bucket]; i++)
			bytes += job->bytes[i];
		for (guint32 rank = 0; rank < job->n_ranks; rank++)
			over_ns = MAX(over_ns,
				      step->ready_ns[(gsize)rank * job->n + ends[bucket] - 1]);
		over_ns += job->fixed_ns + job->ns_per_byte * (gdouble)bytes;
		step->over_ns[bucket] = over_ns;
	}
	for (guint32 rank = 0; rank < job->n_ranks; rank++)
		step->end_ns[rank] += over_ns;
}

static gdouble longest(const struct synthetic_job *job, const struct step *step)
{
	gdouble end_ns = 0;

	for (guint32 rank = 0; rank < job->n_ranks; rank++)
		end_ns = MAX(end_ns, step->end_ns[rank]);
	return end_ns;
}

static int compare_doubles(const void *a, const void *b)
{
	gdouble x = *(const gdouble *)a, y = *(const gdouble *)b;

	return x < y ? -1 : x > y;
}

gdouble synthetic_job_step_ns(const struct synthetic_job *job, const guint32 *ends,
			      guint32 n_buckets)
{
	g_autofree gdouble *times = g_new(gdouble, job->n_steps);
	struct step step;

	step_init(&step, job, n_buckets);
	for (guint32 i = 0; i < job->n_steps; i++) {
		gdouble sum_ns = 0;

		play(job, ends, n_buckets, i, &step);
		for (guint32 rank = 0; rank < job->n_ranks; rank++)
			sum_ns += step.end_ns[rank];
		times[i] = sum_ns / job->n_ranks;
	}
	step_release(&step);
	qsort(times, job->n_steps, sizeof(*times), compare_doubles);
	return times[job->n_steps / 2];
}

/* --- the recording --------------------------------------------------------------------------------- */

struct clock {
	gdouble offset_ns, rate;
};

/* Host 0 is right. */
static struct clock clock_of(const struct synthetic_job *job, guint32 rank)
{
	guint32 host = rank / job->ranks_per_host;
	struct random_stream random = random_stream_of(job->seed ^ 0x636c6f636b, host);

	if (host == 0)
		return (struct clock){ 0, 1 };
	return (struct clock){ job->offset_ns * (2 * random_stream_share(&random) - 1),
			       1 + job->drift * (2 * random_stream_share(&random) - 1) };
}

static void put(GString *text, const struct clock *clock, const gchar *what, gdouble begin_ns,
		gdouble end_ns, const gchar *rest)
{
	/* no clock shows less than nothing */
	gdouble shift_ns = 1e9 + clock->offset_ns;

	g_string_append_printf(text, "%s %.0f..%.0f%s\n", what, shift_ns + begin_ns * clock->rate,
			       shift_ns + end_ns * clock->rate, rest);
}

static void put_step(const struct synthetic_job *job, const guint32 *ends, guint32 n_buckets,
		     guint32 rank, guint32 number, gdouble begin_ns, const struct step *step,
		     GString *text)
{
	const struct clock clock = clock_of(job, rank);
	const gdouble *ready_ns = step->ready_ns + (gsize)rank * job->n;
	g_autofree gchar *name = g_strdup_printf("annotation ProfilerStep#%u", number);
	gdouble end_ns = step->end_ns[rank], over_ns = step->over_ns[n_buckets - 1];
	guint32 bucket = 0;

	put(text, &clock, name, begin_ns, begin_ns + end_ns, "");
	put(text, &clock, "op forward", begin_ns, begin_ns + ready_ns[0] - job->backward_ns[0] / 2,
	    "");
	for (guint32 i = 0; i < job->n; i++) {
		gdouble from_ns = i ? ready_ns[i - 1] : ready_ns[0] - job->backward_ns[0] / 2;
		g_autofree gchar *tensor = g_strdup_printf(
			" backward in=float32[%" G_GUINT64_FORMAT "]", job->bytes[i] / 4);

		put(text, &clock, "op autograd::engine::evaluate_function:AccumulateGrad",
		    begin_ns + from_ns, begin_ns + ready_ns[i], "");
		put(text, &clock, "op torch::autograd::AccumulateGrad", begin_ns + from_ns,
		    begin_ns + ready_ns[i], tensor);
		if (ends[bucket] != i + 1)
			continue;
		{
			guint64 bytes = 0;
			g_autofree gchar *rest = NULL;

			for (guint32 j = bucket ? ends[bucket - 1] : 0; j < ends[bucket]; j++)
				bytes += job->bytes[j];
			rest = g_strdup_printf(" bytes=%" G_GUINT64_FORMAT " end_tid=9", bytes);
			put(text, &clock, "collective gloo:all_reduce", begin_ns + ready_ns[i],
			    begin_ns + step->over_ns[bucket], rest);
		}
		bucket++;
	}
	put(text, &clock, "op optimizer", begin_ns + over_ns, begin_ns + end_ns, "");
}

gchar *synthetic_job_text(const struct synthetic_job *job, const guint32 *ends, guint32 n_buckets)
{
	GString *text = g_string_new("unit ns\n");
	struct step step;

	step_init(&step, job, n_buckets);
	for (guint32 rank = 0; rank < job->n_ranks; rank++) {
		gdouble begin_ns = 0;

		g_string_append_printf(text, "rank %u host=h%u thread %u main\n", rank,
				       rank / job->ranks_per_host, 1000 + rank);
		for (guint32 i = 0; i < job->n_steps; i++) {
			play(job, ends, n_buckets, i, &step);
			put_step(job, ends, n_buckets, rank, i, begin_ns, &step, text);
			begin_ns += longest(job, &step);
		}
	}
	step_release(&step);
	return g_string_free(text, FALSE);
}
