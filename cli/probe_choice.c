#include "probe_choice.h"

#include <string.h>

#include <tacho/words.h>

#include "cli.h"

/* What the columns of probes.def stand for: members of ProbeChoice, from `sharing` on. */
#define STAYS	     PROBE_STAYS, NULL
#define LISTED	     PROBE_LISTED, NULL
#define HANDED(told) PROBE_HANDED, told
#define SWITCH	     PROBE_SWITCH, NULL
#define ALL	     TRUE
#define NAMED	     FALSE

const ProbeChoice probe_choices[N_PROBES] = {
#define PROBE(name, library, variable, sharing, choice, meaning, records)                          \
	{ #name, library, variable, meaning, sharing, choice },
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
			if ((strcmp(names[i], "all") == 0 && probe_choices[p].is_in_all) ||
			    strcmp(names[i], probe_choices[p].name) == 0)
				has_probe[p] = is_known = TRUE;
		}
		if (!is_known) {
			static const gchar *const all[] = {
#define PROBE(name, library, variable, sharing, choice, meaning, records) #name,
#include "probes.def"
#undef PROBE
				"all", "none", NULL
			};
			g_autofree gchar *there = tacho_did_you_mean(names[i], all);

			cli_fail(command, "there is no probe '%s'%s", names[i], there);
			return FALSE;
		}
	}
	if (has_probe[PROBE_rocprofiler] && (has_probe[PROBE_hsa] || has_probe[PROBE_hip])) {
		cli_fail(command, "the probe rocprofiler records what %s does: name one of the two",
			 has_probe[PROBE_hsa] ? "hsa" : "hip");
		return FALSE;
	}
	return TRUE;
}
