#include "trace/trace_metadata.h"

#include <string.h>
#include <sys/stat.h>
#include <tacho/timeline.h>

#include "base/mapped_file.h"
#include "trace/string_table.h"
#include "trace/trace_layout.h"

static const gchar signature[] = "/* CTF 1.8 */";
static const gchar *const block_names[] = { "trace {", "env {", "clock {", "stream {" };
enum block { BLOCK_TRACE, BLOCK_ENV, BLOCK_CLOCK, BLOCK_STREAM, BLOCK_NONE };

struct metadata_parser {
	struct trace_metadata *metadata;
	struct tacho_string_table *strings;
	const gchar *text, *end; /* whole file */
	const gchar *line, *line_end;
	enum block block;
	guint seen_blocks; /* bits */
	gboolean has_uuid;
	GString *scratch;
	const gchar *wrong; /* what is, in this line; NULL: nothing */
};

/* --- words of a line ------------------------------------------------------------------------ */

static gboolean take(const gchar **cursor, const gchar *end, const gchar *word)
{
	gsize length = strlen(word);

	if ((gsize)(end - *cursor) < length || memcmp(*cursor, word, length) != 0)
		return FALSE;
	*cursor += length;
	return TRUE;
}

static gboolean take_unsigned(const gchar **cursor, const gchar *end, guint64 *ret_value)
{
	const gchar *digit = *cursor;
	guint64 value = 0;

	for (; digit < end && g_ascii_isdigit(*digit); digit++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (guint64)(*digit - '0'), &value))
			return FALSE;
	if (digit == *cursor)
		return FALSE;
	*cursor = digit;
	*ret_value = value;
	return TRUE;
}

static gboolean take_signed(const gchar **cursor, const gchar *end, gint64 *ret_value)
{
	gboolean is_negative = take(cursor, end, "-");
	guint64 value;

	if (!take_unsigned(cursor, end, &value) || value > G_MAXINT64)
		return FALSE;
	*ret_value = is_negative ? -(gint64)value : (gint64)value;
	return TRUE;
}

/* A string in double quotes, in which \ makes the next character an ordinary one. */
static gboolean take_string(const gchar **cursor, const gchar *end, GString *ret_string)
{
	const gchar *c = *cursor;

	g_string_truncate(ret_string, 0);
	if (c == end || *c++ != '"')
		return FALSE;
	for (; c < end && *c != '"'; c++) {
		if (*c == '\\' && ++c == end)
			return FALSE;
		g_string_append_c(ret_string, *c);
	}
	if (c == end)
		return FALSE;
	*cursor = c + 1;
	return TRUE;
}

/* --- class lines ---------------------------------------------------------------------------- */

static guint8 find_kind(const gchar *name, gsize length)
{
	static const gchar *const names[TRACE_N_KINDS] = {
#define KIND_NAME(enumerator, name, is_slice) #name,
		TRACE_KINDS(KIND_NAME)
#undef KIND_NAME
	};

	for (guint8 kind = 0; kind < TRACE_N_KINDS; kind++)
		if (strlen(names[kind]) == length && memcmp(names[kind], name, length) == 0)
			return kind;
	return TRACE_CLASS_OF_LATER_KIND;
}

static gboolean add_class(struct trace_metadata *metadata, guint64 id, guint8 kind, guint32 name)
{
	if (id > TRACE_MAX_CLASS_ID)
		return FALSE;
	if (id >= metadata->n_classes) {
		guint32 n = (guint32)id + 1;
		guint32 room = n <= 1024 ? 1024 : 1u << g_bit_storage(n - 1);
		struct trace_class *classes =
			g_try_realloc_n(metadata->classes, room, sizeof(*classes));

		if (!classes)
			return FALSE;
		metadata->classes = classes;
		for (guint32 i = metadata->n_classes; i < n; i++)
			classes[i].kind = TRACE_CLASS_UNDECLARED;
		metadata->n_classes = n;
	}
	if (metadata->classes[id].kind != TRACE_CLASS_UNDECLARED)
		return FALSE;
	metadata->classes[id] = (struct trace_class){ .name = name, .kind = kind };
	return TRUE;
}

/* event { id = 7; name = "aten::add"; stream_id = 0; fields := struct op; }; */
static gboolean read_class(struct metadata_parser *parser)
{
	const gchar *cursor = parser->line, *end = parser->line_end, *kind;
	guint64 id;

	if (!take(&cursor, end, "event { id = ") || !take_unsigned(&cursor, end, &id) ||
	    !take(&cursor, end, "; name = ") || !take_string(&cursor, end, parser->scratch) ||
	    !take(&cursor, end, "; stream_id = 0; fields := struct "))
		return FALSE;
	kind = cursor;
	while (cursor < end && (g_ascii_isalnum(*cursor) || *cursor == '_'))
		cursor++;
	if (cursor == kind || end - cursor != 4 || memcmp(cursor, "; };", 4) != 0)
		return FALSE;
	return add_class(parser->metadata, id, find_kind(kind, (gsize)(cursor - kind)),
			 string_table_intern(parser->strings, parser->scratch->str,
					     (gssize)parser->scratch->len));
}

/* --- lines of the preamble ------------------------------------------------------------------ */

struct field {
	enum block block;
	const gchar *key;
	enum { FIELD_UNSIGNED, FIELD_SIGNED, FIELD_STRING, FIELD_UUID } type;
	gsize offset;
};

#define FIELD(block, key, type, member)                                                            \
	{                                                                                          \
		block, key, type, offsetof(struct trace_metadata, member)                          \
	}
static const struct field fields[] = {
	FIELD(BLOCK_TRACE, "uuid = ", FIELD_UUID, uuid),
	FIELD(BLOCK_ENV, "tacho_format = ", FIELD_UNSIGNED, format),
	FIELD(BLOCK_ENV, "pid = ", FIELD_UNSIGNED, pid),
	FIELD(BLOCK_ENV, "ppid = ", FIELD_UNSIGNED, ppid),
	FIELD(BLOCK_ENV, "rank = ", FIELD_SIGNED, rank),
	FIELD(BLOCK_ENV, "local_rank = ", FIELD_SIGNED, local_rank),
	FIELD(BLOCK_ENV, "world_size = ", FIELD_SIGNED, world_size),
	FIELD(BLOCK_ENV, "start_mono_ns = ", FIELD_UNSIGNED, start_mono_ns),
	FIELD(BLOCK_ENV, "process_age_ns = ", FIELD_UNSIGNED, age_ns),
	FIELD(BLOCK_ENV, "hostname = ", FIELD_STRING, host),
	FIELD(BLOCK_ENV, "boot_id = ", FIELD_STRING, boot_id),
	FIELD(BLOCK_ENV, "job = ", FIELD_STRING, job),
	FIELD(BLOCK_ENV, TRACE_RANKS_FIELD " = ", FIELD_STRING, whole_ranks),
	FIELD(BLOCK_ENV, "command = ", FIELD_STRING, command),
	FIELD(BLOCK_ENV, "clock_source = ", FIELD_STRING, clock_source),
	FIELD(BLOCK_ENV, "monotonic_ahead_ns = ", FIELD_SIGNED, monotonic_ahead_ns),
	FIELD(BLOCK_CLOCK, "freq = ", FIELD_UNSIGNED, frequency_hz),
	FIELD(BLOCK_CLOCK, "offset_s = ", FIELD_UNSIGNED, offset_s),
	FIELD(BLOCK_CLOCK, "offset = ", FIELD_UNSIGNED, offset_ticks),
};
#undef FIELD

static gboolean parse_uuid(const gchar *text, guint8 uuid[16])
{
	guint n = 0;

	for (; *text && n < 32; text++) {
		gint digit = g_ascii_xdigit_value(*text);

		if (*text == '-')
			continue;
		if (digit < 0)
			return FALSE;
		uuid[n / 2] = (guint8)(uuid[n / 2] << 4 | digit);
		n++;
	}
	return n == 32 && !*text;
}

static gboolean read_value(struct metadata_parser *parser, const struct field *field,
			   const gchar **cursor)
{
	void *member = (guint8 *)parser->metadata + field->offset;

	switch (field->type) {
	case FIELD_UNSIGNED:
		return take_unsigned(cursor, parser->line_end, member);
	case FIELD_SIGNED:
		return take_signed(cursor, parser->line_end, member);
	default:
		break;
	}
	if (!take_string(cursor, parser->line_end, parser->scratch))
		return FALSE;
	if (field->type == FIELD_UUID)
		return parser->has_uuid = parse_uuid(parser->scratch->str, member);
	*(guint32 *)member = string_table_intern(parser->strings, parser->scratch->str,
						 (gssize)parser->scratch->len);
	return TRUE;
}

/* `key = value;` of a block; keys that are not ours are for others. */
static void read_field(struct metadata_parser *parser)
{
	for (guint i = 0; i < G_N_ELEMENTS(fields); i++) {
		const gchar *cursor = parser->line;

		if (fields[i].block != parser->block ||
		    !take(&cursor, parser->line_end, fields[i].key))
			continue;
		if (!read_value(parser, &fields[i], &cursor) ||
		    !take(&cursor, parser->line_end, ";") || cursor != parser->line_end)
			parser->wrong = "this value cannot be read";
		return;
	}
}

static gboolean line_is(const struct metadata_parser *parser, const gchar *word)
{
	const gchar *cursor = parser->line;

	return take(&cursor, parser->line_end, word) && cursor == parser->line_end;
}

static gboolean line_begins(const struct metadata_parser *parser, const gchar *word)
{
	const gchar *cursor = parser->line;

	return take(&cursor, parser->line_end, word);
}

static void read_line(struct metadata_parser *parser)
{
	if (parser->block != BLOCK_NONE) {
		if (line_is(parser, "};"))
			parser->block = BLOCK_NONE;
		else
			read_field(parser);
		return;
	}
	for (guint block = 0; block < BLOCK_NONE; block++)
		if (line_is(parser, block_names[block])) {
			parser->block = block;
			parser->seen_blocks |= 1u << block;
			return;
		}
	if (line_begins(parser, "event") && !read_class(parser)) {
		if (!parser->metadata->n_bad_lines++)
			parser->metadata->first_bad_line = (gsize)(parser->line - parser->text);
	}
}

/* Move on to the next line that has its end, without the blanks around it. */
static gboolean next_line(struct metadata_parser *parser, const gchar **position)
{
	const gchar *newline = *position < parser->end
				       ? memchr(*position, '\n', (gsize)(parser->end - *position))
				       : NULL;

	if (!newline)
		return FALSE;
	parser->line = *position;
	parser->line_end = newline;
	*position = newline + 1;
	while (parser->line < newline && g_ascii_isspace(*parser->line))
		parser->line++;
	while (parser->line_end > parser->line && g_ascii_isspace(parser->line_end[-1]))
		parser->line_end--;
	return TRUE;
}

/* What is wrong with the whole, or NULL. */
static const gchar *find_fault(const struct metadata_parser *parser)
{
	struct trace_metadata *metadata = parser->metadata;

	if (metadata->format == 0)
		return "there is no tacho_format, so tacho did not write this trace";
	if (parser->block != BLOCK_NONE || parser->seen_blocks != (1u << BLOCK_NONE) - 1 ||
	    !parser->has_uuid)
		return "the preamble is incomplete";
	if (metadata->pid == 0 || metadata->pid > G_MAXUINT32 || metadata->ppid > G_MAXUINT32 ||
	    metadata->rank < -1 || metadata->rank > G_MAXINT32 || metadata->local_rank < -1 ||
	    metadata->local_rank > G_MAXINT32 || metadata->world_size < -1 ||
	    metadata->world_size > G_MAXINT32)
		return "the process is impossible";
	if (!trace_clock_init(&metadata->clock, metadata->frequency_hz, metadata->offset_s,
			      metadata->offset_ticks))
		return "the clock is impossible";
	return NULL;
}

static gboolean fail(GError **error, const gchar *path, gsize offset, const gchar *wrong)
{
	g_set_error(error, TACHO_TIMELINE_ERROR, TACHO_TIMELINE_ERROR_FORMAT, "%s, byte %zu: %s",
		    path, offset, wrong);
	return FALSE;
}

/* What else such a trace says may mean other things by now. */
static gboolean refuse_later(const struct metadata_parser *parser, const gchar *path,
			     GError **error)
{
	g_autofree gchar *wrong = g_strdup_printf(
		"a later version of tacho wrote this trace, in format %" G_GUINT64_FORMAT
		", and this one knows formats up to %d; read it with that version",
		parser->metadata->format, TRACE_FORMAT_VERSION);

	return fail(error, path, (gsize)(parser->line - parser->text), wrong);
}

static gboolean parse(struct metadata_parser *parser, const gchar *path, GError **error)
{
	const gchar *position = parser->text, *fault;
	gsize n_bytes = (gsize)(parser->end - parser->text);

	if (n_bytes < strlen(signature) || memcmp(position, signature, strlen(signature)) != 0)
		return fail(error, path, 0, "this is not the metadata of a trace");
	while (next_line(parser, &position)) {
		read_line(parser);
		if (parser->metadata->format > TRACE_FORMAT_VERSION)
			return refuse_later(parser, path, error);
		if (parser->wrong)
			return fail(error, path, (gsize)(parser->line - parser->text),
				    parser->wrong);
	}
	fault = find_fault(parser);
	return fault ? fail(error, path, (gsize)(position - parser->text), fault) : TRUE;
}

gboolean trace_metadata_read(struct trace_metadata *metadata, const gchar *path,
			     struct tacho_string_table *strings, GError **error)
{
	struct metadata_parser parser = { .metadata = metadata,
					  .strings = strings,
					  .block = BLOCK_NONE };
	struct mapped_file file;
	gboolean is_read;

	*metadata = (struct trace_metadata){ .rank = -1, .local_rank = -1, .world_size = -1 };
	if (!mapped_file_open(&file, path, error))
		return FALSE;
	parser.text = file.bytes ? (const gchar *)file.bytes : "";
	parser.end = parser.text + file.size_bytes;
	metadata->size_bytes = file.size_bytes;
	parser.scratch = g_string_new(NULL);
	is_read = parse(&parser, path, error);
	g_string_free(parser.scratch, TRUE);
	mapped_file_close(&file);
	return is_read;
}

gboolean trace_metadata_is_current(const struct trace_metadata *metadata, const gchar *path)
{
	struct stat status;

	return stat(path, &status) == 0 && status.st_size >= 0 &&
	       (guint64)status.st_size == metadata->size_bytes;
}

void trace_metadata_copy(struct trace_metadata *copy, const struct trace_metadata *metadata)
{
	*copy = *metadata;
	copy->classes =
		g_memdup2(metadata->classes, metadata->n_classes * sizeof(*metadata->classes));
}

void trace_metadata_release(struct trace_metadata *metadata)
{
	g_free(metadata->classes);
	metadata->classes = NULL;
	metadata->n_classes = 0;
}
