/* boosted_trees: trees that one can compute by hand, what they learn, and that nothing depends on chance; and their file. */
#include "learn/boosted_trees.h"

#include <math.h>
#include <string.h>

#include "base/json_memory.h"
#include "learn/boosted_json.h"

static const gchar *const names[] = { "a", "b" };

/* One split between 1 and 3, whose leaves are sums over counts + 1. */
static void test_one_tree(void)
{
	const gfloat features[] = { 1, 0, 1, 0, 3, 0, 3, 0 };
	const gfloat targets[] = { 2, 4, -3, -3 };
	struct boosting how = {
		.n_trees = 1, .depth = 1, .min_rows = 1, .rate = 1, .shrinkage = 1
	};
	struct boosted_trees trees;

	boosted_trees_init(&trees, 2);
	boosted_trees_fit(&trees, features, targets, 4, &how);
	g_assert_cmpuint(trees.nodes->len, ==, 3);
	g_assert_cmpfloat(g_array_index(trees.nodes, struct tree_node, 0).limit, ==, 2.0f);
	g_assert_cmpfloat_with_epsilon(boosted_trees_value(&trees, features), 6.0 / 3, 1e-6);
	g_assert_cmpfloat_with_epsilon(boosted_trees_value(&trees, features + 4), -6.0 / 3, 1e-6);
	g_assert_true(boosted_trees_check(&trees));
	boosted_trees_release(&trees);
}

static gdouble truth(gdouble a, gdouble b)
{
	return (a < 40 ? 1 : -1) * (b < 70 ? 2 : 0.5) + a / 50;
}

static void fill(gfloat *features, gfloat *targets, guint n)
{
	for (guint i = 0; i < n; i++) {
		features[2 * i] = (gfloat)(i * 37 % 101);
		features[2 * i + 1] = (gfloat)(i * 53 % 103);
		targets[i] = (gfloat)truth(features[2 * i], features[2 * i + 1]);
	}
}

enum { N = 2000 };

static void fit_truth(struct boosted_trees *trees)
{
	g_autofree gfloat *features = g_new(gfloat, 2 * N), *targets = g_new(gfloat, N);
	struct boosting how = {
		.n_trees = 100, .depth = 4, .min_rows = 5, .rate = 0.2, .shrinkage = 1
	};

	fill(features, targets, N);
	boosted_trees_init(trees, 2);
	boosted_trees_fit(trees, features, targets, N, &how);
}

/* What depends on both features together is found, at points that were not among the rows. */
static void test_learns(void)
{
	struct boosted_trees trees;
	gdouble worst = 0;

	fit_truth(&trees);
	for (guint a = 0; a <= 100; a += 7)
		for (guint b = 0; b <= 100; b += 9) {
			const gfloat point[] = { (gfloat)a, (gfloat)b };

			worst = MAX(worst, fabs(boosted_trees_value(&trees, point) - truth(a, b)));
		}
	g_assert_cmpfloat(worst, <, 0.15);
	boosted_trees_release(&trees);
}

static gchar *write_text(const struct boosted_trees *trees)
{
	struct json_memory memory;
	JsonWriter *json = json_memory_begin(&memory);

	boosted_json_write(trees, names, json);
	return json_memory_take(&memory, json);
}

static gboolean read_text(struct boosted_trees *trees, const gchar *text, GError **error)
{
	struct model_reader reader = { .begin = NULL };
	g_autofree gchar *copy = json_scan_copy(&reader.scan, text);
	gboolean is_good;

	reader.begin = copy;
	boosted_trees_init(trees, 2);
	is_good = boosted_json_read(trees, names, &reader);
	g_assert_true(is_good == (reader.error == NULL));
	if (reader.error)
		g_propagate_error(error, reader.error);
	return is_good;
}

static void test_same_again(void)
{
	struct boosted_trees trees, same;
	g_autofree gchar *text = NULL, *other = NULL;

	fit_truth(&trees);
	fit_truth(&same);
	text = write_text(&trees);
	other = write_text(&same);
	g_assert_cmpstr(text, ==, other);
	boosted_trees_release(&trees);
	boosted_trees_release(&same);
}

/* Every value is the same to the last bit, and the text is. */
static void test_file(void)
{
	struct boosted_trees trees, read;
	g_autofree gchar *text = NULL, *again = NULL;
	GError *error = NULL;

	fit_truth(&trees);
	text = write_text(&trees);
	g_assert_true(read_text(&read, text, &error));
	g_assert_no_error(error);
	for (guint i = 0; i < 101; i++) {
		const gfloat point[] = { (gfloat)i, (gfloat)(100 - i) };

		g_assert_cmpfloat(boosted_trees_value(&trees, point), ==,
				  boosted_trees_value(&read, point));
	}
	again = write_text(&read);
	g_assert_cmpstr(text, ==, again);
	boosted_trees_release(&trees);
	boosted_trees_release(&read);
}

#define TREE(left, right, conditions, indices)                                                     \
	"{\"learner\":{\"gradient_booster\":{\"model\":{\"trees\":[{\"left_children\":" left       \
	",\"right_children\":" right ",\"split_conditions\":" conditions                           \
	",\"split_indices\":" indices ",\"default_left\":[1,0,0],\"more\":{\"x\":[1]}}]},"         \
	"\"name\":\"gbtree\"},\"learner_model_param\":{\"base_score\":\"[5E-1]\","                 \
	"\"num_feature\":\"2\"},\"objective\":{\"name\":\"reg:squarederror\"}},\"version\":[2,1,"  \
	"0]}"

/* As XGBoost writes it: with members that nothing is known of, and a sum that begins at 0.5. */
static void test_of_others(void)
{
	struct boosted_trees trees;
	const gfloat low[] = { 1, 0 }, high[] = { 3, 0 }, none[] = { NAN, 0 };

	g_assert_true(read_text(&trees, TREE("[1,-1,-1]", "[2,-1,-1]", "[2.5,0.25,-4]", "[0,0,0]"),
				NULL));
	g_assert_cmpfloat(boosted_trees_value(&trees, low), ==, 0.75);
	g_assert_cmpfloat(boosted_trees_value(&trees, high), ==, -3.5);
	g_assert_cmpfloat(boosted_trees_value(&trees, none), ==, 0.75);
	boosted_trees_release(&trees);
}

static void test_refused(void)
{
	static const gchar *const texts[] = {
		"",
		"[]",
		"{}",
		"{\"learner\":{}}",
		"{\"learner\":",
		TREE("[1,-1,-1]", "[1,-1,-1]", "[2.5,0.25,-4]", "[0,0,0]"), /* both go to one */
		TREE("[1,0,-1]", "[2,2,-1]", "[2.5,0.25,-4]", "[0,0,0]"),   /* round */
		TREE("[1,-1,-1]", "[3,-1,-1]", "[2.5,0.25,-4]", "[0,0,0]"), /* nowhere */
		TREE("[1,-1,-1]", "[2,-1,-1]", "[2.5,0.25]", "[0,0,0]"),
		TREE("[1,-1,-1]", "[2,-1,-1]", "[2.5,0.25,-4]", "[2,0,0]"),
		TREE("[1.5,-1,-1]", "[2,-1,-1]", "[2.5,0.25,-4]", "[0,0,0]"),
		TREE("[1,-1,-1]", "[2,-1,-1]", "[2.5,1e300,-4]", "[0,0,0]"),
		TREE("[]", "[]", "[]", "[]"),
	};

	for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
		struct boosted_trees trees;
		g_autoptr(GError) error = NULL;

		if (read_text(&trees, texts[i], &error))
			g_error("text %u is taken", i);
		boosted_trees_release(&trees);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/boosted_trees/one_tree", test_one_tree);
	g_test_add_func("/boosted_trees/learns", test_learns);
	g_test_add_func("/boosted_trees/same_again", test_same_again);
	g_test_add_func("/boosted_trees/file", test_file);
	g_test_add_func("/boosted_trees/of_others", test_of_others);
	g_test_add_func("/boosted_trees/refused", test_refused);
	return g_test_run();
}
