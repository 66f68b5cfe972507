#include "agent/settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static setting_text read_text(const char *value, const char *default_value)
{
	char *copy = value ? strdup(value) : NULL;

	return copy ? copy : default_value;
}

static setting_number read_number(const char *value, uint64_t default_value)
{
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
	settings->setting =                                                                        \
		read_##type(getenv(variable_name(name, sizeof(name), #setting)), default_value);
#include "agent/settings.def"
#undef SETTING
}

/* The variable's value in the lines behind the first; the caller's. NULL: it is not there. */
static char *find_line(const char *request, const char *variable)
{
	size_t length = strlen(variable);

	for (const char *line = strchr(request, '\n'); line; line = strchr(line, '\n')) {
		line++;
		if (strncmp(line, variable, length) == 0 && line[length] == '=')
			return strndup(line + length + 1, strcspn(line + length + 1, "\n"));
	}
	return NULL;
}

void agent_settings_read_request(struct agent_settings *settings, const char *request)
{
	char name[64];
	char *value;

#define SETTING(setting, type, default_value, meaning)                                             \
	value = find_line(request, variable_name(name, sizeof(name), #setting));                   \
	settings->setting = read_##type(value, default_value);                                     \
	free(value);
#include "agent/settings.def"
#undef SETTING
}
