/* Values of checkpoints that TensorFlow wrote (tf.raw_ops.SaveV2; tf.compat.v1.train.Saver with its first format), whole
 * and damaged. */
#include <glib/gstdio.h>
#include <string.h>

#include "foreign_traces.h"
#include "import/read/sorted_table.h"
#include "import/tensorflow/tensor_bundle.h"

static const gchar prefix[] = TACHO_TEST_DATA "/tensorflow/checkpoint/model.ckpt-100";
static const gchar first_format[] = TACHO_TEST_DATA "/tensorflow/checkpoint_v1/";

static void assert_values(const tensor_bundle *bundle, const gchar *name, guint max_values,
			  const gchar *expected)
{
	g_autofree gchar *values = tensor_bundle_values(bundle, name, max_values);

	g_assert_cmpstr(values, ==, expected);
	g_assert_cmpint(tensor_bundle_has(bundle, name), ==, expected != NULL);
}

static void test_values(void)
{
	g_autoptr(GError) error = NULL;
	tensor_bundle *bundle = tensor_bundle_open(prefix, &error);

	g_assert_no_error(error);
	assert_values(bundle, "w", 100,
		      "[0.00 0.25 0.50 0.75 1.00 1.25 1.50 1.75 2.00 2.25 2.50 2.75]");
	assert_values(bundle, "w", 3, "[0.00 0.25 0.50 ...]");
	assert_values(bundle, "layer/kernel", 100, "[1.50 -2.25]");
	assert_values(bundle, "step", 100, "[100.00]");
	assert_values(bundle, "half", 2, "[0.50 65504.00 ...]");
	assert_values(bundle, "brain", 100, "[1.00 -3.00]");
	assert_values(bundle, "flag", 100, "[1.00 0.00]");
	assert_values(bundle, "model/bias", 100, "[7.00 -8.00]");
	assert_values(bundle, "word", 100, "(values of a type that tacho does not print)");
	assert_values(bundle, "nobody", 100, NULL);
	tensor_bundle_close(bundle);
}

/* One file, one whose blocks Snappy's own library compressed, and one by its shards. */
static void test_first_format(void)
{
	static const gchar *const names[] = { "model.ckpt-100", "snappy.ckpt-100",
					      "sharded.ckpt-100" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *path = g_strconcat(first_format, names[i], NULL);
		g_autoptr(GError) error = NULL;
		tensor_bundle *bundle = tensor_bundle_open(path, &error);

		g_assert_no_error(error);
		assert_values(bundle, "w", 100,
			      "[0.00 0.25 0.50 0.75 1.00 1.25 1.50 1.75 2.00 2.25 2.50 2.75]");
		assert_values(bundle, "w", 3, "[0.00 0.25 0.50 ...]");
		assert_values(bundle, "layer/kernel", 100, "[1.50 -2.25]");
		assert_values(bundle, "step", 100, "[100.00]");
		assert_values(bundle, "half", 100, "[0.50 65504.00 2.00]");
		assert_values(bundle, "flag", 100, "[1.00 0.00]");
		assert_values(bundle, "small", 100, "[-7.00 7.00]");
		assert_values(bundle, "byte", 100, "[200.00 3.00]");
		assert_values(bundle, "big", 2, "[0.00 1.00 ...]");
		assert_values(bundle, "word", 100, "(values of a type that tacho does not print)");
		assert_values(bundle, "part", 100, "(values in slices, which tacho does not join)");
		assert_values(bundle, "nobody", 100, NULL);
		tensor_bundle_close(bundle);
	}
}

/* How many bytes of the file its first checksum is of, which stands behind them. */
static gsize find_block(const gchar *text, gsize n)
{
	guint32 checksum;

	for (gsize size = 1; size + sizeof(checksum) <= n; size++) {
		memcpy(&checksum, text + size, sizeof(checksum));
		if (sorted_table_checksum((const guint8 *)text, size) == GUINT32_FROM_LE(checksum))
			return size;
	}
	g_assert_not_reached();
}

/* Values of 16 bits in a tensor that says it is of 64: no more is read than there is. */
static void test_half_in_wide(void)
{
	static const gchar half[] = "half\x12\x04\x12\x02\x08\x03\x18\x13"; /* of 3, DT_HALF */
	g_autofree gchar *source = g_strconcat(first_format, "model.ckpt-100", NULL);
	g_autofree gchar *folder = g_dir_make_tmp("tacho-test-XXXXXX", NULL);
	g_autofree gchar *path = g_build_filename(folder, "model.ckpt-100", NULL);
	g_autofree gchar *text = NULL;
	g_autoptr(GError) error = NULL;
	tensor_bundle *bundle;
	gchar *found = NULL;
	guint32 checksum;
	gsize n, block;

	g_assert_true(g_file_get_contents(source, &text, &n, NULL));
	for (gsize i = 0; i + strlen(half) <= n && !found; i++)
		if (memcmp(text + i, half, strlen(half)) == 0)
			found = text + i;
	g_assert_nonnull(found);
	block = find_block(text, n);
	found[strlen(half) - 1] = 23; /* DT_UINT64 */
	checksum = GUINT32_TO_LE(sorted_table_checksum((const guint8 *)text, block));
	memcpy(text + block, &checksum, sizeof(checksum));
	g_assert_true(g_file_set_contents(path, text, (gssize)n, NULL));
	bundle = tensor_bundle_open(path, &error);
	g_assert_no_error(error);
	assert_values(bundle, "half", 100, "[14336.00 31743.00 16384.00]");
	tensor_bundle_close(bundle);
	g_unlink(path);
	g_rmdir(folder);
}

/* Neither an index nor a file of that name. */
static void test_absent(void)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(tensor_bundle_open("/nowhere/model.ckpt-100", &error));
	g_assert_nonnull(strstr(error->message, "neither /nowhere/model.ckpt-100.index"));
}

static guint damage(const gchar *source, const gchar *copy)
{
	g_autofree gchar *text = NULL;
	guint n_refused = 0;
	gsize n;

	g_assert_true(g_file_get_contents(source, &text, &n, NULL));
	for (gsize i = 0; i < 2 * n; i++) {
		g_autofree gchar *broken = g_memdup2(text, n);
		g_autoptr(GError) error = NULL;
		tensor_bundle *bundle;

		broken[i % n] ^= (gchar)(1 << i % 8);
		g_assert_true(g_file_set_contents(copy, broken, (gssize)(i < n ? n : i - n), NULL));
		bundle = tensor_bundle_open(copy, &error);
		if (!bundle) {
			g_assert_nonnull(strstr(error->message, copy));
			n_refused++;
			continue;
		}
		g_free(tensor_bundle_values(bundle, "w", 100));
		tensor_bundle_close(bundle);
	}
	return n_refused;
}

/* Every byte of the first format's files changed, and the files cut off anywhere. */
static void test_damaged_first(void)
{
	static const gchar *const names[] = { "model.ckpt-100", "snappy.ckpt-100" };

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *source = g_strconcat(first_format, names[i], NULL);
		gchar *copy = foreign_write("x", "", 0);

		g_assert_cmpuint(damage(source, copy), >, 3000);
		foreign_remove(copy);
	}
}

/* Every byte of the index changed, and the index cut off anywhere: an error that names the file, or what is still right. */
static void test_damaged(void)
{
	g_autofree gchar *source = g_strconcat(prefix, ".index", NULL);
	gchar *copy = foreign_write("x.index", "", 0);
	GStatBuf status;

	g_assert_cmpint(g_stat(source, &status), ==, 0);
	/* the footer, and what is of the table alone, are not all read */
	g_assert_cmpuint(damage(source, copy), >, 2 * (guint)status.st_size - 60);
	foreign_remove(copy);
}

/* Values that are not there, or not what they were. */
static void test_damaged_values(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-bundle-XXXXXX", NULL);
	g_autofree gchar *index = g_build_filename(folder, "x.index", NULL);
	g_autofree gchar *data = g_build_filename(folder, "x.data-00000-of-00001", NULL);
	g_autofree gchar *source = g_strconcat(prefix, ".index", NULL);
	g_autofree gchar *values = g_strconcat(prefix, ".data-00000-of-00001", NULL);
	g_autofree gchar *text = NULL, *bytes = NULL, *said = NULL;
	tensor_bundle *bundle;
	gsize n, n_bytes;

	g_assert_true(g_file_get_contents(source, &text, &n, NULL));
	g_assert_true(g_file_get_contents(values, &bytes, &n_bytes, NULL));
	g_assert_true(g_file_set_contents(index, text, (gssize)n, NULL));
	bundle = tensor_bundle_open(index, NULL);
	said = tensor_bundle_values(bundle, "w", 100);
	g_assert_nonnull(strstr(said, "cannot be read"));
	for (gsize i = 0; i < n_bytes; i++)
		bytes[i] ^= 1;
	g_assert_true(g_file_set_contents(data, bytes, (gssize)n_bytes, NULL));
	assert_values(bundle, "w", 100, "(the values do not match their checksum)");
	tensor_bundle_close(bundle);
	g_unlink(index);
	g_unlink(data);
	g_rmdir(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tensor-bundle/values", test_values);
	g_test_add_func("/tensor-bundle/first-format", test_first_format);
	g_test_add_func("/tensor-bundle/half-in-wide", test_half_in_wide);
	g_test_add_func("/tensor-bundle/absent", test_absent);
	g_test_add_func("/tensor-bundle/damaged", test_damaged);
	g_test_add_func("/tensor-bundle/damaged-first", test_damaged_first);
	g_test_add_func("/tensor-bundle/damaged-values", test_damaged_values);
	return g_test_run();
}
