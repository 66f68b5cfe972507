#include "import/ctf/ctf_event_args.h"

#include "base/json_append.h"

static const gchar *find_label(const struct ctf_field *field, guint64 value)
{
	for (guint32 i = 0; i < field->n_labels; i++) {
		const struct ctf_label *label = &field->labels[i];
		gboolean is_inside = field->type == CTF_FIELD_SIGNED
					     ? (gint64)value >= (gint64)label->low &&
						       (gint64)value <= (gint64)label->high
					     : value >= label->low && value <= label->high;

		if (is_inside)
			return label->name;
	}
	return NULL;
}

static void append_integer(GString *json, const struct ctf_field *field, guint64 slot)
{
	const gchar *label = find_label(field, slot);

	if (label)
		json_append_string(json, label, strlen(label));
	else if (field->flags & CTF_FIELD_IS_HEX)
		g_string_append_printf(json, "\"0x%" G_GINT64_MODIFIER "x\"", slot);
	else if (field->type == CTF_FIELD_SIGNED)
		g_string_append_printf(json, "%" G_GINT64_FORMAT, (gint64)slot);
	else
		g_string_append_printf(json, "%" G_GUINT64_FORMAT, slot);
}

static void append_field(GString *json, const struct ctf_field *field, guint64 slot,
			 const guint8 *record, guint32 n_bytes)
{
	const gchar *text;
	gsize n;

	switch (field->type) {
	case CTF_FIELD_UNSIGNED:
	case CTF_FIELD_SIGNED:
		append_integer(json, field, slot);
		return;
	case CTF_FIELD_REAL:
		json_append_number(json, ctf_real_of(slot));
		return;
	case CTF_FIELD_BOOLEAN:
		g_string_append(json, slot ? "true" : "false");
		return;
	default:
		text = ctf_text_at(record, n_bytes, slot, &n);
		if (!text)
			g_string_append(json, "null");
		else if (field->type == CTF_FIELD_JSON)
			g_string_append_len(json, text, (gssize)n);
		else
			json_append_string(json, text, n);
	}
}

/* What readers of CTF need of a packet, and nobody else. */
static gboolean is_structural(const struct ctf_field *field)
{
	static const gchar *const names[] = { "timestamp_begin", "timestamp_end", "content_size",
					      "packet_size", "events_discarded" };

	if (field->scope != CTF_SCOPE_PACKET)
		return FALSE;
	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (strcmp(field->name, names[i]) == 0)
			return TRUE;
	return FALSE;
}

/* What is there already with the same value is not told twice; with another one the key gets the prefix. `seen` has
 * keys and values. The context of an event that ends something is that of the one that began it. */
static void append_fields(GString *json, GHashTable *seen, const gchar *prefix,
			  const struct ctf_class *class, const guint8 *record, gsize head_bytes,
			  guint32 n_bytes)
{
	for (guint32 i = 0; i < class->n_fields; i++) {
		const struct ctf_field *field = &class->fields[i];
		const gchar *known = g_hash_table_lookup(seen, field->name);
		g_autofree gchar *key = g_strconcat(known ? prefix : "", field->name, NULL);
		g_autoptr(GString) value = g_string_new(NULL);
		guint64 slot;

		if (is_structural(field) || (known && field->scope < CTF_SCOPE_PAYLOAD))
			continue;
		memcpy(&slot, record + head_bytes + i * sizeof(slot), sizeof(slot));
		append_field(value, field, slot, record, n_bytes);
		if ((known && strcmp(known, value->str) == 0) || g_hash_table_contains(seen, key))
			continue;
		json_append_key(json, key);
		g_string_append(json, value->str);
		g_hash_table_insert(seen, g_steal_pointer(&key), g_strdup(value->str));
	}
}

static void append_event(GString *json, GHashTable *seen, const gchar *prefix,
			 const struct ctf_event *event)
{
	append_fields(json, seen, prefix, event->class, event->bytes,
		      sizeof(struct ctf_event_record), event->n_bytes);
}

gchar *ctf_event_args_json(const struct ctf_part *part, const struct ctf_event *event,
			   const struct ctf_event *end)
{
	g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	const struct ctf_packet_record *packet;
	const struct ctf_class *class;
	GString *json = g_string_new("{");

	json_append_key(json, "event");
	json_append_string(json, event->class->name, strlen(event->class->name));
	g_hash_table_insert(seen, g_strdup("event"), g_strdup(""));
	append_event(json, seen, "field.", event);
	packet = ctf_part_packet_of(part, event, &class);
	if (packet)
		append_fields(json, seen, "packet.", class, (const guint8 *)packet, sizeof(*packet),
			      packet->head.size_bytes);
	if (end)
		append_event(json, seen, "end.", end);
	g_string_append_c(json, '}');
	return g_string_free(json, FALSE);
}
