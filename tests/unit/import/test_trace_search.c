/* What is found in a folder, and that every search ends. */
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "import/trace_search.h"
#include "run_builder.h"

static const gchar event[] = "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"pid\": 1, "
			     "\"tid\": 1, \"ts\": 1, \"dur\": 1}]}";

static gchar *make_folder(void)
{
	g_autoptr(GError) error = NULL;
	gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", &error);

	g_assert_no_error(error);
	return folder;
}

static void write_file(const gchar *folder, const gchar *name, const gchar *text)
{
	g_autofree gchar *path = g_build_filename(folder, name, NULL);
	g_autofree gchar *parent = g_path_get_dirname(path);

	g_assert_cmpint(g_mkdir_with_parents(parent, 0700), ==, 0);
	g_assert_true(
		g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

/* Links to one file of the folder cost less than files. */
static void write_many(const gchar *folder, const gchar *text, guint n)
{
	g_autofree gchar *first = g_build_filename(folder, "0.json", NULL);

	write_file(folder, "0.json", text);
	for (guint i = 1; i < n; i++) {
		g_autofree gchar *path = g_strdup_printf("%s/%u.json", folder, i);

		g_assert_cmpint(symlink(first, path), ==, 0);
	}
}

static void remove_folder(gchar *folder)
{
	run_builder_remove(folder);
	g_free(folder);
}

/* Why the search fails, "": it does not. */
static gchar *search_one(struct trace_search *search, const gchar *path)
{
	g_autoptr(GError) error = NULL;

	trace_search_init(search);
	if (trace_search_add(search, path, &error))
		return g_strdup("");
	return g_strdup(error->message);
}

static void assert_fails(const gchar *path, const gchar *word)
{
	struct trace_search search;
	g_autofree gchar *failure = search_one(&search, path);

	if (!strstr(failure, word) || !g_str_has_prefix(failure, path))
		g_error("'%s' and '%s' are not both in: %s", path, word, failure);
	trace_search_release(&search);
}

static void assert_found(const gchar *path, guint n)
{
	struct trace_search search;
	g_autofree gchar *failure = search_one(&search, path);

	g_assert_cmpstr(failure, ==, "");
	g_assert_cmpuint(search.paths[IMPORT_PLACE_chrome]->len, ==, n);
	g_assert_cmpuint(trace_search_count_foreign(&search, NULL), ==, n);
	g_assert_cmpuint(search.unreadable->len + search.left_out->len, ==, 0);
	trace_search_release(&search);
}

/* However many traces there are, they are all found, and as many other files as the limit allows beside them. */
static void test_large(void)
{
	gchar *folder = make_folder();
	g_autofree gchar *traces = g_build_filename(folder, "traces", NULL);
	g_autofree gchar *logs = g_build_filename(folder, "logs", NULL);

	write_many(traces, event, TRACE_SEARCH_MAX_FRUITLESS + 100);
	write_many(logs, "", TRACE_SEARCH_MAX_FRUITLESS - 1); /* and their folder */
	assert_found(folder, TRACE_SEARCH_MAX_FRUITLESS + 100);
	write_file(folder, "z", "no trace");
	assert_fails(
		folder,
		"too much to search: 10000 files and folders are not traces, 10100 others are");
	write_file(logs, "more", "no trace");
	write_file(logs, "and more", "no trace");
	assert_fails(logs, "folders are not traces, and more remain; name the trace itself");
	remove_folder(folder);
}

static void test_deep(void)
{
	gchar *folder = make_folder();

	write_file(folder, "1/2/3/4/5/too_deep.json", event);
	assert_fails(folder, "no folder in it, down to 4 levels, holds one (");
	write_file(folder, "1/2/3/4/there.json", event);
	assert_found(folder, 1);
	remove_folder(folder);
}

/* The kernel's file systems are not searched, whatever leads there; other ones are, over links. */
static void test_file_systems(void)
{
	gchar *folder = make_folder(), *other;
	g_autofree gchar *elsewhere = g_build_filename(folder, "elsewhere", NULL);
	g_autofree gchar *kernel = g_build_filename(folder, "kernel", NULL);

	assert_fails("/proc", "file system of the kernel");
	assert_fails("/proc/self", "file system of the kernel");
	g_assert_cmpint(symlink("/proc/self/task", kernel), ==, 0);
	assert_fails(folder, "no folder in it");
	write_file(folder, "here.json", event);
	assert_found(folder, 1);
	other = g_strdup("/dev/shm/tacho-test-XXXXXX");
	if (g_mkdtemp(other)) {
		write_file(other, "sub/other.json", event);
		g_assert_cmpint(symlink(other, elsewhere), ==, 0);
		assert_found(folder, 2);
		run_builder_remove(other);
	}
	g_free(other);
	remove_folder(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/trace_search/large", test_large);
	g_test_add_func("/trace_search/deep", test_deep);
	g_test_add_func("/trace_search/file_systems", test_file_systems);
	return g_test_run();
}
