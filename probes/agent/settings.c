#include "agent/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static setting_text read_text(const char *variable, const char *default_value)
{
	const char *value = getenv(variable);
	char *copy = value ? strdup(value) : NULL;

	return copy ? copy : default_value;
}

static setting_number read_number(const char *variable, uint64_t default_value)
{
	const char *value = getenv(variable);
	char *end;
	uint64_t number;

	if (!value || *value < '0' || *value > '9')
		return default_value;
	errno = 0;
	number = strtoull(value, &end, 10);
	return errno || *end ? default_value : number;
}

/* "TACHO_" and the setting's name in capitals. */
static const char *variable_name(char *buffer, size_t size, const char *setting)
{
	size_t length = strlen(strcpy(buffer, "TACHO_"));

	for (; *setting && length < size - 1; setting++)
		buffer[length++] =
			*setting >= 'a' && *setting <= 'z' ? *setting - 'a' + 'A' : *setting;
	buffer[length] = '\0';
	return buffer;
}

void agent_settings_read(struct agent_settings *settings)
{
	char name[64];

#define SETTING(setting, type, default_value, meaning)                                             \
	settings->setting = read_##type(variable_name(name, sizeof(name), #setting), default_value);
#include "agent/settings.def"
#undef SETTING
}
