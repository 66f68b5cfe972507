/* probe_choice: the probes that there are (probes.def), and which of them a command is to use. */
#ifndef TACHO_PROBE_CHOICE_H
#define TACHO_PROBE_CHOICE_H

#include <glib.h>

enum probe {
#define PROBE(name, library, variable, sharing, choice, meaning, records) PROBE_##name,
#include "probes.def"
#undef PROBE
	N_PROBES
};

/* What happens where a probe's variable names another tool already. */
typedef enum {
	PROBE_STAYS,  /* that tool stays, and the probe records nothing */
	PROBE_LISTED, /* the variable is a list: the probe is put last */
	PROBE_HANDED, /* the probe takes its place, and loads it and tells it the same */
	PROBE_SWITCH, /* the variable is no name: 1 lets the preloaded probe in */
} ProbeSharing;

typedef struct {
	const gchar *name, *library, *variable, *meaning;
	ProbeSharing sharing;
	const gchar *handed_by; /* the variable that tells a HANDED probe what it stands before */
	gboolean is_in_all;
} ProbeChoice;

extern const ProbeChoice probe_choices[N_PROBES];

/* Which probes are in `list`, separated by commas, "all" and "none" among them; an error of `command` where one is
 * unknown. */
gboolean probe_choice_parse(const gchar *command, const gchar *list, gboolean has_probe[N_PROBES]);

#endif
