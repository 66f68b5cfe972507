#include "import/own_run.h"

#include <string.h>

#include "base/byte_stream.h"
#include "import/import_format.h"
#include "trace/trace_layout.h"

enum { HEAD_BYTES = 8192 }; /* in which a run's files say what they are */

/* Whether `word` is in the first bytes of the file; *ret_is_there: whether it can be read. */
static gboolean has_word(const gchar *folder, const gchar *name, const gchar *word,
			 gboolean *ret_is_there)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);
	g_autoptr(ByteStream) stream = byte_stream_open(path, NULL);
	gchar head[HEAD_BYTES];
	gssize n = stream ? byte_stream_read(stream, head, sizeof(head) - 1, NULL) : -1;

	*ret_is_there = n >= 0;
	head[MAX(n, 0)] = '\0';
	return strstr(head, word) != NULL;
}

static gboolean is_process(const gchar *folder, gboolean is_named)
{
	gboolean is_there;

	if (has_word(folder, TRACE_METADATA_FILE, "tacho_format", &is_there))
		return TRUE;
	/* others' traces are none of ours, what is broken or empty may be */
	return is_named && is_there && !ctf_is_trace(folder);
}

static gboolean has_process(const gchar *path, gboolean is_named)
{
	g_autoptr(GDir) entries = g_dir_open(path, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *folder = g_build_filename(path, name, NULL);

		if (is_process(folder, is_named))
			return TRUE;
	}
	return FALSE;
}

gboolean own_run_has_facts(const gchar *path)
{
	gboolean is_there;

	return has_word(path, TRACE_RUN_FILE, "[run]", &is_there);
}

gboolean own_run_is(const gchar *path)
{
	g_autofree gchar *facts = g_build_filename(path, TRACE_RUN_FILE, NULL);

	return g_file_test(facts, G_FILE_TEST_EXISTS) || is_process(path, TRUE) ||
	       has_process(path, TRUE);
}

gboolean own_run_is_certain(const gchar *path)
{
	return own_run_has_facts(path) || is_process(path, FALSE) || has_process(path, FALSE);
}
