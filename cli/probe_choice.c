#include "probe_choice.h"

#include <string.h>

#include <tacho/words.h>

#include "cli.h"

const ProbeChoice probe_choices[N_PROBES] = {
#define PROBE(name, library, variable, meaning, records) { #name, library, variable, meaning },
#include "probes.def"
#undef PROBE
};

gboolean probe_choice_parse(const gchar *command, const gchar *list, gboolean has_probe[N_PROBES])
{
	g_auto(GStrv) names = g_strsplit(list, ",", -1);

	memset(has_probe, 0, N_PROBES * sizeof(*has_probe));
	for (guint i = 0; names[i]; i++) {
		gboolean is_known = strcmp(names[i], "all") == 0 || strcmp(names[i], "none") == 0;

		for (guint p = 0; p < N_PROBES; p++) {
			/* hsa replaces the job's completion signals: only who names it has it */
			if ((strcmp(names[i], "all") == 0 && p != PROBE_hsa) ||
			    strcmp(names[i], probe_choices[p].name) == 0)
				has_probe[p] = is_known = TRUE;
		}
		if (!is_known) {
			static const gchar *const all[] = {
#define PROBE(name, library, variable, meaning, records) #name,
#include "probes.def"
#undef PROBE
				"all", "none", NULL
			};
			g_autofree gchar *there = tacho_did_you_mean(names[i], all);

			cli_fail(command, "there is no probe '%s'%s", names[i], there);
			return FALSE;
		}
	}
	return TRUE;
}
