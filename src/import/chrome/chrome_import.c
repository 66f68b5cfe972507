/* chrome_import: Chrome traces of no format that is known by name.
 *
 * (1) What a slice is, its category tells where it is one that many tools use; else it is an EVENT.
 * (2) In a file none of whose slices has such a category, what stands on threads are taken for operations, so that
 *     the views have something to tell of.
 * (3) An export of tacho's carries the run that it shows: that is what is read.
 * (4) docs/formats.md says what becomes of each field. */
#include <string.h>

#include "import/chrome/chrome_trace.h"
#include "import/exported/exported_run.h"

/* The words of categories, in lower case; a category is what the first word of the list says that is in it. */
static const struct {
	const gchar *word;
	TachoSliceKind kind;
	enum chrome_place place;
} words[] = {
	{ "memcpy", TACHO_SLICE_MEMCPY, CHROME_ON_STREAM },
	{ "memset", TACHO_SLICE_MEMSET, CHROME_ON_STREAM },
	{ "kernel", TACHO_SLICE_KERNEL, CHROME_ON_STREAM },
	{ "runtime", TACHO_SLICE_RUNTIME, CHROME_ON_THREAD },
	{ "driver", TACHO_SLICE_RUNTIME, CHROME_ON_THREAD },
	{ "_api", TACHO_SLICE_RUNTIME, CHROME_ON_THREAD },
	{ "python", TACHO_SLICE_FUNCTION, CHROME_ON_THREAD },
	{ "function", TACHO_SLICE_FUNCTION, CHROME_ON_THREAD },
	{ "annotation", TACHO_SLICE_ANNOTATION, CHROME_ON_THREAD },
	{ "nvtx", TACHO_SLICE_ANNOTATION, CHROME_ON_THREAD },
	{ "operator", TACHO_SLICE_OP, CHROME_ON_THREAD },
	{ "cpu_op", TACHO_SLICE_OP, CHROME_ON_THREAD },
};

/* What the categories of a file are; by string id. */
struct categories {
	GHashTable *index; /* category -> index into `words`, plus 1; 0: none of them */
	gboolean has_known;
};

static void begin(struct chrome_trace *trace)
{
	struct categories *categories = g_new0(struct categories, 1);

	categories->index = g_hash_table_new(NULL, NULL);
	trace->data = categories;
}

static void end(struct chrome_trace *trace)
{
	struct categories *categories = trace->data;

	g_hash_table_unref(categories->index);
	g_free(categories);
}

static guint find_word(const gchar *category)
{
	g_autofree gchar *lower = g_ascii_strdown(category, -1);

	for (guint i = 0; i < G_N_ELEMENTS(words); i++)
		if (strstr(lower, words[i].word))
			return i + 1;
	return strcmp(lower, "op") == 0 ? G_N_ELEMENTS(words) : 0;
}

static void learn_categories(struct chrome_trace *trace)
{
	struct categories *categories = trace->data;

	for (gsize i = 0; i < trace->rows.n; i++) {
		guint32 category = chrome_trace_row(trace, i)->category;
		guint word;

		if (g_hash_table_contains(categories->index, GUINT_TO_POINTER(category)))
			continue;
		word = find_word(tacho_timeline_string(trace->timeline, category));
		categories->has_known |= word > 0;
		g_hash_table_insert(categories->index, GUINT_TO_POINTER(category),
				    GUINT_TO_POINTER(word));
	}
}

static void judge(struct chrome_trace *trace, const struct chrome_row *row,
		  struct chrome_verdict *verdict)
{
	const struct categories *categories = trace->data;
	guint word = GPOINTER_TO_UINT(
		g_hash_table_lookup(categories->index, GUINT_TO_POINTER(row->category)));

	if (verdict->place != CHROME_ON_THREAD)
		return;
	if (word) {
		verdict->kind = words[word - 1].kind;
		verdict->place = words[word - 1].place;
	} else if (!categories->has_known) {
		verdict->kind = TACHO_SLICE_OP;
	}
}

static const struct chrome_dialect dialect = {
	.begin = begin,
	.end = end,
	.settle = learn_categories,
	.judge = judge,
};

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	gboolean is_read;

	(void)data;
	if (!exported_chrome_read(import, path, &is_read, error))
		return FALSE;
	return is_read || chrome_trace_read(import, path, &dialect, NULL, error);
}

const struct import_format import_chrome = {
	.name = "chrome",
	.title = "Chrome trace events (JSON) of any other tool",
	.files = "*.json, *.json.gz, *.json.zst",
	.sniff = chrome_trace_sniff,
	.is_export = exported_chrome_sniff,
	.read_file = read_file,
};
