#include "export/ctf_classes.h"

#include <string.h>

#define NS_PER_S G_GINT64_CONSTANT(1000000000)

G_STATIC_ASSERT(N_SLICE_ARGS <= 64); /* bits of ctf_class_key.args */

struct class
{
	struct ctf_class_key key;
	guint32 id;
	guint8 types[N_SLICE_ARGS]; /* enum slice_arg_type, of the args it has */
	guint8 order[N_SLICE_ARGS]; /* of the args: their keys */
	guint n_args;
};

struct _CtfClasses {
	GHashTable *by_key; /* struct class, in itself */
	GPtrArray *all;
};

static guint hash_key(gconstpointer data)
{
	const struct ctf_class_key *key = data;

	return (guint)(key->args ^ key->args >> 32) * 2654435761u ^
	       (guint)(key->event << 20 | key->slice << 12 | key->track << 4 | key->has_queue << 1 |
		       key->has_forward_thread);
}

static gboolean equal_keys(gconstpointer first, gconstpointer second)
{
	return memcmp(first, second, sizeof(struct ctf_class_key)) == 0;
}

CtfClasses *ctf_classes_new(void)
{
	CtfClasses *classes = g_new0(CtfClasses, 1);

	classes->by_key = g_hash_table_new(hash_key, equal_keys);
	classes->all = g_ptr_array_new_with_free_func(g_free);
	return classes;
}

void ctf_classes_free(CtfClasses *classes)
{
	if (!classes)
		return;
	g_hash_table_unref(classes->by_key);
	g_ptr_array_unref(classes->all);
	g_free(classes);
}

guint32 ctf_classes_id(CtfClasses *classes, const struct ctf_class_key *key,
		       const struct slice_args *args)
{
	struct class *class = g_hash_table_lookup(classes->by_key, key);

	if (class)
		return class->id;
	class = g_new0(struct class, 1);
	class->key = *key;
	class->id = classes->all->len;
	for (guint i = 0; args && i < args->n; i++) {
		class->order[class->n_args++] = (guint8)args->args[i].key;
		class->types[i] = (guint8)args->args[i].type;
	}
	g_ptr_array_add(classes->all, class);
	g_hash_table_add(classes->by_key, class);
	return class->id;
}

/* --- metadata ------------------------------------------------------------------------------- */

static const struct {
	const gchar *name, *fields;
} events[] = {
#define CTF_EVENT_TEXT(enumerator, name, fields) { name, fields },
	CTF_EVENTS(CTF_EVENT_TEXT)
#undef CTF_EVENT_TEXT
};

/* "op_begin" is "tacho_thread:op_begin" on a thread. */
static const gchar *const providers[] = {
	[TACHO_TRACK_THREAD] = "tacho_thread",
	[TACHO_TRACK_ASYNC] = "tacho_async",
	[TACHO_TRACK_STREAM] = "tacho_device",
	[TACHO_TRACK_COUNTER] = "tacho_counter", /* none has slices */
	[TACHO_TRACK_SAMPLED] = "tacho_sampled",
};

static void append_uuid(GString *text, const guint8 *uuid)
{
	for (guint i = 0; i < CTF_UUID_BYTES; i++)
		g_string_append_printf(text, "%s%02x",
				       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

static void append_name(GString *text, const struct ctf_class_key *key)
{
	const gchar *name = events[key->event].name;

	if (name[0] != '#')
		g_string_append(text, name);
	else
		g_string_append_printf(text, "%s:%s%s", providers[key->track],
				       tacho_slice_kind_name((TachoSliceKind)key->slice), name + 1);
}

static void append_arg(GString *text, const struct class *class, guint i)
{
	static const gchar *const types[] = {
		[SLICE_ARG_TYPE_TRUE] = "uint8_t",
		[SLICE_ARG_TYPE_INTEGER] = "int64_t",
		[SLICE_ARG_TYPE_UNSIGNED] = "uint64_t",
		[SLICE_ARG_TYPE_STRING] = "string",
	};

	g_string_append_printf(text, " %s _%s;", types[class->types[i]],
			       slice_arg_key_name((enum slice_arg_key) class->order[i]));
}

static void append_class(GString *text, const struct class *class)
{
	g_string_append(text, "\nevent {\n\tname = \"");
	append_name(text, &class->key);
	g_string_append_printf(text, "\";\n\tid = %u;\n\tstream_id = 0;\n\tfields := struct { %s",
			       class->id, events[class->key.event].fields);
	if (class->key.has_queue)
		g_string_append(text, " int32_t _device; uint32_t _stream;");
	if (class->key.has_forward_thread)
		g_string_append(text, " uint64_t _forward_thread;");
	for (guint i = 0; i < class->n_args; i++)
		append_arg(text, class, i);
	g_string_append(text, " };\n};\n");
}

static void append_types(GString *text)
{
	static const struct {
		const gchar *name;
		guint bits;
		gboolean is_signed;
	} integers[] = {
		{ "uint8_t", 8, FALSE }, { "uint32_t", 32, FALSE }, { "uint64_t", 64, FALSE },
		{ "int32_t", 32, TRUE }, { "int64_t", 64, TRUE },
	};

	for (guint i = 0; i < G_N_ELEMENTS(integers); i++)
		g_string_append_printf(
			text,
			"typealias integer { size = %u; align = 8; signed = %s; } := "
			"%s;\n",
			integers[i].bits, integers[i].is_signed ? "true" : "false",
			integers[i].name);
	g_string_append(text,
			"typealias integer { size = 64; align = 8; signed = false; base = "
			"hex; } := uint64_hex_t;\n"
			"typealias floating_point { exp_dig = 11; mant_dig = 53; byte_order = "
			"le; align = 8; } := double;\n");
}

/* An escaped text: host names come from traces. */
static void append_quoted(GString *text, const gchar *key, const gchar *value)
{
	g_autofree gchar *escaped = g_strescape(value, NULL);

	g_string_append_printf(text, "\t%s = \"%s\";\n", key, escaped);
}

static void append_environment(GString *text, const struct ctf_trace_facts *facts)
{
	g_string_append(text, "\nenv {\n");
	append_quoted(text, "tracer_name", "tacho export");
	append_quoted(text, "tracer_version", TACHO_VERSION);
	if (facts->host)
		append_quoted(text, "hostname", facts->host);
	if (facts->world_size >= 0)
		g_string_append_printf(text, "\tworld_size = %d;\n", facts->world_size);
	g_string_append(text, "};\n");
}

static void append_clock(GString *text, const struct ctf_trace_facts *facts)
{
	gint64 seconds = facts->origin_unix_ns / NS_PER_S;
	gint64 rest = facts->origin_unix_ns % NS_PER_S;

	if (rest < 0) { /* before 1970 */
		seconds--;
		rest += NS_PER_S;
	}
	g_string_append(text, "\nclock {\n\tname = \"run\";\n\tuuid = \"");
	append_uuid(text, facts->uuid);
	g_string_append_printf(
		text,
		"\";\n\tdescription = \"nanoseconds, all clocks of the run aligned\";\n"
		"\tfreq = 1000000000;\n\toffset_s = %" G_GINT64_FORMAT
		";\n\toffset = %" G_GINT64_FORMAT ";\n\tabsolute = TRUE;\n};\n"
		"\ntypealias integer { size = 64; align = 8; signed = false; map = "
		"clock.run.value; } "
		":= uint64_time_t;\n",
		seconds, rest);
}

gchar *ctf_classes_metadata(const CtfClasses *classes, const struct ctf_trace_facts *facts)
{
	GString *text = g_string_new("/* CTF 1.8 */\n\n");

	append_types(text);
	g_string_append(text,
			"\ntrace {\n\tmajor = 1;\n\tminor = 8;\n\tbyte_order = le;\n\tuuid = \"");
	append_uuid(text, facts->uuid);
	g_string_append(text,
			"\";\n\tpacket.header := struct {\n"
			"\t\tuint32_t magic;\n\t\tuint8_t uuid[16];\n\t\tuint32_t stream_id;\n"
			"\t\tuint64_t stream_instance_id;\n\t};\n};\n");
	append_environment(text, facts);
	append_clock(text, facts);
	g_string_append(text,
			"\nstream {\n\tid = 0;\n\tpacket.context := struct {\n"
			"\t\tuint64_time_t timestamp_begin;\n\t\tuint64_time_t timestamp_end;\n"
			"\t\tuint64_t content_size;\n\t\tuint64_t packet_size;\n"
			"\t\tuint64_t packet_seq_num;\n\t\tuint64_t events_discarded;\n\t};\n"
			"\tevent.header := struct { uint32_t id; uint64_time_t timestamp; };\n"
			"\tevent.context := struct {\n\t\tint32_t _vpid;\n\t\tint32_t _vtid;\n"
			"\t\tint32_t _rank;\n\t\tint32_t _track;\n\t\tstring _procname;\n"
			"\t\tstring _hostname;\n\t};\n};\n");
	for (guint i = 0; i < classes->all->len; i++)
		append_class(text, g_ptr_array_index(classes->all, i));
	return g_string_free(text, FALSE);
}
