#include "agent/tf_config.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 32
#define MAX_TASKS 1000000

/* In the order of ranks; a cluster has a chief or a master. */
static const char *const types[] = { "chief", "master", "worker", "ps" };
#define N_TYPES (sizeof(types) / sizeof(types[0]))

struct config {
	const char *at; /* NULL: it is no JSON */
	int n_tasks[N_TYPES];
	size_t type; /* N_TYPES: not told, or of no rank */
	int index;   /* -1: not told */
};

struct text {
	const char *begin;
	size_t length;
};

static bool is_text(struct text text, const char *word)
{
	return text.length == strlen(word) && memcmp(text.begin, word, text.length) == 0;
}

static char next(struct config *config)
{
	while (config->at && *config->at && strchr(" \t\r\n,:", *config->at))
		config->at++;
	return config->at ? *config->at : '\0';
}

/* A string as it stands in the text: names that are asked for have no escapes. */
static struct text read_text(struct config *config)
{
	struct text text = { config->at + 1, 0 };
	const char *at = text.begin;

	while (*at && *at != '"')
		at += *at == '\\' && at[1] ? 2 : 1;
	text.length = (size_t)(at - text.begin);
	config->at = *at ? at + 1 : NULL;
	return text;
}

/* Step over a value; returns how many elements or members it has. */
static int skip(struct config *config, int depth)
{
	char first = next(config);
	int n = 0;

	if (first == '"') {
		read_text(config);
	} else if (first != '[' && first != '{') {
		size_t length = config->at ? strcspn(config->at, " \t\r\n,:]}[{\"") : 0;

		config->at = length ? config->at + length : NULL;
	} else if (depth == MAX_DEPTH) {
		config->at = NULL;
	} else {
		config->at++;
		while (next(config) != (first == '[' ? ']' : '}') && config->at) {
			skip(config, depth + 1);
			n++;
		}
		if (config->at)
			config->at++;
	}
	return n;
}

static size_t type_of(struct text name)
{
	size_t type = 0;

	while (type < N_TYPES && !is_text(name, types[type]))
		type++;
	return type;
}

/* Step into an object; the next member's name, of no length where there is none. */
static struct text member(struct config *config)
{
	struct text none = { "", 0 };

	if (next(config) == '"')
		return read_text(config);
	if (config->at)
		config->at = *config->at == '}' ? config->at + 1 : NULL;
	return none;
}

static bool enter(struct config *config)
{
	if (next(config) != '{') {
		skip(config, 0);
		return false;
	}
	config->at++;
	return true;
}

static void read_cluster(struct config *config)
{
	struct text name;

	if (!enter(config))
		return;
	while ((name = member(config)).length) {
		size_t type = type_of(name);
		int n = skip(config, 0);

		if (!config->at)
			return;
		if (type < N_TYPES && n <= MAX_TASKS)
			config->n_tasks[type] = n;
	}
}

static void read_task(struct config *config)
{
	struct text name;

	if (!enter(config))
		return;
	while ((name = member(config)).length && config->at) {
		char first = next(config);

		if (is_text(name, "type") && first == '"') {
			config->type = type_of(read_text(config));
			continue;
		}
		/* some programs write the number as a string */
		if (is_text(name, "index") && config->at)
			config->index = atoi(config->at + (first == '"'));
		skip(config, 0);
	}
}

void tf_config_read(const char *text, int *rank, int *world_size)
{
	struct config config = { .at = text, .type = N_TYPES, .index = -1 };
	struct text name;
	int before = 0, n = 0;

	if (!text || next(&config) != '{')
		return;
	config.at++;
	while (config.at && (name = member(&config)).length) {
		if (is_text(name, "cluster"))
			read_cluster(&config);
		else if (is_text(name, "task"))
			read_task(&config);
		else
			skip(&config, 0);
	}
	if (!config.at || config.type == N_TYPES)
		return;
	for (size_t type = 0; type < N_TYPES; type++) {
		before += type < config.type ? config.n_tasks[type] : 0;
		n += config.n_tasks[type];
	}
	if (config.index < 0 || config.index >= config.n_tasks[config.type])
		return;
	*rank = before + config.index;
	*world_size = n;
}
