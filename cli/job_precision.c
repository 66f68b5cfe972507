#include "job_precision.h"

#include <tacho/words.h>

#include "cli.h"
#include "interpreter.h"

#define N_STATISTICS_STEPS "8"
enum { MAX_PROBES = 1024 };

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

gboolean job_precision_check(struct job_precision *precision, gchar **command)
{
	g_autofree gchar *why_not = NULL;

	if (precision->n_probes < 0 || precision->n_probes > MAX_PROBES) {
		cli_fail("record", "--precision-hessian must be from 0 to %d, not %d", MAX_PROBES,
			 precision->n_probes);
		return FALSE;
	}
	precision->has_statistics |= precision->n_probes > 0;
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

gchar **job_precision_set(const struct job_precision *precision, gchar **environment)
{
	g_autofree gchar *n_probes = g_strdup_printf("%d", precision->n_probes);

	if (!precision->name)
		return environment;
	environment = g_environ_setenv(environment, "TACHO_PRECISION_PROBES", n_probes, TRUE);
	environment = g_environ_setenv(environment, "TACHO_PRECISION", precision->name, TRUE);
	return precision->has_statistics
		       ? g_environ_setenv(environment, "TACHO_PRECISION_STATISTICS",
					  N_STATISTICS_STEPS, TRUE)
		       : environment;
}
