#include <tacho/table.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/table_internal.h"

static const TachoColumn columns[] = {
	{ .key = "name", .title = "name", .type = TACHO_COLUMN_TEXT, .is_flexible = TRUE },
	{ .key = "count", .title = "count", .type = TACHO_COLUMN_INTEGER },
	{ .key = "total_ms", .title = "ms", .type = TACHO_COLUMN_NUMBER, .decimals = 2 },
	{ .key = "share_pct",
	  .title = "%",
	  .type = TACHO_COLUMN_NUMBER,
	  .decimals = 1,
	  .is_share = TRUE },
	{ .key = "secret", .title = "secret", .type = TACHO_COLUMN_BOOLEAN, .is_json_only = TRUE },
};

static void add(TachoTable *table, const gchar *name, gint64 count, gdouble total_ms, gdouble share)
{
	tacho_table_row(table);
	tacho_table_text(table, name);
	tacho_table_integer(table, count);
	tacho_table_number(table, total_ms);
	tacho_table_number(table, share);
	tacho_table_boolean(table, TRUE);
}

static TachoTable *sample(void)
{
	TachoTable *table = tacho_table_new("op", columns, G_N_ELEMENTS(columns));

	add(table, "aten::mm", 1234567, 1234.5678, 45);
	add(table, "aten::a_rather_long_name_of_an_op", -5, 0.004, 0.25);
	add(table, NULL, 7, (gdouble)NAN, 12);
	return table;
}

static gchar *print(const TachoTable *table, guint width, gboolean with_colour)
{
	gchar *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	tacho_table_print(table, out, width, with_colour);
	fclose(out);
	return text;
}

static void test_text(void)
{
	g_autoptr(TachoTable) table = sample();
	g_autofree gchar *text = NULL;

	tacho_table_note(table, "A note of %d words.", 4);
	text = print(table, 0, FALSE);
	g_assert_cmpstr(text, ==,
			"name                                   count        ms     %\n"
			"aten::mm                           1,234,567  1,234.57  45.0\n"
			"aten::a_rather_long_name_of_an_op         -5      0.00   0.2\n"
			"-                                          7         -  12.0\n"
			"A note of 4 words.\n");
}

static void test_any_size(void)
{
	static const TachoColumn any_size[] = {
		{ .key = "v", .title = "v", .type = TACHO_COLUMN_NUMBER, .is_any_size = TRUE },
	};
	static const gdouble values[] = { 0,	      65536,	 -12.5, 1234567.25, 1.0 / 3000,
					  99.9999999, 1234.5678, 2e-12, 1e20 };
	g_autoptr(TachoTable) table = tacho_table_new("values", any_size, 1);
	g_autofree gchar *text = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(values); i++) {
		tacho_table_row(table);
		tacho_table_number(table, values[i]);
	}
	text = print(table, 0, FALSE);
	g_assert_cmpstr(text, ==,
			"          v\n"
			"          0\n"
			"     65,536\n"
			"      -12.5\n"
			"  1,234,567\n"
			"0.000333333\n"
			"        100\n"
			"   1,234.57\n"
			"      2e-12\n"
			"      1e+20\n");
}

static void test_cut(void)
{
	g_autoptr(TachoTable) table = sample();
	g_autofree gchar *text = print(table, 53, FALSE);

	g_assert_cmpstr(text, ==,
			"name                            count        ms     %\n"
			"aten::mm                    1,234,567  1,234.57  45.0\n"
			"aten::a_rather_long_name_…         -5      0.00   0.2\n"
			"-                                   7         -  12.0\n");
}

static void test_columns_left_out(void)
{
	g_autoptr(TachoTable) table = sample();
	g_autofree gchar *some = print(table, 40, FALSE);
	g_autofree gchar *few = print(table, 12, FALSE);

	g_assert_cmpstr(some, ==,
			"name                            count\n"
			"aten::mm                    1,234,567\n"
			"aten::a_rather_long_name_…         -5\n"
			"-                                   7\n"
			"No room for: ms, %\n");
	g_assert_cmpstr(few, ==,
			"name\n"
			"aten::mm\n"
			"aten::a_rat…\n"
			"-\n"
			"No room for:\n"
			"  count, ms,\n"
			"  %\n");
}

static void test_wide_characters(void)
{
	g_autoptr(TachoTable) table = tacho_table_new("op", columns, G_N_ELEMENTS(columns));
	g_autofree gchar *text = NULL;

	add(table, "卷积", 1, 1, 1);
	add(table, "abcd", 1, 1, 1);
	add(table, "e\xcc\x81", 1, 1, 1); /* e and a combining accent: one column */
	text = print(table, 0, FALSE);
	g_assert_cmpstr(text, ==,
			"name  count    ms    %\n"
			"卷积      1  1.00  1.0\n"
			"abcd      1  1.00  1.0\n"
			"e\xcc\x81         1  1.00  1.0\n");
}

static void test_cut_wide(void)
{
	g_autofree gchar *odd = table_text_cut("卷积层", 4);
	g_autofree gchar *whole = table_text_cut("卷积", 4);

	g_assert_cmpstr(odd, ==, "卷…"); /* half a character does not exist */
	g_assert_cmpstr(whole, ==, "卷积");
}

static void test_hostile_text(void)
{
	g_autofree gchar *escape = table_text_clean("\x1b[2Jx\ny");
	g_autofree gchar *c1 = table_text_clean("\xc2\x9b"
						"31m");
	g_autofree gchar *bidi = table_text_clean("\xe2\x80\xaex");
	g_autofree gchar *broken = table_text_clean("a\xff\xc3");

	g_assert_cmpstr(escape, ==, "�[2Jx�y");
	g_assert_cmpstr(c1, ==, "�31m");
	g_assert_cmpstr(bidi, ==, "�x");
	g_assert_cmpstr(broken, ==, "a��");
}

static void test_colour(void)
{
	g_autoptr(TachoTable) table = sample();
	g_autofree gchar *text = print(table, 0, TRUE);

	g_assert_nonnull(strstr(text, "\033[1mname\033[0m"));
	g_assert_nonnull(strstr(text, "\033[31m45.0\033[0m"));
	g_assert_nonnull(strstr(text, "\033[33m12.0\033[0m"));
}

static void test_json(void)
{
	g_autoptr(TachoTable) table = sample();
	const TachoTable *tables[] = { table };
	JsonWriter *writer;
	gchar *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	tacho_table_limit(table, 1);
	tacho_table_print_json(table, out);
	writer = json_writer_new(out);
	json_writer_begin_object(writer);
	table_write_json_members(tables, 1, writer);
	json_writer_end_object(writer);
	json_writer_finish(writer);
	json_writer_free(writer);
	fclose(out);
	g_assert_cmpstr(
		text, ==,
		"[\n\t{\"name\":\"aten::mm\",\"count\":1234567,\"total_ms\":1234.5678,"
		"\"share_pct\":45,\"secret\":true}\n]\n"
		"{\n\t\"op\":[\n\t\t{\"name\":\"aten::mm\",\"count\":1234567,"
		"\"total_ms\":1234.5678,\"share_pct\":45,\"secret\":true}\n\t],\n"
		"\t\"notes\":{\n\t\t\"op\":[\"2 more rows are not shown (--all shows every row).\"]"
		"\n\t}}\n");
	free(text);
}

static void test_json_nulls(void)
{
	g_autoptr(TachoTable) table = tacho_table_new("op", columns, G_N_ELEMENTS(columns));
	gchar *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	tacho_table_print_json(table, out);
	tacho_table_row(table);
	tacho_table_text(table, "x");
	tacho_table_null(table);
	tacho_table_number(table, (gdouble)INFINITY);
	tacho_table_print_json(table, out);
	fclose(out);
	g_assert_cmpstr(text, ==,
			"[]\n[\n\t{\"name\":\"x\",\"count\":null,\"total_ms\":null,"
			"\"share_pct\":null,\"secret\":null}\n]\n");
	free(text);
}

static void test_sort(void)
{
	g_autoptr(TachoTable) table = sample();

	add(table, "b", 7, 2, 12);
	g_assert_false(tacho_table_sort(table, "nothing", FALSE));
	g_assert_true(tacho_table_sort(table, "total_ms", TRUE));
	g_assert_cmpstr(tacho_table_cell_text(table, 0, "name"), ==, "aten::mm");
	g_assert_cmpstr(tacho_table_cell_text(table, 1, "name"), ==, "b");
	g_assert_true(isnan(tacho_table_cell_number(table, 3, "total_ms")));
	g_assert_true(tacho_table_sort(table, "total_ms", FALSE));
	g_assert_cmpfloat(tacho_table_cell_number(table, 0, "total_ms"), ==, 0.004);
	g_assert_true(isnan(tacho_table_cell_number(table, 3, "total_ms"))); /* nulls stay last */
	g_assert_true(tacho_table_sort(table, "name", FALSE));
	g_assert_cmpstr(tacho_table_cell_text(table, 2, "name"), ==, "b");
	g_assert_null(tacho_table_cell_text(table, 3, "name"));
}

static void test_sort_is_stable(void)
{
	g_autoptr(TachoTable) table = tacho_table_new("op", columns, G_N_ELEMENTS(columns));

	for (gint64 i = 0; i < 100; i++)
		add(table, "x", i, (gdouble)(i % 3), 0);
	g_assert_true(tacho_table_sort(table, "total_ms", TRUE));
	for (guint i = 1; i < 100; i++)
		if (tacho_table_cell_number(table, i, "total_ms") ==
		    tacho_table_cell_number(table, i - 1, "total_ms"))
			g_assert_cmpfloat(tacho_table_cell_number(table, i, "count"), >,
					  tacho_table_cell_number(table, i - 1, "count"));
}

static const TachoColumn symbol_columns[] = {
	{ .key = "name",
	  .title = "name",
	  .type = TACHO_COLUMN_TEXT,
	  .is_flexible = TRUE,
	  .is_symbol = TRUE },
};

/* Names that differ at their begin, middle and end, in a multi-byte character, and by little: whatever the width,
 * no two rows are the same, and none is wider. */
static void test_names(void)
{
	static const gchar *const names[] = {
		"void a::kernel<float, 1, 2, 3>(int)",
		"void a::kernel<double, 1, 2, 3>(int)",
		"void b::kernel<float, 1, 2, 3>(int)",
		"gemm_128x128_32x6_nn_align4_stage3_long_enough_to_be_cut",
		"gemm_128x128_32x5_nn_align4_stage3_long_enough_to_be_cut",
		"gemm_128x256_32x5_nn_align4_stage3_long_enough_to_be_cut",
		"gemm_128x256_32x5_nn_align4_stage4_long_enough_to_be_cut",
		"\303\244gemm_128x256_32x5_\303\244\303\266_align4_stage4_long_enough_to_be_cut",
		"\303\244gemm_128x256_32x5_\303\266\303\244_align4_stage4_long_enough_to_be_cut",
	};
	g_autoptr(TachoTable) table =
		tacho_table_new("kernel", symbol_columns, G_N_ELEMENTS(symbol_columns));

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		tacho_table_row(table);
		tacho_table_text(table, names[i]);
	}
	for (guint width = 8; width < 70; width++) {
		g_autofree gchar *text = print(table, width, FALSE);
		g_auto(GStrv) lines = g_strsplit(g_strchomp(text), "\n", -1);
		g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

		g_assert_cmpuint(g_strv_length(lines), ==, 1 + G_N_ELEMENTS(names));
		for (guint i = 0; lines[i]; i++) {
			g_assert_true(g_utf8_validate(lines[i], -1, NULL));
			g_assert_cmpuint(table_text_width(lines[i]), <=, width);
			g_assert_true(g_hash_table_add(seen, lines[i]));
		}
	}
	tacho_table_keep_names(table);
	{
		g_autofree gchar *whole = print(table, 0, FALSE);

		for (guint i = 0; i < G_N_ELEMENTS(names); i++)
			g_assert_nonnull(strstr(whole, names[i]));
	}
}

/* Where their differences do not tell two names apart, numbers do: from 1 on, and the same for the same name. */
static void test_numbered_names(void)
{
	static const gchar *const names[] = {
		"headerammmmmmmmmmmmmmmmmmmmtail",
		"headerbmmmmmmmmmmmm1mmmmmmmtail",
		"headerbmmmmmmmmmmmm2mmmmmmmtail",
		"headerbmmmmmmmmmmmm1mmmmmmmtail",
	};
	g_autoptr(TachoTable) table =
		tacho_table_new("kernel", symbol_columns, G_N_ELEMENTS(symbol_columns));
	g_autofree gchar *text = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		tacho_table_row(table);
		tacho_table_text(table, names[i]);
	}
	text = print(table, 12, FALSE);
	g_assert_cmpstr(text, ==,
			"name\n"
			"head…ammmmm…\n"
			"headerbmm…~1\n"
			"headerbmm…~2\n"
			"headerbmm…~1\n");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/table/text", test_text);
	g_test_add_func("/table/any_size", test_any_size);
	g_test_add_func("/table/cut", test_cut);
	g_test_add_func("/table/columns_left_out", test_columns_left_out);
	g_test_add_func("/table/wide_characters", test_wide_characters);
	g_test_add_func("/table/cut_wide", test_cut_wide);
	g_test_add_func("/table/hostile_text", test_hostile_text);
	g_test_add_func("/table/colour", test_colour);
	g_test_add_func("/table/json", test_json);
	g_test_add_func("/table/json_nulls", test_json_nulls);
	g_test_add_func("/table/sort", test_sort);
	g_test_add_func("/table/sort_is_stable", test_sort_is_stable);
	g_test_add_func("/table/names", test_names);
	g_test_add_func("/table/numbered_names", test_numbered_names);
	return g_test_run();
}
