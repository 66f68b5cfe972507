/* Values of a checkpoint that TensorFlow wrote (tf.raw_ops.SaveV2), whole and damaged. */
#include <glib/gstdio.h>
#include <string.h>

#include "foreign_traces.h"
#include "import/tensor_bundle.h"

static const gchar prefix[] = TACHO_TEST_DATA "/tensorflow/checkpoint/model.ckpt-100";

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
	assert_values(bundle, "word", 100, "(values of a type that is not printed)");
	assert_values(bundle, "nobody", 100, NULL);
	tensor_bundle_close(bundle);
}

/* Every byte of the index changed, and the index cut off anywhere: an error that names the file, or what is still right. */
static void test_damaged(void)
{
	g_autofree gchar *folder = g_dir_make_tmp("tacho-bundle-XXXXXX", NULL);
	g_autofree gchar *index = g_build_filename(folder, "x.index", NULL);
	g_autofree gchar *source = g_strconcat(prefix, ".index", NULL);
	g_autofree gchar *text = NULL;
	gsize n;
	guint n_refused = 0;

	g_assert_true(g_file_get_contents(source, &text, &n, NULL));
	for (gsize i = 0; i < 2 * n; i++) {
		g_autofree gchar *broken = g_memdup2(text, n);
		g_autoptr(GError) error = NULL;
		tensor_bundle *bundle;

		broken[i % n] ^= (gchar)(1 << i % 8);
		g_assert_true(
			g_file_set_contents(index, broken, (gssize)(i < n ? n : i - n), NULL));
		bundle = tensor_bundle_open(index, &error);
		if (!bundle) {
			g_assert_nonnull(strstr(error->message, "x.index"));
			n_refused++;
			continue;
		}
		g_free(tensor_bundle_values(bundle, "w", 100));
		tensor_bundle_close(bundle);
	}
	g_assert_cmpuint(
		n_refused, >,
		2 * n - 60); /* the footer, and what is of the table alone, are not all read */
	g_unlink(index);
	g_rmdir(folder);
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
	assert_values(bundle, "w", 100, "(values that are not what their checksum says)");
	tensor_bundle_close(bundle);
	g_unlink(index);
	g_unlink(data);
	g_rmdir(folder);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/tensor-bundle/values", test_values);
	g_test_add_func("/tensor-bundle/damaged", test_damaged);
	g_test_add_func("/tensor-bundle/damaged-values", test_damaged_values);
	return g_test_run();
}
