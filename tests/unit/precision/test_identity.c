/* precision.json of a run, and what is wrong with others. */
#include <string.h>

#include "precision/identity.h"

static const gchar whole[] =
	"{\"tacho_precision_run\": 1, \"precision\": \"bf16\", \"later\": [1, {\"a\": 2}],\n"
	" \"roots\": [{\"name\": \"\", \"kind\": \"Net\"}, {\"name\": \"Critic\", \"kind\": "
	"\"Critic\"}],\n"
	" \"operations\": [\n"
	"  {\"module\": \"\", \"kind\": \"input\", \"ordinal\": 0, \"elements_out\": 64, "
	"\"allowed\": [\"fp32\"]},\n"
	"  {\"module\": \"a.b\", \"kind\": \"linear\", \"ordinal\": 0, \"calls\": 2, "
	"\"elements_in\": 64,\n"
	"   \"elements_out\": 128, \"weight\": 32, \"allowed\": [\"fp32\", \"bf16\"], \"inputs\": "
	"[[0, 64], [null, 3]]},\n"
	"  {\"module\": \"a.b\", \"kind\": \"add\", \"ordinal\": 0, \"inputs\": [[1, 128], [-1, "
	"128]]},\n"
	"  {\"module\": \"a\", \"kind\": \"gelu\", \"ordinal\": 1, \"rule\": \"fixed\", "
	"\"allowed\": [\"fp32\"]}]}";

static void test_whole(void)
{
	g_autoptr(identity) identity = identity_parse(whole, strlen(whole), NULL);
	const struct identity_operation *linear;

	g_assert_nonnull(identity);
	g_assert_cmpint(identity->format, ==, FORMAT_BF16);
	g_assert_cmpuint(identity->operations->len, ==, 4);
	g_assert_true(identity_is_border(identity_at(identity, 0)));
	linear = identity_at(identity, 1);
	g_assert_cmpstr(linear->module, ==, "a.b");
	g_assert_cmpstr(linear->kind, ==, "linear");
	g_assert_cmpint(linear->rule, ==, PRECISION_CHOSEN);
	g_assert_cmpuint(linear->n_calls, ==, 2);
	g_assert_cmpfloat(linear->weight, ==, 32);
	g_assert_cmpuint(linear->n_inputs, ==, 2);
	g_assert_cmpuint(identity_input_at(identity, linear->first_input)->producer, ==, 0);
	g_assert_cmpuint(identity_input_at(identity, linear->first_input + 1)->producer, ==,
			 IDENTITY_OUTSIDE);
	g_assert_cmpint(identity_at(identity, 2)->rule, ==, PRECISION_PROMOTED);
	g_assert_cmpint(identity_at(identity, 3)->rule, ==, PRECISION_FIXED);
	g_assert_cmpuint(identity_at(identity, 3)->ordinal, ==, 1);
	g_assert_cmpstr(g_hash_table_lookup(identity->roots, "Critic"), ==, "Critic");
}

#define OPERATIONS(text) "{\"tacho_precision_run\": 1, \"operations\": [" text "]}"
#define LINEAR		 "{\"module\": \"a\", \"kind\": \"linear\", \"ordinal\": 0}"

static void assert_refused(const gchar *text, gint code, const gchar *reason)
{
	g_autoptr(GError) error = NULL;

	g_assert_null(identity_parse(text, strlen(text), &error));
	g_assert_error(error, TACHO_PRECISION_ERROR, code);
	if (!strstr(error->message, reason))
		g_error("'%s' is not in '%s'", reason, error->message);
}

static void test_refused(void)
{
	static const struct {
		const gchar *text, *reason;
	} wrong[] = {
		{ "", "not an object" },
		{ "[]", "not an object" },
		{ "{}", "'tacho_precision_run' is missing" },
		{ "{\"tacho_precision_run\": 1, \"a\"", "ends within the file" },
		{ "{\"tacho_precision_run\": 1, \"precision\": \"fp5\"}", "no format" },
		{ "{\"tacho_precision_run\": 1, \"operations\": 3}", "not a list" },
		{ OPERATIONS("3"), "not an object" },
		{ OPERATIONS("{\"module\": \"a\"}"), "'kind' is missing" },
		{ OPERATIONS(LINEAR ", " LINEAR), "stands twice" },
		{ OPERATIONS("{\"kind\": \"x\", \"kind\": \"y\"}"), "'kind' stands twice" },
		{ OPERATIONS("{\"module\": \"a\", \"kind\": \"x\", \"inputs\": [[0, 1]]}"),
		  "before this one" },
		{ OPERATIONS("{\"module\": \"a\", \"kind\": \"x\", \"weight\": -1}"),
		  "whole number" },
		{ OPERATIONS("{\"module\": \"a\", \"kind\": \"x\", \"weight\": 1e300}"),
		  "whole number" },
		{ OPERATIONS("{\"module\": \"a\", \"kind\": \"x\", \"allowed\": [\"fp5\"]}"),
		  "not known" },
		{ OPERATIONS("{\"module\": \"a\", \"kind\": \"x\", \"rule\": \"any\"}"), "'rule'" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(wrong); i++)
		assert_refused(wrong[i].text, TACHO_PRECISION_ERROR_FORMAT, wrong[i].reason);
	assert_refused("{\"tacho_precision_run\": 2}", TACHO_PRECISION_ERROR_VERSION, "version 2");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/identity/whole", test_whole);
	g_test_add_func("/identity/refused", test_refused);
	return g_test_run();
}
