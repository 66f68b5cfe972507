#include "diagnosis.h"

#include <stdio.h>

#include <tacho/table.h>

#include "base/for_each.h"
#include "cli.h"
#include "report_head.h"

typedef struct {
	const gchar *area;
	gchar *subject, *found, *advice;
	FindingState state;
} Finding;

struct _Diagnosis {
	GArray *findings;
	const gchar *area;
};

static const struct {
	const gchar *name, *colour;
} states[] = {
	[FINDING_WORKS] = { "works", "\033[32m" },
	[FINDING_ABSENT] = { "absent", "\033[2m" },
	[FINDING_PARTLY] = { "partly", "\033[33m" },
	[FINDING_FAILS] = { "fails", "\033[31m" },
};

static const TachoColumn columns[] = {
	{ .key = "area", .title = "area", .type = TACHO_COLUMN_TEXT },
	{ .key = "subject", .title = "subject", .type = TACHO_COLUMN_TEXT },
	{ .key = "state", .title = "state", .type = TACHO_COLUMN_TEXT },
	{ .key = "found", .title = "found", .type = TACHO_COLUMN_TEXT },
	{ .key = "advice", .title = "advice", .type = TACHO_COLUMN_TEXT },
};

static void clear_finding(gpointer finding_pointer)
{
	Finding *finding = finding_pointer;

	g_free(finding->subject);
	g_free(finding->found);
	g_free(finding->advice);
}

Diagnosis *diagnosis_new(void)
{
	Diagnosis *diagnosis = g_new0(Diagnosis, 1);

	diagnosis->findings = g_array_new(FALSE, FALSE, sizeof(Finding));
	g_array_set_clear_func(diagnosis->findings, clear_finding);
	diagnosis->area = "";
	return diagnosis;
}

void diagnosis_free(Diagnosis *diagnosis)
{
	if (!diagnosis)
		return;
	g_array_unref(diagnosis->findings);
	g_free(diagnosis);
}

void diagnosis_area(Diagnosis *diagnosis, const gchar *area)
{
	diagnosis->area = area;
}

void diagnosis_add(Diagnosis *diagnosis, const gchar *subject, FindingState state, gchar *found,
		   gchar *advice)
{
	Finding finding = { .area = diagnosis->area,
			    .subject = g_strdup(subject),
			    .found = found,
			    .advice = advice,
			    .state = state };

	g_array_append_val(diagnosis->findings, finding);
}

guint diagnosis_count(const Diagnosis *diagnosis, FindingState state)
{
	guint n = 0;

	FOR_EACH(const Finding, finding, diagnosis->findings)
		n += finding->state == state;
	return n;
}

/* What other programs said may stand in it. */
static void print_finding(const Finding *finding, int width, gboolean with_colour)
{
	g_autofree gchar *found = tacho_printable(finding->found);
	g_autofree gchar *advice = finding->advice ? tacho_printable(finding->advice) : NULL;

	printf("  %s%-6s%s  %-*s  %s\n", with_colour ? states[finding->state].colour : "",
	       states[finding->state].name, with_colour ? "\033[0m" : "", width, finding->subject,
	       found);
	if (advice)
		printf("  %-6s  %-*s  -> %s\n", "", width, "", advice);
}

void diagnosis_print(const Diagnosis *diagnosis)
{
	gboolean with_colour = cli_has_colour(stdout);
	const gchar *area = NULL;
	int width = 0;

	FOR_EACH(const Finding, finding, diagnosis->findings)
		width = MAX(width, (int)g_utf8_strlen(finding->subject, -1));
	FOR_EACH(const Finding, finding, diagnosis->findings) {
		if (finding->area != area) {
			if (area)
				putchar('\n');
			report_head_heading(finding->area, stdout, with_colour);
		}
		area = finding->area;
		print_finding(finding, width, with_colour);
	}
}

void diagnosis_print_json(const Diagnosis *diagnosis)
{
	g_autoptr(TachoTable) table = tacho_table_new("findings", columns, G_N_ELEMENTS(columns));

	FOR_EACH(const Finding, finding, diagnosis->findings) {
		tacho_table_row(table);
		tacho_table_text(table, finding->area);
		tacho_table_text(table, finding->subject);
		tacho_table_text(table, states[finding->state].name);
		tacho_table_text(table, finding->found);
		tacho_table_text(table, finding->advice);
	}
	tacho_table_print_json(table, stdout);
}
