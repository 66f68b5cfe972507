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

TachoTimeline *foreign_open_sample(const gchar *name)
{
	g_autofree gchar *path = foreign_sample(name);
	TachoTimeline *timeline = path ? foreign_open(path) : NULL;

	if (timeline)
		tacho_correlate(timeline);
	return timeline;
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

/* A device's work is launched by what is on no device: who follows launches comes to an end. */
static void check_launch(const TachoTimeline *timeline, guint32 slice)
{
	const TachoSlices *slices = &timeline->slices;
	guint32 launch = slices->launch[slice];

	if (launch == TACHO_NONE)
		return;
	g_assert_cmpint(tacho_timeline_track(timeline, slices->track[slice])->kind, ==,
			TACHO_TRACK_STREAM);
	g_assert_cmpint(tacho_timeline_track(timeline, slices->track[launch])->kind, !=,
			TACHO_TRACK_STREAM);
}

static void use_slice(const TachoTimeline *timeline, guint32 slice)
{
	g_autofree gchar *args_json = tacho_slice_args_json(timeline, slice);
	TachoCollectiveArgs collective;
	TachoKernelArgs kernel;
	TachoMessageArgs message;
	TachoLaunchShape shape;
	TachoNumbers numbers[4];
	TachoCopyArgs copy;
	TachoTensor tensor;
	TachoOpArgs op;

	sink += args_json ? (guint64)args_json[0] : 0;
	sink += (guint64)tacho_slice_op(timeline, slice, &op);
	if (tacho_slice_kernel(timeline, slice, &kernel))
		sink += strlen(kernel.dtype) + strlen(kernel.text);
	if (tacho_slice_launch_shape(timeline, slice, &shape))
		sink += shape.grid[0] + shape.block[2] + shape.shared_bytes;
	if (tacho_slice_copy(timeline, slice, &copy))
		sink += copy.bytes;
	if (tacho_slice_numbers(timeline, slice, G_N_ELEMENTS(numbers), numbers))
		sink += numbers[0].n + numbers[3].n;
	sink += (guint64)tacho_slice_collective(timeline, slice, &collective);
	sink += (guint64)tacho_slice_message(timeline, slice, &message);
	for (guint32 i = 0; tacho_slice_input(timeline, slice, i, &tensor); i++)
		sink += tensor.n_dims + strlen(tensor.dtype);
	sink += (guint64)tacho_slice_name(timeline, slice)[0];
}

void foreign_use(TachoTimeline *timeline)
{
	tacho_correlate(timeline);
	for (guint32 i = 0; i < timeline->slices.n; i++) {
		check_launch(timeline, i);
		use_slice(timeline, i);
	}
	for (guint i = 0; i < timeline->devices->len; i++) {
		const TachoDevice *device = &g_array_index(timeline->devices, TachoDevice, i);

		g_assert_cmpuint(device->process, <, timeline->processes->len);
		sink += strlen(tacho_timeline_string(timeline, device->name)) +
			device->memory_bytes;
	}
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

/* How a copy differs in its `round`: every other one is cut off, and up to eight bits are turned. */
static gchar *damage(GRand *random, guint round, const gchar *bytes, gsize n, gsize *ret_n)
{
	gchar *damaged = g_memdup2(bytes, n);

	*ret_n = round % 2 || n == 0 ? n : (gsize)g_rand_int_range(random, 0, (gint)n);
	for (guint k = 0; k < round % 9 && n > 0; k++)
		damaged[g_rand_int_range(random, 0, (gint)n)] ^=
			(gchar)(1 << g_rand_int_range(random, 0, 8));
	return damaged;
}

static void replace_file(const gchar *path, const gchar *bytes, gsize n)
{
	g_unlink(path); /* else what is there stays behind what is written */
	g_assert_true(g_file_set_contents_full(path, bytes, (gssize)n, G_FILE_SET_CONTENTS_NONE,
					       0600, NULL));
}

void foreign_damage(const gchar *path, guint n_copies)
{
	g_autofree gchar *name = g_path_get_basename(path), *bytes = NULL;
	GRand *random = g_rand_new_with_seed(7);
	gchar *copy = foreign_write(name, "", 0);
	gsize n;

	g_assert_true(g_file_get_contents(path, &bytes, &n, NULL));
	for (guint round = 0; round < n_copies; round++) {
		gsize n_left;
		g_autofree gchar *damaged = damage(random, round, bytes, n, &n_left);

		replace_file(copy, damaged, n_left);
		open_and_use(copy);
	}
	g_rand_free(random);
	foreign_remove(copy);
}

/* --- damaged folders ------------------------------------------------------------------------ */

/* A file of a copied folder, and what is in it. */
struct copied_file {
	gchar *path, *bytes;
	gsize n;
};

static void copied_file_free(gpointer file_pointer)
{
	struct copied_file *file = file_pointer;

	g_unlink(file->path);
	g_free(file->path);
	g_free(file->bytes);
	g_free(file);
}

static void copy_entry(const gchar *from, const gchar *to, GPtrArray *files, GPtrArray *folders)
{
	g_autoptr(GDir) folder = g_dir_open(from, 0, NULL);
	struct copied_file *file;
	const gchar *name;

	if (!folder) {
		file = g_new0(struct copied_file, 1);
		file->path = g_strdup(to);
		g_assert_true(g_file_get_contents(from, &file->bytes, &file->n, NULL));
		replace_file(to, file->bytes, file->n);
		g_ptr_array_add(files, file);
		return;
	}
	g_assert_cmpint(g_mkdir_with_parents(to, 0700), ==, 0);
	g_ptr_array_add(folders, g_strdup(to));
	while ((name = g_dir_read_name(folder))) {
		g_autofree gchar *inner_from = g_build_filename(from, name, NULL);
		g_autofree gchar *inner_to = g_build_filename(to, name, NULL);

		copy_entry(inner_from, inner_to, files, folders);
	}
}

static gint compare_files(gconstpointer a, gconstpointer b)
{
	return strcmp((*(struct copied_file *const *)a)->path,
		      (*(struct copied_file *const *)b)->path);
}

static void open_damaged(const gchar *path, void (*use)(TachoTimeline *))
{
	g_autoptr(GError) error = NULL;
	g_autoptr(TachoTimeline) timeline = tacho_run_open(&path, 1, NULL, NULL, &error);

	if (timeline)
		use(timeline);
	else
		g_assert_nonnull(error);
}

void foreign_damage_folder(const gchar *path, guint n_copies, void (*use)(TachoTimeline *))
{
	g_autofree gchar *above = g_dir_make_tmp("tacho-foreign-XXXXXX", NULL);
	g_autofree gchar *name = g_path_get_basename(path);
	g_autofree gchar *copy = g_build_filename(above, name, NULL);
	g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(copied_file_free);
	g_autoptr(GPtrArray) folders = g_ptr_array_new_with_free_func(g_free);
	GRand *random = g_rand_new_with_seed(7);

	copy_entry(path, copy, files, folders);
	g_ptr_array_sort(files, compare_files);
	for (guint round = 0; round < n_copies; round++) {
		const struct copied_file *file = files->pdata[round / 2 % files->len];
		gsize n_left;
		g_autofree gchar *damaged = damage(random, round, file->bytes, file->n, &n_left);

		replace_file(file->path, damaged, n_left);
		open_damaged(copy, use);
		replace_file(file->path, file->bytes, file->n);
	}
	g_rand_free(random);
	g_ptr_array_set_size(files, 0);
	for (guint i = folders->len; i-- > 0;)
		g_rmdir(folders->pdata[i]);
	g_rmdir(above);
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

const gchar *foreign_fuzz_file(const gchar *name, const guint8 *bytes, gsize n)
{
	gint fd;

	if (!fuzz_path)
		make_fuzz_file(name);
	fd = g_open(fuzz_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, bytes, n) != (gssize)n)
		g_error("%s cannot be written", fuzz_path);
	close(fd);
	return fuzz_path;
}

int foreign_fuzz(const gchar *name, const guint8 *bytes, gsize n)
{
	open_and_use(foreign_fuzz_file(name, bytes, n));
	return 0;
}
