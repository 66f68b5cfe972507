#include "import/chrome/chrome_facts.h"

#include <string.h>

#include "import/read/json_scan.h"

enum {
	MAX_PROPERTIES = 256,
	MAX_PROPERTY_BYTES = 64 * 1024,
	MAX_GROUPS = 1 << 16,
};

static void clear_group(gpointer data)
{
	struct kineto_group *group = data;

	g_free(group->name);
	g_free(group->ranks);
}

static void clear_property(gpointer data)
{
	struct kineto_property *property = data;

	g_free(property->key);
	g_free(property->json);
}

void chrome_facts_init(struct chrome_facts *facts)
{
	*facts = (struct chrome_facts){ .rank = -1, .world_size = -1 };
	facts->groups = g_array_new(FALSE, TRUE, sizeof(struct kineto_group));
	facts->properties = g_array_new(FALSE, TRUE, sizeof(struct kineto_property));
	g_array_set_clear_func(facts->groups, clear_group);
	g_array_set_clear_func(facts->properties, clear_property);
}

void chrome_facts_release(struct chrome_facts *facts)
{
	g_clear_pointer(&facts->groups, g_array_unref);
	g_clear_pointer(&facts->properties, g_array_unref);
	g_clear_pointer(&facts->host, g_free);
}

/* --- members -------------------------------------------------------------------------------- */

static gchar *take_text(struct json_scan *scan)
{
	struct json_text text = { 0 };

	if (json_peek(scan) != '"') {
		const gchar *begin = scan->at;

		json_skip(scan);
		return g_strndup(begin, (gsize)(scan->at - begin));
	}
	json_string(scan, &text);
	return json_text_dup(&text);
}

static void read_small_integer(struct json_scan *scan, gint32 *value)
{
	gint64 read;

	if (json_fixed(scan, 0, &read) && read >= 0 && read <= G_MAXINT32)
		*value = (gint32)read;
}

static void read_group(struct json_scan *scan, struct chrome_facts *facts)
{
	struct kineto_group group = { 0 };
	struct json_text key;

	if (!json_enter(scan, '{'))
		return;
	while (json_member(scan, &key)) {
		gchar **text = JSON_TEXT_IS(&key, "pg_name") ? &group.name
			       : JSON_TEXT_IS(&key, "ranks") ? &group.ranks
							     : NULL;

		if (text && !*text)
			*text = take_text(scan);
		else
			json_skip(scan);
	}
	if (group.name && facts->groups->len < MAX_GROUPS)
		g_array_append_val(facts->groups, group);
	else
		clear_group(&group);
}

static void read_groups(struct json_scan *scan, struct chrome_facts *facts)
{
	if (!json_enter(scan, '['))
		return;
	while (json_element(scan))
		read_group(scan, facts);
}

static void read_distributed_info(struct json_scan *scan, struct chrome_facts *facts)
{
	struct json_text key;

	if (!json_enter(scan, '{'))
		return;
	facts->has_distributed_info = TRUE;
	while (json_member(scan, &key)) {
		if (JSON_TEXT_IS(&key, "rank"))
			read_small_integer(scan, &facts->rank);
		else if (JSON_TEXT_IS(&key, "world_size"))
			read_small_integer(scan, &facts->world_size);
		else if (JSON_TEXT_IS(&key, "pg_config"))
			read_groups(scan, facts);
		else
			json_skip(scan);
	}
}

static guint count_elements(struct json_scan *scan)
{
	guint n = 0;

	for (gboolean is_list = json_enter(scan, '['); is_list && json_element(scan); n++)
		json_skip(scan);
	return n;
}

/* Keep a member as it stands; the rest of a very long one is cut off. */
static void keep_property(struct chrome_facts *facts, const struct json_text *key,
			  const gchar *begin, const gchar *end)
{
	struct kineto_property property;

	if (facts->properties->len >= MAX_PROPERTIES)
		return;
	property.key = g_strndup(key->bytes, key->n);
	property.json = g_strndup(begin, (gsize)MIN(end - begin, MAX_PROPERTY_BYTES));
	g_array_append_val(facts->properties, property);
}

static void read_fact(struct json_scan *scan, const struct json_text *key,
		      struct chrome_facts *facts)
{
	const gchar *begin;

	json_peek(scan);
	begin = scan->at;
	if (JSON_TEXT_IS(key, "distributedInfo")) {
		read_distributed_info(scan, facts);
	} else if (JSON_TEXT_IS(key, "deviceProperties")) {
		facts->n_devices = count_elements(scan);
	} else if (JSON_TEXT_IS(key, "baseTimeNanoseconds")) {
		json_fixed(scan, 0, &facts->base_ns);
	} else if (JSON_TEXT_IS(key, "host_name") && !facts->host) {
		facts->host = take_text(scan);
	} else {
		json_skip(scan);
	}
	if (scan->status == JSON_OK)
		keep_property(facts, key, begin, scan->at);
}

/* --- head and tail -------------------------------------------------------------------------- */

gboolean chrome_facts_read_head(const gchar *bytes, gsize n, gboolean is_all, gpointer data,
				gsize *ret_n_head)
{
	struct chrome_facts *facts = data;
	g_autofree gchar *padded = NULL;
	struct json_scan scan = { 0 };
	struct json_text key;
	gboolean is_found;

	(void)is_all;
	chrome_facts_release(facts);
	chrome_facts_init(facts);
	padded = json_padded(bytes, n);
	scan.at = padded;
	scan.end = padded + n;
	if (n >= 3 && memcmp(padded, "\xef\xbb\xbf", 3) == 0) /* a byte order mark */
		scan.at += 3;
	if (json_peek(&scan) == '{') {
		facts->is_object = TRUE;
		json_take(&scan, '{');
		while (json_member(&scan, &key)) {
			if (JSON_TEXT_IS(&key, "traceEvents"))
				break;
			read_fact(&scan, &key, facts);
		}
	}
	is_found = json_take(&scan, '[');
	facts->head_offset = (gsize)(scan.at - padded);
	*ret_n_head = facts->head_offset;
	return is_found;
}

gboolean chrome_facts_read_tail(struct chrome_facts *facts, const gchar *bytes, gsize n,
				gsize *ret_offset)
{
	struct json_scan scan = { .at = bytes, .end = bytes + n };
	struct json_text key;

	if (!facts->is_object)
		return TRUE;
	while (json_member(&scan, &key))
		read_fact(&scan, &key, facts);
	*ret_offset = (gsize)(scan.at - bytes);
	return scan.status == JSON_OK;
}
