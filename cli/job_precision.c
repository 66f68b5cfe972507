#include "job_precision.h"

#include <tacho/words.h>

#include "cli.h"
#include "interpreter.h"

enum { N_STATISTICS_STEPS = 8, MAX_PROBES = 1024 };

static gboolean is_known(const gchar *name)
{
	static const gchar *const names[] = { "fp32", "tf32", "bf16", "fp16", "int8", NULL };
	g_autofree gchar *there = NULL;

	if (g_strv_contains(names, name))
		return TRUE;
	there = tacho_did_you_mean(name, names);
	cli_fail("record", "--precision is fp32, tf32, bf16, fp16 or int8, not '%s'%s", name,
		 there);
	return FALSE;
}

static gboolean is_in_range(const gchar *option, gint value, gint most)
{
	if (value >= 0 && value <= most)
		return TRUE;
	cli_fail("record", "%s must be from 0 to %d, not %d", option, most, value);
	return FALSE;
}

gboolean job_precision_check(struct job_precision *precision, gchar **command)
{
	g_autofree gchar *why_not = NULL;

	if (!is_in_range("--precision-hessian", precision->n_probes, MAX_PROBES) ||
	    !is_in_range("--precision-direct", precision->n_direct, N_STATISTICS_STEPS))
		return FALSE;
	precision->has_statistics |= precision->n_probes > 0 || precision->n_direct > 0;
	if (precision->has_statistics && !precision->name)
		precision->name = g_strdup("fp32");
	if (!precision->name)
		return TRUE;
	if (!is_known(precision->name))
		return FALSE;
	if (precision->has_statistics && !g_str_equal(precision->name, "fp32")) {
		cli_fail("record",
			 "--precision-statistics are gathered in fp32, not with --precision %s",
			 precision->name);
		return FALSE;
	}
	if (g_getenv("TACHO_PLAN")) {
		cli_fail("record", "--precision: tacho apply has a plan carried out in this job, "
				   "which chooses precisions; leave one of them out");
		return FALSE;
	}
	why_not = interpreter_ask(command, "record", "precision_check.py", precision->name);
	if (why_not)
		cli_fail("record", "--precision: %s", why_not);
	return !why_not;
}

static gchar **set_number(gchar **environment, const gchar *name, gint value)
{
	g_autofree gchar *text = g_strdup_printf("%d", value);

	return g_environ_setenv(environment, name, text, TRUE);
}

gchar **job_precision_set(const struct job_precision *precision, gchar **environment)
{
	if (!precision->name)
		return environment;
	environment = g_environ_setenv(environment, "TACHO_PRECISION", precision->name, TRUE);
	if (!precision->has_statistics)
		return environment;
	environment = set_number(environment, "TACHO_PRECISION_PROBES", precision->n_probes);
	environment = set_number(environment, "TACHO_PRECISION_DIRECT", precision->n_direct);
	return set_number(environment, "TACHO_PRECISION_STATISTICS", N_STATISTICS_STEPS);
}
