/* what_if: the little language of changes (docs/what-if.md), one at a time, and files of them. A change is
 * read whole and checked before the graph is touched. */
#include <string.h>

#include <tacho/replay.h>
#include <tacho/words.h>

#include "base/text_file.h"
#include "edit/what_if_internal.h"

#define MAX_FILE_BYTES (1024 * 1024)

static const struct {
	const gchar *prefix; /* its last character ends the key */
	const gchar *form;
	WhatIfEdit *edit;
	gboolean
		is_of_slices; /* it finds work by its slices, which passes that accumulate adds lack */
} edits[] = {
	{ "bandwidth=", "bandwidth=", what_if_bandwidth, FALSE },
	{ "latency=", "latency=", what_if_latency, FALSE },
	{ "topology=", "topology=FILE", what_if_topology, FALSE },
	{ "ranks=", "ranks=N", what_if_ranks, FALSE },
	{ "algorithm=", "algorithm=", what_if_algorithm, FALSE },
	{ "bucket_mb=", "bucket_mb=", what_if_bucket_mb, FALSE },
	{ "fusion=", "fusion=N,N...", what_if_fusion, FALSE },
	{ "partition_mb=", "partition_mb=", what_if_partition_mb, FALSE },
	{ "accumulate=", "accumulate=N", what_if_accumulate, FALSE },
	{ "recompute:", "recompute:KIND~REGEX", what_if_recompute, TRUE },
	{ "device=", "device=NAME", what_if_device, TRUE },
	{ "device:", "device:RANKS=NAME", what_if_device_of_ranks, TRUE },
	{ "precision:", "precision:KIND~REGEX=P", what_if_precision, TRUE },
	{ "precision=", "precision=P", what_if_whole_precision, TRUE },
	{ "scale:", "scale:KIND~REGEX=F, scale:loader=F", what_if_scale, TRUE },
	{ "fuse:", "fuse:KIND~REGEX", what_if_fuse, TRUE },
	{ "drop:", "drop:KIND~REGEX, drop:loader, drop:wait", what_if_drop, TRUE },
	{ "workers=", "workers=N", what_if_workers, TRUE },
	{ "batch=", "batch=Fx", what_if_batch, TRUE },
	{ "straggler:", "straggler:RANKS=F", what_if_straggler, FALSE },
	{ "cores=", "cores=N", what_if_cores, FALSE },
	{ "jobs=", "jobs=RUN[@TIME]", what_if_jobs, FALSE },
	{ "durations=", "durations=", what_if_durations, FALSE },
};

gboolean what_if_refuse(GError **error, const gchar *what_if, const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list args;

	va_start(args, format);
	reason = g_strdup_vprintf(format, args);
	va_end(args);
	g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF, "what-if '%s': %s",
		    what_if, reason);
	return FALSE;
}

const gchar *const *tacho_what_if_words(void)
{
	static const gchar *words[G_N_ELEMENTS(edits) + 1];

	for (guint i = 0; i < G_N_ELEMENTS(edits); i++)
		words[i] = edits[i].prefix;
	return words;
}

/* The key is told from what follows it by '=' or ':', whichever it has. */
static gboolean refuse_unknown(const gchar *what_if, GError **error)
{
	g_autofree gchar *key = g_strndup(what_if, strcspn(what_if, "=:"));
	g_autoptr(GString) forms = g_string_new(NULL);
	g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free);
	const gchar *nearest;

	for (guint i = 0; i < G_N_ELEMENTS(edits); i++) {
		g_string_append_printf(forms, "%s%s",
				       i == 0			     ? ""
				       : i + 1 < G_N_ELEMENTS(edits) ? ", "
								     : " and ",
				       edits[i].form);
		g_ptr_array_add(keys, g_strndup(edits[i].prefix, strlen(edits[i].prefix) - 1));
	}
	g_ptr_array_add(keys, NULL);
	nearest = tacho_nearest_word(key, (const gchar *const *)keys->pdata);
	for (guint i = 0; nearest && i < G_N_ELEMENTS(edits); i++)
		if (strcmp(keys->pdata[i], nearest) == 0)
			return what_if_refuse(error, what_if,
					      "not known; did you mean '%s'? There are %s",
					      edits[i].form, forms->str);
	return what_if_refuse(error, what_if, "not known; there are %s", forms->str);
}

gboolean what_if_edit(TachoGraph *graph, const gchar *what_if, GError **error)
{
	for (guint i = 0; i < G_N_ELEMENTS(edits); i++) {
		if (!g_str_has_prefix(what_if, edits[i].prefix))
			continue;
		if (graph->has_passes && edits[i].is_of_slices)
			return what_if_refuse(error, what_if, "it comes before accumulate");
		return edits[i].edit(graph, what_if, what_if + strlen(edits[i].prefix), error);
	}
	return refuse_unknown(what_if, error);
}

/* What is found below, where nobody knows of what-ifs, is said to be of this one. */
static gboolean fail(const gchar *what_if, GError *cause, GError **error)
{
	if (!g_str_has_prefix(cause->message, "what-if '"))
		g_prefix_error(&cause, "what-if '%s': ", what_if);
	g_propagate_error(error, cause);
	return FALSE;
}

gboolean tacho_graph_what_if(TachoGraph *graph, const gchar *what_if, GError **error)
{
	guint32 n_nodes = graph->nodes->len;
	GError *cause = NULL;

	if (what_if_edit(graph, what_if, &cause))
		return graph_freeze(graph, &cause) || fail(what_if, cause, error);
	if (graph->nodes->len != n_nodes) /* ranks that it names are told apart */
		graph_freeze(graph, NULL);
	return fail(what_if, cause, error);
}

/* --- files ------------------------------------------------------------------------------------ */

gchar **tacho_what_ifs_read(const gchar *path, GError **error)
{
	gsize length;
	g_autofree gchar *text = text_file_read(path, MAX_FILE_BYTES, &length, error);
	g_auto(GStrv) lines = NULL;
	g_autoptr(GPtrArray) what_ifs = g_ptr_array_new_with_free_func(g_free);

	if (!text)
		return NULL;
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++) {
		const gchar *line = g_strstrip(lines[i]);

		if (*line && *line != '#')
			g_ptr_array_add(what_ifs, g_strdup(line));
	}
	g_ptr_array_add(what_ifs, NULL);
	return (gchar **)g_ptr_array_free(g_steal_pointer(&what_ifs), FALSE);
}
