/* cmd_calibrate: measurements of this machine, by name. */
#include <string.h>

#include <tacho/words.h>

#include "calibrate.h"
#include "cli.h"

static const gchar usage[] = "WHAT [OPTION...]";
static const gchar description[] = "Measures:\n"
#define CALIBRATION(name, description) "  " #name "\t" description "\n"
#include "calibrations.def"
#undef CALIBRATION
				   "\n"
				   "'tacho calibrate WHAT --help' says more.\n"
				   "\n"
				   "Examples:\n"
				   "  tacho calibrate communication -n 2 -o cost.json -- python3\n"
				   "  tacho calibrate casts --python python3 -o casts.json\n";

static const struct {
	const gchar *name;
	int (*run)(int argc, char **argv);
} calibrations[] = {
#define CALIBRATION(name, description) { #name, tacho_calibrate_##name##_main },
#include "calibrations.def"
#undef CALIBRATION
};

int cmd_calibrate(int argc, char **argv)
{
	const gchar *names[G_N_ELEMENTS(calibrations) + 1] = { NULL };
	const GOptionEntry entries[] = { G_OPTION_ENTRY_NULL };
	g_autofree gchar *there = NULL;

	for (guint i = 0; i < G_N_ELEMENTS(calibrations); i++) {
		names[i] = calibrations[i].name;
		if (argc > 1 && strcmp(argv[1], names[i]) == 0)
			return calibrations[i].run(argc - 1, argv + 1);
	}
	if (!cli_parse("calibrate", usage, description, entries, &argc, &argv))
		return CLI_BAD;
	if (argc < 2)
		return cli_fail("calibrate", "say what to measure (see 'tacho calibrate --help')");
	there = tacho_did_you_mean(argv[1], names);
	return cli_fail("calibrate", "'%s' is nothing that is measured%s", argv[1], there);
}
