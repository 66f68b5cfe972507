/* probe_choice: the probes that there are (probes.def), and which of them a command is to use. */
#ifndef TACHO_PROBE_CHOICE_H
#define TACHO_PROBE_CHOICE_H

#include <glib.h>

enum probe {
#define PROBE(name, library, variable, meaning, records) PROBE_##name,
#include "probes.def"
#undef PROBE
	N_PROBES
};

typedef struct {
	const gchar *name, *library, *variable, *meaning;
} ProbeChoice;

extern const ProbeChoice probe_choices[N_PROBES];

/* Which probes are in `list`, separated by commas, "all" and "none" among them; an error of `command` where one is
 * unknown. */
gboolean probe_choice_parse(const gchar *command, const gchar *list, gboolean has_probe[N_PROBES]);

#endif
