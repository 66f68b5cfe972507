/* probe_loader: bring in a probe when the library it watches has appeared. */
#ifndef TACHO_AGENT_PROBE_LOADER_H
#define TACHO_AGENT_PROBE_LOADER_H

struct agent_settings;

/* Watch for the libraries of all probes that are loaded on sight; again, with other settings, when another recording begins. */
void probe_loader_watch(const struct agent_settings *settings);

#endif
