/* Files that shrink under a reader, copies, and files that are none. */
#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mapped_file.h"

#define PAGE_BYTES 4096

static gchar *make_file(gsize n_pages)
{
	g_autofree gchar *bytes = g_malloc(n_pages * PAGE_BYTES + 1);
	g_autoptr(GError) error = NULL;
	gchar *path = g_build_filename(g_get_tmp_dir(), "tacho-mapped-XXXXXX", NULL);
	int fd = g_mkstemp(path);

	g_assert_cmpint(fd, >=, 0);
	close(fd);
	memset(bytes, 'x', n_pages * PAGE_BYTES);
	g_assert_true(g_file_set_contents(path, bytes, (gssize)(n_pages * PAGE_BYTES), &error));
	return path;
}

static void remove_file(gchar *path)
{
	g_unlink(path);
	g_free(path);
}

static void test_shrinking(void)
{
	gchar *path = make_file(64);
	struct mapped_file file, other;
	g_autoptr(GError) error = NULL;

	g_assert_true(mapped_file_open(&file, path, &error));
	g_assert_true(mapped_file_open(&other, path, &error));
	g_assert_cmpint(truncate(path, PAGE_BYTES + 100), ==, 0);
	g_assert_cmpint(file.bytes[10], ==, 'x');
	g_assert_cmpint(file.bytes[PAGE_BYTES + 99], ==, 'x');
	for (gsize i = PAGE_BYTES + 100; i < file.size_bytes; i++)
		g_assert_cmpint(file.bytes[i], ==, 0);
	mapped_file_close(&file);
	g_assert_cmpint(other.bytes[other.size_bytes - 1], ==, 0);
	mapped_file_close(&other);
	remove_file(path);
}

static void test_copy(void)
{
	gchar *path = make_file(3);
	struct mapped_file file;
	g_autoptr(GError) error = NULL;

	g_assert_true(mapped_file_open_copy(&file, path, &error));
	g_assert_cmpint(truncate(path, 0), ==, 0);
	g_assert_cmpuint(file.size_bytes, ==, 3 * PAGE_BYTES);
	for (gsize i = 0; i < file.size_bytes; i++)
		g_assert_cmpint(file.bytes[i], ==, 'x');
	mapped_file_close(&file);
	g_assert_true(mapped_file_open(&file, path, &error));
	g_assert_cmpuint(file.size_bytes, ==, 0);
	mapped_file_close(&file);
	remove_file(path);
}

/* A fifo without a writer would hold a reader for ever. */
/* More files than a process may have mappings: they can all be read, and there are mappings left for other things. */
static void test_many(void)
{
	enum { N_FILES = 70000 };
	gchar *path = make_file(0);
	struct mapped_file *files = g_new0(struct mapped_file, N_FILES);
	void *other;

	g_assert_true(g_file_set_contents(path, "sixteen bytes ..", 16, NULL));
	for (guint i = 0; i < N_FILES; i++)
		g_assert_true(mapped_file_open(&files[i], path, NULL));
	other = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	g_assert_true(other != MAP_FAILED);
	munmap(other, PAGE_BYTES);
	for (guint i = 0; i < N_FILES; i++) {
		g_assert_cmpmem(files[i].bytes, files[i].size_bytes, "sixteen bytes ..", 16);
		mapped_file_close(&files[i]);
	}
	g_free(files);
	remove_file(path);
}

static void test_no_file(void)
{
	g_autofree gchar *path = make_file(0);
	struct mapped_file file;
	g_autoptr(GError) error = NULL;

	g_assert_cmpint(g_unlink(path), ==, 0);
	g_assert_false(mapped_file_open(&file, path, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_NOENT);
	g_clear_error(&error);
	g_assert_cmpint(mkfifo(path, 0600), ==, 0);
	g_assert_false(mapped_file_open(&file, path, &error));
	g_assert_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL);
	g_assert_cmpint(g_unlink(path), ==, 0);
}

/* A SIGBUS that is not ours still ends the program. */
static void test_foreign_fault(void)
{
	if (g_test_subprocess()) {
		gchar *path = make_file(1);
		struct mapped_file file;

		g_assert_true(mapped_file_open(&file, path, NULL));
		remove_file(path);
		raise(SIGBUS);
		raise(SIGBUS);
		return;
	}
	g_test_trap_subprocess(NULL, 0, 0);
	g_test_trap_assert_failed();
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/mapped-file/shrinking", test_shrinking);
	g_test_add_func("/mapped-file/copy", test_copy);
	g_test_add_func("/mapped-file/many", test_many);
	g_test_add_func("/mapped-file/no-file", test_no_file);
	g_test_add_func("/mapped-file/foreign-fault", test_foreign_fault);
	return g_test_run();
}
