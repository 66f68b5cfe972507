#include "export/pprof_writer.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "export/pprof.pb-c.h"

#define AND_GZIP 16 /* zlib's: a gzip file around it */

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__Sample Sample;
typedef Perftools__Profiles__Location Location;
typedef Perftools__Profiles__Function Function;
typedef Perftools__Profiles__ValueType ValueType;
typedef Perftools__Profiles__Line Line;

struct pprof_writer {
	const TachoTimeline *timeline;
	const struct pprof_type *types;
	guint n_types;
	GPtrArray *strings; /* gchar *, owned by string_ids */
	GHashTable *string_ids;
	GHashTable *functions;					/* string ids that have one */
	GPtrArray *samples, *locations, *lines, *function_rows; /* messages */
};

static guint64 string_id(pprof_writer *writer, const gchar *text)
{
	gpointer found;
	gchar *copy;

	if (g_hash_table_lookup_extended(writer->string_ids, text, NULL, &found))
		return GPOINTER_TO_UINT(found);
	copy = g_strdup(text);
	g_hash_table_insert(writer->string_ids, copy, GUINT_TO_POINTER(writer->strings->len));
	g_ptr_array_add(writer->strings, copy);
	return writer->strings->len - 1;
}

static void free_sample(gpointer data)
{
	Sample *sample = data;

	g_free(sample->location_id);
	g_free(sample->value);
	g_free(sample);
}

pprof_writer *pprof_writer_new(const TachoTimeline *timeline, const struct pprof_type *types,
			       guint n_types)
{
	pprof_writer *writer = g_new0(pprof_writer, 1);

	writer->timeline = timeline;
	writer->types = types;
	writer->n_types = n_types;
	writer->strings = g_ptr_array_new();
	writer->string_ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	writer->functions = g_hash_table_new(NULL, NULL);
	writer->samples = g_ptr_array_new_with_free_func(free_sample);
	writer->locations = g_ptr_array_new_with_free_func(g_free);
	writer->lines = g_ptr_array_new_with_free_func(g_free);
	writer->function_rows = g_ptr_array_new_with_free_func(g_free);
	string_id(writer, "");
	return writer;
}

void pprof_writer_free(pprof_writer *writer)
{
	if (!writer)
		return;
	g_ptr_array_unref(writer->strings);
	g_hash_table_unref(writer->string_ids);
	g_hash_table_unref(writer->functions);
	g_ptr_array_unref(writer->samples);
	g_ptr_array_unref(writer->locations);
	g_ptr_array_unref(writer->lines);
	g_ptr_array_unref(writer->function_rows);
	g_free(writer);
}

static void add_function(pprof_writer *writer, guint64 id, const gchar *file, gint64 at)
{
	Function *function = g_new(Function, 1);
	Location *location = g_new(Location, 1);
	Line *line = g_new(Line, 1);
	Line **lines = g_new(Line *, 1);

	perftools__profiles__function__init(function);
	function->id = id;
	function->name = function->system_name = (gint64)id;
	if (file) {
		function->filename = (gint64)string_id(writer, file);
		function->start_line = at;
	}
	perftools__profiles__line__init(line);
	line->function_id = id;
	lines[0] = line;
	perftools__profiles__location__init(location);
	location->id = id;
	location->line = lines;
	location->n_line = 1;
	g_ptr_array_add(writer->function_rows, function);
	g_ptr_array_add(writer->locations, location);
	g_ptr_array_add(writer->lines, line);
	g_ptr_array_add(writer->lines, lines);
}

guint64 pprof_writer_function(pprof_writer *writer, const gchar *name, const gchar *file,
			      gint64 line)
{
	guint64 id = string_id(writer, *name ? name : "(no name)");

	if (g_hash_table_add(writer->functions, GUINT_TO_POINTER(id)))
		add_function(writer, id, file, line);
	return id;
}

void pprof_writer_sample(pprof_writer *writer, const guint64 *stack, guint n_stack,
			 const gint64 *values)
{
	Sample *sample = g_new(Sample, 1);

	perftools__profiles__sample__init(sample);
	sample->location_id = g_memdup2(stack, n_stack * sizeof(*stack));
	sample->n_location_id = n_stack;
	sample->value = g_memdup2(values, writer->n_types * sizeof(*values));
	sample->n_value = writer->n_types;
	g_ptr_array_add(writer->samples, sample);
}

static void fill_profile(const pprof_writer *writer, Profile *profile)
{
	profile->sample = (Sample **)writer->samples->pdata;
	profile->n_sample = writer->samples->len;
	profile->location = (Location **)writer->locations->pdata;
	profile->n_location = writer->locations->len;
	profile->function = (Function **)writer->function_rows->pdata;
	profile->n_function = writer->function_rows->len;
	profile->string_table = (char **)writer->strings->pdata;
	profile->n_string_table = writer->strings->len;
	profile->time_nanos = writer->timeline->origin_unix_ns;
	profile->duration_nanos = writer->timeline->duration_ns;
}

/* The profile's bytes, to be freed with g_free(); NULL: more than a protobuf message may have, or than
 * there is memory for. */
static guint8 *pack(pprof_writer *writer, guint *ret_n_bytes)
{
	g_autofree ValueType *values = g_new(ValueType, writer->n_types);
	g_autofree ValueType **types = g_new(ValueType *, writer->n_types);
	Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	gsize n_bytes;
	guint8 *bytes;

	for (guint i = 0; i < writer->n_types; i++) {
		perftools__profiles__value_type__init(&values[i]);
		values[i].type = (gint64)string_id(writer, writer->types[i].type);
		values[i].unit = (gint64)string_id(writer, writer->types[i].unit);
		types[i] = &values[i];
		profile.default_sample_type = values[i].type;
	}
	profile.sample_type = types;
	profile.n_sample_type = writer->n_types;
	fill_profile(writer, &profile); /* when all strings are there */
	n_bytes = perftools__profiles__profile__get_packed_size(&profile);
	bytes = n_bytes <= G_MAXINT32 ? g_try_malloc(n_bytes) : NULL;
	if (!bytes)
		return NULL;
	*ret_n_bytes = (guint)perftools__profiles__profile__pack(&profile, bytes);
	return bytes;
}

/* The bytes as a gzip file without a time in it: the same run gives the same file. Where a write fails, it
 * ends; who flushes `out` sees why. False: no memory. */
static gboolean write_gzip(guint8 *bytes, guint n_bytes, FILE *out)
{
	z_stream stream = { .next_in = bytes, .avail_in = n_bytes };
	guint8 room[65536];
	int status = deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + AND_GZIP,
				  MAX_MEM_LEVEL, Z_DEFAULT_STRATEGY);

	while (status == Z_OK && !ferror(out)) {
		stream.next_out = room;
		stream.avail_out = sizeof(room);
		status = deflate(&stream, Z_FINISH);
		fwrite(room, 1, sizeof(room) - stream.avail_out, out);
	}
	deflateEnd(&stream);
	return status != Z_MEM_ERROR;
}

gboolean pprof_writer_write(pprof_writer *writer, FILE *out, GError **error)
{
	guint n_bytes = 0;
	g_autofree guint8 *bytes = pack(writer, &n_bytes);

	if (bytes && write_gzip(bytes, n_bytes, out))
		return TRUE;
	g_set_error_literal(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO,
			    bytes ? g_strerror(ENOMEM)
				  : "the profile is too large; choose fewer steps");
	return FALSE;
}
