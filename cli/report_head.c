#include "report_head.h"

#define MAX_REASONS	  5
#define MAX_COMMAND_BYTES 100

/* Clocks that count from the start of a machine or of a program are not told from those of the day but by
 * that: before this (in 2001) none of these tools was there. */
#define EARLIEST_UNIX_NS G_GINT64_CONSTANT(1000000000000000000)

gchar *report_head_time(gint64 unix_ns)
{
	g_autoptr(GDateTime) time = unix_ns < EARLIEST_UNIX_NS
					    ? NULL
					    : g_date_time_new_from_unix_utc(unix_ns / 1000000000);

	return time ? g_date_time_format(time, "%Y-%m-%d %H:%M:%S UTC")
		    : g_strdup("at an unknown time");
}

gchar *report_head_duration(gint64 duration_ns)
{
	gint64 seconds = duration_ns / 1000000000;

	if (seconds >= 3600)
		return g_strdup_printf("%d h %d min", (int)(seconds / 3600),
				       (int)(seconds / 60 % 60));
	if (seconds >= 60)
		return g_strdup_printf("%d min %d s", (int)(seconds / 60), (int)(seconds % 60));
	if (duration_ns >= 1000000000)
		return g_strdup_printf("%.1f s", (gdouble)duration_ns / 1e9);
	return g_strdup_printf("%.1f ms", (gdouble)duration_ns / 1e6);
}

void report_head_heading(const gchar *heading, FILE *out, gboolean with_colour)
{
	fprintf(out, "%s%s%s\n", with_colour ? "\033[1m" : "", heading,
		with_colour ? "\033[0m" : "");
}

static const gchar *trust_colour(guint score)
{
	if (score >= 90)
		return "\033[32m";
	return score >= 60 ? "\033[33m" : "\033[31m";
}

static gchar *problem_text(const TachoTable *problems, guint row)
{
	g_autofree gchar *kind =
		g_strdelimit(g_strdup(tacho_table_cell_text(problems, row, "kind")), "_", ' ');
	const gchar *where = tacho_table_cell_text(problems, row, "where");
	g_autofree gchar *clean = tacho_printable(where ? where : "");

	return g_strdup_printf("  %s: %.0f%s%s", kind,
			       tacho_table_cell_number(problems, row, "count"), *clean ? ", " : "",
			       clean);
}

/* Each thing that cannot be known, once. */
static void print_unknown(const TachoTable *missing, FILE *out)
{
	g_autoptr(GHashTable) told = g_hash_table_new(g_str_hash, g_str_equal);

	for (guint i = 0; i < tacho_table_n_rows(missing); i++) {
		const gchar *unknown = tacho_table_cell_text(missing, i, "unknown");

		if (g_hash_table_add(told, (gpointer)unknown))
			fprintf(out, "%s%s",
				g_hash_table_size(told) > 1 ? "; " : "  not known: ", unknown);
	}
	if (g_hash_table_size(told))
		fputs(".\n", out);
}

void report_head_print_trust(const TachoInfo *info, guint max_reasons, const gchar *where,
			     FILE *out, gboolean with_colour)
{
	guint n_problems = tacho_table_n_rows(info->problems);

	fprintf(out, "Trust %s%u of 100%s", with_colour ? trust_colour(info->trust_score) : "",
		info->trust_score, with_colour ? "\033[0m" : "");
	if (info->present_score != info->trust_score)
		fprintf(out, ", %u for what is there alone", info->present_score);
	fprintf(out, "%s\n", n_problems ? ":" : "");
	for (guint i = 0; i < MIN(n_problems, max_reasons); i++) {
		g_autofree gchar *text = problem_text(info->problems, i);

		fprintf(out, "%s\n", text);
	}
	if (n_problems > max_reasons)
		fprintf(out, "  and %u more: see '%s'\n", n_problems - max_reasons, where);
	print_unknown(info->missing, out);
}

static gchar *short_command(const gchar *command)
{
	g_autofree gchar *clean = tacho_printable(command);
	gchar *end;

	if (g_utf8_strlen(clean, -1) <= MAX_COMMAND_BYTES)
		return g_steal_pointer(&clean);
	end = g_utf8_offset_to_pointer(clean, MAX_COMMAND_BYTES - 1);
	return g_strdup_printf("%.*s…", (int)(end - clean), clean);
}

void report_head_print_end(const TachoInfo *info, FILE *out, gboolean with_colour)
{
	if (info->job_end)
		fprintf(out, "%s%s%s\n", with_colour ? "\033[31m" : "", info->job_end,
			with_colour ? "\033[0m" : "");
}

gchar *report_head_title(const TachoInfo *info)
{
	const gchar *path = NULL;

	if (*info->command)
		return short_command(info->command);
	if (tacho_table_n_rows(info->processes) > 0)
		path = tacho_table_cell_text(info->processes, 0, "path");
	return path ? g_path_get_basename(path) : g_strdup("a run");
}

void report_head_print(const TachoInfo *info, FILE *out, gboolean with_colour)
{
	g_autofree gchar *title = report_head_title(info);
	g_autofree gchar *clean = tacho_printable(title);
	g_autofree gchar *time = report_head_time(info->start_unix_ns);
	g_autofree gchar *duration = report_head_duration(info->duration_ns);

	report_head_heading(clean, out, with_colour);
	report_head_print_end(info, out, with_colour);
	fprintf(out, "%u %s on %u %s, %u %s, %s, %s\n", info->n_ranks,
		info->n_ranks == 1 ? "rank" : "ranks", info->n_hosts,
		info->n_hosts == 1 ? "host" : "hosts", info->n_steps,
		info->n_steps == 1 ? "step" : "steps", duration, time);
	report_head_print_trust(info, MAX_REASONS, "tacho info", out, with_colour);
}
