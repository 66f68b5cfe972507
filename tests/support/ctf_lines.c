#include "ctf_lines.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONTEXT = 8 };

struct event_class {
	gchar *name;
	gchar *types; /* a letter a field */
};

struct writer {
	const gchar *folder;
	GString *env, *classes;
	GPtrArray *names;  /* struct event_class */
	GByteArray *bytes; /* of the stream at work */
	gchar *context[MAX_CONTEXT], *values[MAX_CONTEXT];
	guint n_context, n_streams;
	guint packet; /* where the one at work begins */
	guint32 cpu;
	guint64 discarded;
	gint64 offset_ns;
	const gchar *line;
};

static const struct {
	const gchar *name, *type;
} known_context[] = { { "vtid", "int32_t" },	{ "vpid", "int32_t" },
		      { "procname", "string" }, { "perf_thread_cycles", "uint64_t" },
		      { "hostname", "string" }, { "ts", "int64_t" },
		      { "tid", "int32_t" } };

G_GNUC_NORETURN static void fail(const struct writer *writer)
{
	g_error("mistake in the trace: %s", writer->line ? writer->line : "");
	abort();
}

/* --- bytes ---------------------------------------------------------------------------------- */

static void put(struct writer *writer, const void *bytes, gsize n)
{
	g_byte_array_append(writer->bytes, bytes, (guint)n);
}

static void put_u32(struct writer *writer, guint32 value)
{
	put(writer, &value, sizeof(value));
}

static void put_u64(struct writer *writer, guint64 value)
{
	put(writer, &value, sizeof(value));
}

static void put_text(struct writer *writer, const gchar *text)
{
	put(writer, text, strlen(text) + 1);
}

static void begin_packet(struct writer *writer, guint64 discarded)
{
	writer->packet = writer->bytes->len;
	put_u32(writer, 0xc1fc1fc1);
	put_u32(writer, 0);
	put_u64(writer, 0); /* content_size, packet_size: when it ends */
	put_u64(writer, 0);
	put_u64(writer, discarded);
	put_u32(writer, writer->cpu);
}

static void end_packet(struct writer *writer)
{
	guint64 bits = (guint64)(writer->bytes->len - writer->packet) * 8;

	memcpy(writer->bytes->data + writer->packet + 8, &bits, sizeof(bits));
	memcpy(writer->bytes->data + writer->packet + 16, &bits, sizeof(bits));
}

/* What is lost is told by what a packet counts more than the one before: that is empty. */
static void begin_stream(struct writer *writer)
{
	writer->bytes = g_byte_array_new();
	if (writer->discarded) {
		begin_packet(writer, 0);
		end_packet(writer);
	}
	begin_packet(writer, writer->discarded);
}

static void end_stream(struct writer *writer)
{
	g_autofree gchar *name = g_strdup_printf("stream_%u", writer->n_streams++);
	g_autofree gchar *path = g_build_filename(writer->folder, name, NULL);

	end_packet(writer);
	g_assert_true(g_file_set_contents_full(path, (const gchar *)writer->bytes->data,
					       writer->bytes->len, G_FILE_SET_CONTENTS_NONE, 0600,
					       NULL));
	g_byte_array_unref(writer->bytes);
	writer->bytes = NULL;
}

/* --- context -------------------------------------------------------------------------------- */

static guint find_context(const struct writer *writer, const gchar *name)
{
	guint i = 0;

	while (i < writer->n_context && strcmp(writer->context[i], name) != 0)
		i++;
	return i;
}

static const gchar *context_type(const struct writer *writer, const gchar *name)
{
	for (guint i = 0; i < G_N_ELEMENTS(known_context); i++)
		if (strcmp(known_context[i].name, name) == 0)
			return known_context[i].type;
	fail(writer);
}

static void add_context(struct writer *writer, const gchar *name)
{
	if (strcmp(name, "perf") == 0)
		name = "perf_thread_cycles";
	if (writer->n_context == MAX_CONTEXT)
		fail(writer);
	writer->context[writer->n_context] = g_strdup(name);
	writer->values[writer->n_context++] = g_strdup("");
}

static void clear_context(struct writer *writer)
{
	for (guint i = 0; i < writer->n_context; i++) {
		g_free(writer->context[i]);
		g_free(writer->values[i]);
	}
	writer->n_context = 0;
}

static void set_context(struct writer *writer, const gchar *name, const gchar *value)
{
	guint i = find_context(writer, name);

	if (i == writer->n_context)
		fail(writer);
	g_free(writer->values[i]);
	writer->values[i] = g_strdup(value);
}

static void put_context(struct writer *writer)
{
	for (guint i = 0; i < writer->n_context; i++) {
		const gchar *type = context_type(writer, writer->context[i]);
		gint64 value = g_ascii_strtoll(writer->values[i], NULL, 10);

		if (strcmp(type, "string") == 0)
			put_text(writer, writer->values[i]);
		else if (strcmp(type, "int32_t") == 0)
			put_u32(writer, (guint32)value);
		else
			put_u64(writer, (guint64)value);
	}
}

/* --- events --------------------------------------------------------------------------------- */

/* The letter before the colon of "u:5"; 's' of a text. */
static gchar type_of(const gchar *value)
{
	return value[0] && value[1] == ':' && strchr("uixfew", value[0]) ? value[0] : 's';
}

static const gchar *type_name(gchar type)
{
	switch (type) {
	case 'u':
		return "uint64_t";
	case 'i':
		return "int64_t";
	case 'x':
		return "hex_t";
	case 'f':
		return "double_t";
	default:
		return "string";
	}
}

static guint32 find_class(struct writer *writer, const gchar *name, gchar **fields)
{
	GString *types = g_string_new(NULL);
	struct event_class *class;
	guint32 id = 0;

	for (guint i = 0; fields[i]; i++) {
		const gchar *value = strchr(fields[i], '=');

		if (!value)
			fail(writer);
		g_string_append_c(types, type_of(value + 1));
	}
	for (; id < writer->names->len; id++) {
		class = writer->names->pdata[id];
		if (strcmp(class->name, name) == 0) {
			if (strcmp(class->types, types->str) != 0)
				fail(writer);
			g_string_free(types, TRUE);
			return id;
		}
	}
	class = g_new0(struct event_class, 1);
	class->name = g_strdup(name);
	g_ptr_array_add(writer->names, class);
	g_string_append_printf(writer->classes,
			       "event { name = \"%s\"; id = %u; stream_id = 0; fields := struct {",
			       name, id);
	for (guint i = 0; fields[i]; i++) {
		g_autofree gchar *field = g_strndup(fields[i], strcspn(fields[i], "="));

		if (types->str[i] == 'w')
			g_string_append_printf(writer->classes,
					       " uint32_t __%s_length; uint64_t _%s[__%s_length];",
					       field, field, field);
		else
			g_string_append_printf(writer->classes, " %s _%s;",
					       type_name(types->str[i]), field);
	}
	g_string_append(writer->classes, " }; };\n");
	class->types = g_string_free(types, FALSE);
	return id;
}

static void free_class(gpointer data)
{
	struct event_class *class = data;

	g_free(class->name);
	g_free(class->types);
	g_free(class);
}

static void put_words(struct writer *writer, const gchar *list)
{
	g_auto(GStrv) words = g_strsplit(list, ",", -1);
	guint n = g_strv_length(words);

	put_u32(writer, n);
	for (guint i = 0; i < n; i++)
		put_u64(writer, g_ascii_strtoull(words[i], NULL, 0));
}

static void put_value(struct writer *writer, const gchar *value)
{
	g_autofree gchar *unescaped = NULL;
	gdouble real;

	switch (type_of(value)) {
	case 's':
		put_text(writer, value);
		return;
	case 'e':
		unescaped = g_strcompress(value + 2);
		put_text(writer, unescaped);
		return;
	case 'w':
		put_words(writer, value + 2);
		return;
	case 'f':
		real = g_ascii_strtod(value + 2, NULL);
		put(writer, &real, sizeof(real));
		return;
	case 'i':
		put_u64(writer, (guint64)g_ascii_strtoll(value + 2, NULL, 0));
		return;
	default:
		put_u64(writer, g_ascii_strtoull(value + 2, NULL, 0));
	}
}

static void add_event(struct writer *writer, gchar **words, guint n_words)
{
	guint32 id;

	if (n_words < 3)
		fail(writer);
	if (!writer->bytes)
		begin_stream(writer);
	id = find_class(writer, words[2], words + 3);
	put_u32(writer, id);
	put_u64(writer, g_ascii_strtoull(words[0], NULL, 10));
	if (find_context(writer, "vtid") < writer->n_context)
		set_context(writer, "vtid", words[1]);
	else if (find_context(writer, "tid") < writer->n_context)
		set_context(writer, "tid", words[1]);
	put_context(writer);
	for (guint i = 3; i < n_words; i++)
		put_value(writer, strchr(words[i], '=') + 1);
}

static void next_stream(struct writer *writer, gchar **words, guint n_words)
{
	if (writer->bytes)
		end_stream(writer);
	writer->cpu++;
	writer->discarded = 0;
	for (guint i = 1; i < n_words; i++) {
		guint64 value = g_ascii_strtoull(strchr(words[i], '=') + 1, NULL, 10);

		if (g_str_has_prefix(words[i], "cpu="))
			writer->cpu = (guint32)value;
		else
			writer->discarded = value;
	}
}

static void add_line(struct writer *writer, gchar **words, guint n_words)
{
	const gchar *verb = words[0];

	if (g_ascii_isdigit(verb[0])) {
		add_event(writer, words, n_words);
	} else if (strcmp(verb, "stream") == 0) {
		next_stream(writer, words, n_words);
	} else if (strcmp(verb, "context") == 0) {
		clear_context(writer);
		for (guint i = 1; i < n_words; i++)
			add_context(writer, words[i]);
	} else if (strcmp(verb, "offset") == 0 && n_words == 2) {
		writer->offset_ns = g_ascii_strtoll(words[1], NULL, 10);
	} else if (strcmp(verb, "env") == 0 && n_words == 3) {
		g_string_append_printf(writer->env, " %s = \"%s\";", words[1], words[2]);
	} else if (n_words == 2) {
		set_context(writer,
			    strcmp(verb, "pid") == 0	? "vpid"
			    : strcmp(verb, "perf") == 0 ? "perf_thread_cycles"
							: verb,
			    words[1]);
	} else {
		fail(writer);
	}
}

/* --- metadata ------------------------------------------------------------------------------- */

#define INTEGER(name, size, rest)                                                                  \
	"typealias integer { size = " size "; align = 8; " rest " } := " name ";\n"

static void write_metadata(const struct writer *writer)
{
	g_autofree gchar *path = g_build_filename(writer->folder, "metadata", NULL);
	g_autoptr(GString) text = g_string_new("/* CTF 1.8 */\n");

	g_string_append(text, INTEGER("uint32_t", "32", "signed = false;"));
	g_string_append(text, INTEGER("uint64_t", "64", "signed = false;"));
	g_string_append(text, INTEGER("hex_t", "64", "signed = false; base = 16;"));
	g_string_append(text, INTEGER("int32_t", "32", "signed = true;"));
	g_string_append(text, INTEGER("int64_t", "64", "signed = true;"));
	g_string_append(text,
			"typealias floating_point { exp_dig = 11; mant_dig = 53; align = 8; } "
			":= double_t;\n");
	g_string_append(text,
			"trace { major = 1; minor = 8; byte_order = le;\n"
			"packet.header := struct { uint32_t magic; uint32_t stream_id; }; };\n");
	g_string_append_printf(text, "env {%s };\n", writer->env->str);
	g_string_append_printf(
		text,
		"clock { name = mono; freq = 1000000000; offset_s = %" G_GINT64_FORMAT
		"; offset = %" G_GINT64_FORMAT "; };\n",
		writer->offset_ns / 1000000000, writer->offset_ns % 1000000000);
	g_string_append(text, INTEGER("stamp_t", "64", "signed = false; map = clock.mono.value;"));
	g_string_append(text, "stream { id = 0;\npacket.context := struct { uint64_t content_size; "
			      "uint64_t packet_size; uint64_t events_discarded; uint32_t cpu_id; "
			      "};\nevent.header := struct { uint32_t id; stamp_t timestamp; };\n");
	if (writer->n_context) {
		g_string_append(text, "event.context := struct {");
		for (guint i = 0; i < writer->n_context; i++)
			g_string_append_printf(text, " %s _%s;",
					       context_type(writer, writer->context[i]),
					       writer->context[i]);
		g_string_append(text, " };\n");
	}
	g_string_append_printf(text, "};\n%s", writer->classes->str);
	g_assert_true(g_file_set_contents_full(path, text->str, (gssize)text->len,
					       G_FILE_SET_CONTENTS_NONE, 0600, NULL));
}

void ctf_lines_write(const gchar *folder, const gchar *text)
{
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	struct writer writer = { .folder = folder };

	g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
	writer.env = g_string_new(NULL);
	writer.classes = g_string_new(NULL);
	writer.names = g_ptr_array_new_with_free_func(free_class);
	add_context(&writer, "vtid");
	add_context(&writer, "vpid");
	for (guint i = 0; lines[i]; i++) {
		g_auto(GStrv) words = NULL;
		gint n_words;

		writer.line = lines[i];
		if (g_shell_parse_argv(lines[i], &n_words, &words, NULL))
			add_line(&writer, words, (guint)n_words);
	}
	if (writer.bytes)
		end_stream(&writer);
	write_metadata(&writer);
	clear_context(&writer);
	g_string_free(writer.env, TRUE);
	g_string_free(writer.classes, TRUE);
	g_ptr_array_unref(writer.names);
}

gchar *ctf_lines_new(const gchar *text)
{
	gchar *folder = g_dir_make_tmp("tacho-ctf-XXXXXX", NULL);

	ctf_lines_write(folder, text);
	return folder;
}

void ctf_lines_remove(gchar *folder)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);

		if (g_file_test(path, G_FILE_TEST_IS_DIR))
			ctf_lines_remove(g_strdup(path));
		else
			g_unlink(path);
	}
	g_rmdir(folder);
	g_free(folder);
}
