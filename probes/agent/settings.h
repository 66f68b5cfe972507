/* settings: what the agent was told, read once from the environment (settings.def). */
#ifndef TACHO_AGENT_SETTINGS_H
#define TACHO_AGENT_SETTINGS_H

#include <stdint.h>

typedef const char *setting_text;
typedef uint64_t setting_number;

struct agent_settings {
#define SETTING(name, type, default_value, meaning) setting_##type name;
#include "agent/settings.def"
#undef SETTING
};

/* Fill `settings` from TACHO_* variables; texts are copies that live as long as the process. A
 * number that does not parse keeps its default. */
void agent_settings_read(struct agent_settings *settings);

/* The same from "TACHO_NAME=VALUE" lines, behind the first line of `request`; what is not in them has its default. */
void agent_settings_read_request(struct agent_settings *settings, const char *request);

#endif
