#include "foreign_traces.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <tacho/correlate.h>
#include <unistd.h>

gchar *foreign_write(const gchar *name, const gchar *bytes, gsize n)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-foreign-XXXXXX", NULL);
	gchar *path = g_build_filename(folder, name, NULL);

	/* without waiting for the disk */
	g_assert_true(g_file_set_contents_full(path, bytes, (gssize)n, G_FILE_SET_CONTENTS_NONE,
					       0600, NULL));
	return path;
}

void foreign_remove(gchar *path)
{
	g_autofree gchar *folder = g_path_get_dirname(path);

	g_unlink(path);
	g_rmdir(folder);
	g_free(path);
}

TachoTimeline *foreign_open(const gchar *path)
{
	g_autoptr(GError) error = NULL;
	TachoTimeline *timeline = tacho_run_open(&path, 1, NULL, NULL, &error);

	g_assert_no_error(error);
	return timeline;
}

TachoTimeline *foreign_open_text(const gchar *name, const gchar *text)
{
	gchar *path = foreign_write(name, text, strlen(text));
	TachoTimeline *timeline = foreign_open(path);

	foreign_remove(path);
	return timeline;
}

TachoTimeline *foreign_open_json(const gchar *name, const gchar *text)
{
	g_autofree gchar *json = g_strdelimit(g_strdup(text), "'", '"');

	return foreign_open_text(name, json);
}

gchar *foreign_open_fails(const gchar *path)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(tacho_run_open(&path, 1, NULL, NULL, &error));
	g_assert_nonnull(error);
	return g_strdup(error->message);
}

gchar *foreign_sample(const gchar *name)
{
	const gchar *shared = g_getenv("TACHO_SHARED");
	g_autofree gchar *beside =
		g_build_filename(TACHO_TEST_DATA, "..", "..", "..", "shared", NULL);
	g_autofree gchar *path = g_build_filename(shared ? shared : beside, "data", name, NULL);

	if (g_file_test(path, G_FILE_TEST_EXISTS))
		return g_steal_pointer(&path);
	g_test_skip("the samples are not there");
	return NULL;
}

const TachoProblem *foreign_problem(const TachoTimeline *timeline, const gchar *kind)
{
	for (guint i = 0; i < timeline->problems->len; i++) {
		const TachoProblem *problem = &g_array_index(timeline->problems, TachoProblem, i);

		if (strcmp(problem->kind, kind) == 0)
			return problem;
	}
	return NULL;
}

guint foreign_count_kind(const TachoTimeline *timeline, TachoSliceKind kind)
{
	guint count = 0;

	for (guint32 i = 0; i < timeline->slices.n; i++)
		count += timeline->slices.kind[i] == kind;
	return count;
}

/* --- using ---------------------------------------------------------------------------------- */

static volatile guint64 sink; /* so that what is read is used */

static void use_slice(const TachoTimeline *timeline, guint32 slice)
{
	g_autofree gchar *args_json = tacho_slice_args_json(timeline, slice);
	TachoCollectiveArgs collective;
	TachoKernelArgs kernel;
	TachoMessageArgs message;
	TachoTensor tensor;
	TachoOpArgs op;

	sink += args_json ? (guint64)args_json[0] : 0;
	sink += (guint64)tacho_slice_op(timeline, slice, &op);
	if (tacho_slice_kernel(timeline, slice, &kernel))
		sink += strlen(kernel.dtype) + strlen(kernel.text);
	sink += (guint64)tacho_slice_collective(timeline, slice, &collective);
	sink += (guint64)tacho_slice_message(timeline, slice, &message);
	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++)
		sink += tensor.n_dims + strlen(tensor.dtype);
	sink += (guint64)tacho_slice_name(timeline, slice)[0];
}

void foreign_use(TachoTimeline *timeline)
{
	tacho_correlate(timeline);
	for (guint32 i = 0; i < timeline->slices.n; i++)
		use_slice(timeline, i);
}

static void open_and_use(const gchar *path)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = tacho_run_open(&path, 1, NULL, NULL, &error);

	if (timeline)
		foreign_use(timeline);
	else
		g_assert_nonnull(error);
}

void foreign_damage(const gchar *path, guint n_copies)
{
	g_autofree gchar *name = g_path_get_basename(path), *bytes = NULL;
	GRand *random = g_rand_new_with_seed(7);
	gchar *copy = foreign_write(name, "", 0);
	gsize n;

	g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
	for (guint round = 0; round < n_copies; round++) {
		g_autofree gchar *damaged = g_memdup2(bytes, n);
		gsize n_left = round % 2 ? n : (gsize)g_rand_int_range(random, 0, (gint)n);

		for (guint k = 0; k < round % 9; k++)
			damaged[g_rand_int_range(random, 0, (gint)n)] ^=
				(gchar)(1 << g_rand_int_range(random, 0, 8));
		g_unlink(copy); /* else what is there stays behind what is written */
		g_assert_true(g_file_set_contents_full(copy, damaged, (gssize)n_left,
						       G_FILE_SET_CONTENTS_NONE, 0600, NULL));
		open_and_use(copy);
	}
	g_rand_free(random);
	foreign_remove(copy);
}

/* --- fuzzing -------------------------------------------------------------------------------- */

static gchar *fuzz_path; /* made once, kept for all inputs */

static void remove_fuzz_file(void)
{
	foreign_remove(fuzz_path);
}

static void make_fuzz_file(const gchar *name)
{
	const gchar *memory = g_access("/dev/shm", W_OK) == 0 ? "/dev/shm" : g_get_tmp_dir();
	g_autofree gchar *folder = g_build_filename(memory, "tacho-fuzz-XXXXXX", NULL);

	if (!g_mkdtemp(folder))
		g_error("%s cannot be made", folder);
	fuzz_path = g_build_filename(folder, name, NULL);
	atexit(remove_fuzz_file);
}

int foreign_fuzz(const gchar *name, const guint8 *bytes, gsize n)
{
	gint fd;

	if (!fuzz_path)
		make_fuzz_file(name);
	fd = g_open(fuzz_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (gssize)n)
		g_error("%s cannot be written", fuzz_path);
	close(fd);
	open_and_use(fuzz_path);
	return 0;
}
