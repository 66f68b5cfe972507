#include "corpus.h"

#include <string.h>

#include <tacho/correlate.h>
#include <tacho/import.h>

#include "byte_timeline.h"
#include "property_jobs.h"
#include "random_jobs.h"
#include "timeline_text.h"

enum {
	SHOWN = 3,	   /* of the answers that are others than before */
	FEW_OF_A_KIND = 6, /* random jobs */
	MANY_OF_A_KIND = 40,
};

/* Timelines of bytes that chance has drawn. */
enum { N_DRAWN = 100, MOST_BYTES = 400, LEAST_SLICES = 30 };

/* Traces of tests/data, each a run. */
static const gchar *const traces[] = {
	"byteprofile",
	"byteprofile_ring",
	"byteprofile_tree",
	"byteps",
	"byteps_servers",
	"chrome",
	"dpro/mxnet_horovod",
	"dpro/pytorch_horovod",
	"dpro/tf_byteps",
	"dpro/tf_horovod",
	"execution_trace",
	"horovod",
	"kineto",
	"kineto_gloo",
	"memory",
	"nccl/inspector.log",
	"nccl/profiler.jsonl",
	"nccl_tests",
	"onednn",
	"pytorch_legacy/ranks",
	"pytorch_legacy/single.json.gz",
	"rocm/7_results.json",
	"rocm/result.json",
	"rocm_csv",
	"tensorflow/profile_2",
	"tensorflow/steps",
	"two_ranks",
	"xplane/gpu.xplane.pb",
	"xplane/tpu.xplane.pb",
};

/* --- answers ---------------------------------------------------------------------------------- */

/* Nine digits of each number that is not whole. */
static gchar *with_rounded_numbers(const gchar *text)
{
	GString *rounded = g_string_new(NULL);

	while (*text) {
		gsize n = strspn(text, "0123456789.eE+-");

		if (g_ascii_isdigit(*text) && memchr(text, '.', n)) {
			gchar number[G_ASCII_DTOSTR_BUF_SIZE], *end;
			gdouble value = g_ascii_strtod(text, &end);

			g_string_append(rounded,
					g_ascii_formatd(number, sizeof(number), "%.9g", value));
			text = end;
			continue;
		}
		if (n == 0 || !g_ascii_isdigit(*text))
			n = 1;
		g_string_append_len(rounded, text, n);
		text += n;
	}
	return g_string_free(rounded, FALSE);
}

static guint count_lines(const gchar *text)
{
	guint n = 0;

	for (; *text; text++)
		n += *text == '\n' || (*text == '}' && text[1] == ',');
	return n;
}

static void compare(struct corpus *corpus, const gchar *head, const gchar *line, const gchar *text)
{
	const gchar *expected = g_hash_table_lookup(corpus->expected, head);
	const gchar *shown = g_getenv("TACHO_SHOW");

	if (shown && g_str_has_prefix(head, shown))
		g_printerr("== %s\n%s\n", head, text);
	if (g_strcmp0(expected, line) == 0) {
		g_hash_table_remove(corpus->expected, head);
		return;
	}
	if (!g_getenv("TACHO_BLESS") && corpus->n_different++ < SHOWN)
		g_printerr("%s: %s: was %s, is %s:\n%s\n", corpus->name, head,
			   expected ? expected : "not there", line, text);
	g_hash_table_remove(corpus->expected, head);
}

FILE *corpus_begin(struct corpus *corpus)
{
	FILE *out = tmpfile();

	g_assert_nonnull(out);
	(void)corpus;
	return out;
}

/* The text, wherever the source lies. */
static gchar *without_place(const gchar *text)
{
	g_auto(GStrv) parts = g_strsplit(text, TACHO_TEST_DATA, -1);

	return g_strjoinv("tests/data", parts);
}

void corpus_end(struct corpus *corpus, const gchar *timeline_name, const gchar *what, FILE *out)
{
	g_autofree gchar *head = g_strdup_printf("%s %s", timeline_name, what);
	g_autofree gchar *text = NULL, *placed = NULL, *rounded = NULL, *digest = NULL,
			 *line = NULL;
	glong n = ftell(out);

	text = g_malloc0(n + 1);
	rewind(out);
	g_assert_cmpuint(fread(text, 1, n, out), ==, n);
	fclose(out);
	if (n == 0)
		return;
	placed = without_place(text);
	rounded = with_rounded_numbers(placed);
	digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, rounded, -1);
	line = g_strdup_printf("%u %.8s", count_lines(rounded), digest);
	g_string_append_printf(corpus->lines, "%s: %s\n", head, line);
	compare(corpus, head, line, rounded);
}

static void print_notes(const TachoTable *table, FILE *out)
{
	for (guint i = 0; i < tacho_table_n_notes(table); i++)
		fprintf(out, "%s\n", tacho_table_borrow_note(table, i));
}

void corpus_add_table(struct corpus *corpus, const gchar *timeline_name, const gchar *what,
		      TachoTable *table, FILE *absent)
{
	if (tacho_table_n_rows(table) == 0) {
		fprintf(absent, "%s:\n", what);
		print_notes(table, absent);
	} else {
		FILE *out = corpus_begin(corpus);

		tacho_table_print_json(table, out);
		print_notes(table, out);
		corpus_end(corpus, timeline_name, what, out);
	}
	tacho_table_free(table);
}

/* --- timelines -------------------------------------------------------------------------------- */

static void ask_texts(struct corpus *corpus,
		      void (*question)(struct corpus *, const gchar *, TachoTimeline *))
{
	g_autofree gchar *all = NULL;
	g_auto(GStrv) texts = NULL;

	g_assert_true(g_file_get_contents(TACHO_TEST_DATA "/timelines.txt", &all, NULL, NULL));
	texts = g_strsplit(all, "== ", -1);
	for (guint i = 1; texts[i]; i++) {
		gchar *end = strchr(texts[i], '\n');
		g_autofree gchar *name = g_strndup(texts[i], end - texts[i]);
		g_autoptr(TachoTimeline) timeline = timeline_from_text(end + 1);

		tacho_correlate(timeline);
		question(corpus, name, timeline);
	}
}

static void ask_traces(struct corpus *corpus,
		       void (*question)(struct corpus *, const gchar *, TachoTimeline *))
{
	for (guint i = 0; i < G_N_ELEMENTS(traces); i++) {
		g_autofree gchar *path = g_build_filename(TACHO_TEST_DATA, traces[i], NULL);
		const gchar *paths[] = { path };
		g_autoptr(GError) error = NULL;
		g_autoptr(TachoTimeline) timeline = tacho_run_open(paths, 1, NULL, NULL, &error);

		g_assert_no_error(error);
		tacho_correlate(timeline);
		question(corpus, traces[i], timeline);
	}
}

static void ask_jobs(struct corpus *corpus, const gchar *kind, GPtrArray *jobs,
		     void (*question)(struct corpus *, const gchar *, TachoTimeline *))
{
	for (guint i = 0; i < jobs->len; i++) {
		const struct made_up_job *job = g_ptr_array_index(jobs, i);
		g_autofree gchar *name = g_strdup_printf("%s, %s", kind, job->name);
		g_autoptr(TachoTimeline) timeline = timeline_from_text(job->text);

		tacho_correlate(timeline);
		question(corpus, name, timeline);
	}
	g_ptr_array_unref(jobs);
}

/* Bytes of which every fourth is 0: that is a rank of a training job. */
static TachoTimeline *draw_timeline(guint32 seed)
{
	g_autoptr(GRand) chance = g_rand_new_with_seed(seed);
	guint8 bytes[MOST_BYTES];
	gsize n = (gsize)g_rand_int_range(chance, MOST_BYTES / 4, MOST_BYTES);

	for (gsize i = 0; i < n; i++)
		bytes[i] = g_rand_int_range(chance, 0, 4) ? (guint8)g_rand_int_range(chance, 0, 255)
							  : 0;
	return byte_timeline_new(bytes, n);
}

/* Not one with a time of whatever bits: there, nothing meets anything. */
static gboolean is_like_a_job(const TachoTimeline *timeline)
{
	const TachoSlices *slices = &timeline->slices;

	for (guint32 i = 0; i < slices->n; i++)
		if (ABS(slices->start_ns[i]) > G_TIME_SPAN_HOUR * 1000 ||
		    slices->duration_ns[i] > G_TIME_SPAN_HOUR * 1000)
			return FALSE;
	return slices->n >= LEAST_SLICES;
}

static void ask_drawn(struct corpus *corpus, guint n,
		      void (*question)(struct corpus *, const gchar *, TachoTimeline *))
{
	for (guint32 seed = 0; n > 0; seed++) {
		g_autofree gchar *name = g_strdup_printf("drawn.%u", seed);
		g_autoptr(TachoTimeline) timeline = draw_timeline(seed);

		if (!is_like_a_job(timeline))
			continue;
		question(corpus, name, timeline);
		n--;
	}
}

/* --- the file of answers ---------------------------------------------------------------------- */

static GHashTable *read_expected(const gchar *path)
{
	GHashTable *expected = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	g_autofree gchar *all = NULL;
	g_auto(GStrv) lines = NULL;

	if (!g_file_get_contents(path, &all, NULL, NULL))
		return expected;
	lines = g_strsplit(all, "\n", -1);
	for (guint i = 0; lines[i]; i++) {
		gchar *colon = strrchr(lines[i], ':');

		if (colon)
			g_hash_table_insert(expected, g_strndup(lines[i], colon - lines[i]),
					    g_strdup(colon + 2));
	}
	return expected;
}

void corpus_ask(const gchar *name, guint parts,
		void (*question)(struct corpus *corpus, const gchar *timeline_name,
				 TachoTimeline *timeline))
{
	g_autofree gchar *path = g_strdup_printf("%s/corpus/%s.out", TACHO_TEST_DATA, name);
	struct corpus corpus = { .name = name, .lines = g_string_new(NULL) };
	GHashTableIter missing;
	gpointer head;

	corpus.expected = read_expected(path);
	if (parts & CORPUS_TEXTS)
		ask_texts(&corpus, question);
	if (parts & CORPUS_TRACES)
		ask_traces(&corpus, question);
	if (parts & (CORPUS_JOBS | CORPUS_MANY_JOBS)) {
		ask_jobs(&corpus, "made up", made_up_jobs(), question);
		ask_jobs(&corpus, "random",
			 random_jobs(parts & CORPUS_MANY_JOBS ? MANY_OF_A_KIND : FEW_OF_A_KIND),
			 question);
	}
	if (parts & CORPUS_DRAWN)
		ask_drawn(&corpus, N_DRAWN, question);
	g_hash_table_iter_init(&missing, corpus.expected);
	if (g_getenv("TACHO_BLESS")) {
		g_assert_true(g_file_set_contents(path, corpus.lines->str, -1, NULL));
	} else {
		for (; g_hash_table_iter_next(&missing, &head, NULL); corpus.n_different++)
			g_printerr("%s: %s: no longer there\n", name, (gchar *)head);
		g_assert_cmpuint(corpus.n_different, ==, 0);
	}
	g_hash_table_unref(corpus.expected);
	g_string_free(corpus.lines, TRUE);
}
