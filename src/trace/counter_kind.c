#include "trace/counter_kind.h"

#include <string.h>

#include "trace/name_meaning.h"

static const gchar *const words[N_COUNTER_KINDS] = {
#define COUNTER_WORD(enumerator, word) [COUNTER_##enumerator] = word,
	COUNTER_MEMORIES(COUNTER_WORD) COUNTER_CATEGORIES(COUNTER_WORD) COUNTER_SUMS(COUNTER_WORD)
		COUNTER_POOLS(COUNTER_WORD)
#undef COUNTER_WORD
};

static const struct {
	const gchar *of_bin, *of_all;
} figures[N_COUNTER_FIGURES] = {
#define COUNTER_FIGURE_WORDS(enumerator, of_bin, of_all) { of_bin, of_all },
	COUNTER_FIGURES(COUNTER_FIGURE_WORDS)
#undef COUNTER_FIGURE_WORDS
};

/* What a name says. */
struct counter_name {
	enum counter_kind kind;
	guint32 memory;
	gint bin;
	const gchar *allocator;
	gsize n_owner; /* bytes of the name that are its owner's */
};

/* --- memories and categories ---------------------------------------------------------------- */

/* "host", or "device 3", as counter_memory_name() writes it. */
static gboolean parse_memory(const gchar *text, guint32 *ret_memory)
{
	static const gchar device[] = "device ";
	guint64 number;
	gchar *end;

	if (strcmp(text, "host") == 0) {
		*ret_memory = 0;
		return TRUE;
	}
	if (!g_str_has_prefix(text, device))
		return FALSE;
	text += strlen(device);
	if (!g_ascii_isdigit(text[0]) || (text[0] == '0' && text[1]))
		return FALSE;
	number = g_ascii_strtoull(text, &end, 10);
	if (*end || number >= G_MAXUINT32)
		return FALSE;
	*ret_memory = (guint32)number + 1;
	return TRUE;
}

static gboolean parse_bytes(const gchar *text, struct counter_name *name)
{
	static const gchar bytes[] = " bytes";

	for (guint kind = COUNTER_ALLOCATED; kind <= COUNTER_UNKNOWN; kind++) {
		const gchar *rest = text + strlen(words[kind]);

		if (!g_str_has_prefix(text, words[kind]) || !g_str_has_prefix(rest, bytes))
			continue;
		rest += strlen(bytes);
		name->kind = (enum counter_kind)kind;
		if (kind >= COUNTER_PARAMETER)
			return !*rest;
		return g_str_has_prefix(rest, ", ") && parse_memory(rest + 2, &name->memory);
	}
	return FALSE;
}

/* --- sums and pools ------------------------------------------------------------------------- */

/* Allocators' names have no blank. */
static gboolean parse_sum(const gchar *text, struct counter_name *name)
{
	const gchar *blank = strchr(text, ' ');

	if (!blank || blank == text)
		return FALSE;
	for (guint kind = COUNTER_ALLOCATED_BY; kind <= COUNTER_FRAGMENTATION_BY; kind++)
		if (strcmp(blank + 1, words[kind]) == 0) {
			name->kind = (enum counter_kind)kind;
			name->n_owner = (gsize)(blank - text);
			return TRUE;
		}
	return FALSE;
}

static gboolean parse_pool(const gchar *text, struct counter_name *name)
{
	static const gchar pool[] = " pool: ";
	const gchar *at = strstr(text, pool);

	if (!at || at == text)
		return FALSE;
	for (guint kind = COUNTER_POOL_RESERVED; kind <= COUNTER_POOL_USED; kind++) {
		const gchar *rest = at + strlen(pool);

		if (g_str_has_prefix(rest, words[kind]) &&
		    strcmp(rest + strlen(words[kind]), " bytes") == 0) {
			name->kind = (enum counter_kind)kind;
			name->n_owner = (gsize)(at - text);
			return TRUE;
		}
	}
	return FALSE;
}

/* --- bins ----------------------------------------------------------------------------------- */

static gboolean find_figure(struct counter_name *name, const gchar *word, gsize n)
{
	for (guint i = 0; i < N_COUNTER_FIGURES; i++) {
		const gchar *known = name->bin < 0 ? figures[i].of_all : figures[i].of_bin;

		if (strlen(known) == n && strncmp(word, known, n) == 0) {
			name->kind = (enum counter_kind)(COUNTER_BIN_CHUNKS + i);
			return TRUE;
		}
	}
	return FALSE;
}

static gboolean parse_figure(const gchar *text, struct counter_name *name)
{
	static const gchar of_bin[] = " of bin ", of[] = " of ";
	const gchar *at = strstr(text, of);
	guint64 number;
	gchar *end;

	if (!at)
		return FALSE;
	name->bin = -1;
	name->allocator = at + strlen(of);
	if (g_str_has_prefix(at, of_bin)) {
		number = g_ascii_strtoull(at + strlen(of_bin), &end, 10);
		if (end == at + strlen(of_bin) || number > G_MAXINT || !g_str_has_prefix(end, of))
			return FALSE;
		name->bin = (gint)number;
		name->allocator = end + strlen(of);
	}
	return find_figure(name, text, (gsize)(at - text));
}

/* --- names ---------------------------------------------------------------------------------- */

static struct counter_name parse(const gchar *text)
{
	struct counter_name name = { .bin = -1, .allocator = "" };

	if (parse_bytes(text, &name) || parse_figure(text, &name) || parse_sum(text, &name) ||
	    parse_pool(text, &name))
		return name;
	return (struct counter_name){ .bin = -1, .allocator = "" };
}

static guint judge(const gchar *text)
{
	return parse(text).kind;
}

enum counter_kind counter_kind_of_name(const TachoTimeline *timeline, guint32 name)
{
	return (enum counter_kind)name_meaning(timeline, name, NAME_OF_COUNTER, judge);
}

guint32 counter_memory(const TachoTimeline *timeline, guint32 name)
{
	return parse(tacho_timeline_string(timeline, name)).memory;
}

gint counter_bin(const TachoTimeline *timeline, guint32 name, const gchar **ret_allocator)
{
	struct counter_name parsed = parse(tacho_timeline_string(timeline, name));

	*ret_allocator = parsed.allocator;
	return parsed.bin;
}

gchar *counter_owner(const TachoTimeline *timeline, guint32 name)
{
	const gchar *text = tacho_timeline_string(timeline, name);

	return g_strndup(text, parse(text).n_owner);
}

gchar *counter_figure_name(enum counter_kind kind, gint bin, const gchar *allocator)
{
	guint figure = kind - COUNTER_BIN_CHUNKS;

	return bin < 0 ? g_strdup_printf("%s of %s", figures[figure].of_all, allocator)
		       : g_strdup_printf("%s of bin %d of %s", figures[figure].of_bin, bin,
					 allocator);
}

gchar *counter_sum_name(enum counter_kind kind, const gchar *allocator)
{
	return g_strdup_printf("%s %s", allocator, words[kind]);
}

void counter_memory_name(gchar name[COUNTER_NAME_BYTES], enum counter_kind kind, gboolean is_host,
			 gint64 device)
{
	if (is_host)
		g_snprintf(name, COUNTER_NAME_BYTES, "%s bytes, host", words[kind]);
	else
		g_snprintf(name, COUNTER_NAME_BYTES, "%s bytes, device %" G_GINT64_FORMAT,
			   words[kind], device);
}

gchar *counter_category_name(enum counter_kind kind)
{
	return g_strdup_printf("%s bytes", words[kind]);
}
