#include "optimize/search_state.h"

#include <string.h>

#include <tacho/plan.h>

#define HEAD "tacho_search 1"

/* Of what makes partitions comparable: sizes, types and how many; times are judged anew. */
static gchar *digest_of(const struct bucket_problem *problem)
{
	g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);

	for (guint32 i = 0; i < problem->n; i++) {
		g_autofree gchar *line = g_strdup_printf(
			"%" G_GUINT64_FORMAT " %s %u\n", problem->bytes[i],
			problem->dtype[i] ? problem->dtype[i] : "", problem->begins_bucket[i]);

		g_checksum_update(sum, (const guchar *)line, -1);
	}
	return g_strdup(g_checksum_get_string(sum));
}

void search_state_write(const struct bucket_search *search, FILE *out)
{
	g_autofree gchar *digest = digest_of(search->problem);

	fprintf(out, HEAD " %u %s\ntries %" G_GUINT64_FORMAT "\n", search->problem->n, digest,
		search->tries);
	for (guint i = 0; i < search->n_kept; i++) {
		const struct bucket_candidate *kept = &search->kept[i];

		fprintf(out, "kept %.0f %s", kept->step_ns, kept->strategy);
		for (guint32 j = 0; j < kept->n_buckets; j++)
			fprintf(out, " %u", kept->ends[j]);
		fputc('\n', out);
	}
}

static gboolean refuse(GError **error, guint line, const gchar *reason)
{
	g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT, "line %u: %s", line, reason);
	return FALSE;
}

static gboolean check_head(const struct bucket_problem *problem, const gchar *line, GError **error)
{
	g_autofree gchar *digest = digest_of(problem);
	g_autofree gchar *wanted = g_strdup_printf(HEAD " %u %s", problem->n, digest);

	if (!g_str_has_prefix(line, HEAD " "))
		return refuse(error, 1, "this is no state of a search, or one of another version");
	return strcmp(line, wanted) == 0 ||
	       refuse(error, 1, "the state is of a job with other gradients");
}

/* "kept STEP STRATEGY END END ..." */
static gboolean read_kept(struct bucket_search *search, gchar **words, guint line, GError **error)
{
	const struct bucket_problem *problem = search->problem;
	g_autofree guint32 *ends = g_new(guint32, (gsize)problem->n + 1);
	guint32 n = 0;

	for (guint i = 3; words[i]; i++) {
		guint64 end;

		if (!g_ascii_string_to_unsigned(words[i], 10, n ? ends[n - 1] + 1 : 1, problem->n,
						&end, NULL))
			return refuse(error, line, "ends of buckets do not ascend");
		ends[n++] = (guint32)end;
	}
	if (n == 0 || ends[n - 1] != problem->n)
		return refuse(error, line, "the last bucket does not end with the last gradient");
	n = bucket_search_allow(problem, ends, n);
	bucket_search_try(search, "resumed", ends, n);
	return TRUE;
}

gboolean search_state_read(struct bucket_search *search, const gchar *text, GError **error)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	guint64 tries = 0;

	if (!check_head(search->problem, lines[0] ? lines[0] : "", error))
		return FALSE;
	for (guint i = 1; lines[i] && *lines[i]; i++) {
		g_auto(GStrv) words = g_strsplit(lines[i], " ", -1);
		gboolean is_tries = g_strv_length(words) == 2 && strcmp(words[0], "tries") == 0;

		if (is_tries &&
		    g_ascii_string_to_unsigned(words[1], 10, 0, G_MAXINT64, &tries, NULL))
			continue;
		if (g_strv_length(words) < 4 || strcmp(words[0], "kept") != 0)
			return refuse(error, i + 1, "neither tries nor a partition that was kept");
		if (!read_kept(search, words, i + 1, error))
			return FALSE;
	}
	search->tries += tries;
	return TRUE;
}
