/* pprof_export: a profile for pprof and the many that read its format: a sample a stack of names, with
 * how often it was there and the time in which nothing further was called. The outermost frame is the
 * thread. A gzip file, as pprof wants it.
 * (1) A function, and its one location, is a distinct name; its id is that of the name's string.
 * (2) String 0 is empty and no function's name, so that no id is 0, which the format forbids. */
#include <tacho/export.h>

#include <errno.h>
#include <zlib.h>

#include "export/call_tree.h"
#include "export/export_output.h"
#include "export/pprof.pb-c.h"

#define AND_GZIP 16 /* zlib's: a gzip file around it */

typedef Perftools__Profiles__Profile Profile;
typedef Perftools__Profiles__Sample Sample;
typedef Perftools__Profiles__Location Location;
typedef Perftools__Profiles__Function Function;
typedef Perftools__Profiles__ValueType ValueType;
typedef Perftools__Profiles__Line Line;

struct pprof_export {
	const struct call_tree *tree;
	GPtrArray *strings; /* gchar *, owned by string_ids */
	GHashTable *string_ids;
	GHashTable *functions;					/* string ids that have one */
	guint64 *function_of;					/* by node */
	GPtrArray *samples, *locations, *lines, *function_rows; /* messages */
};

static guint64 string_id(struct pprof_export *export, const gchar *text)
{
	gpointer found;
	gchar *copy;

	if (g_hash_table_lookup_extended(export->string_ids, text, NULL, &found))
		return GPOINTER_TO_UINT(found);
	copy = g_strdup(text);
	g_hash_table_insert(export->string_ids, copy, GUINT_TO_POINTER(export->strings->len));
	g_ptr_array_add(export->strings, copy);
	return export->strings->len - 1;
}

static void add_function(struct pprof_export *export, guint64 id)
{
	Function *function = g_new(Function, 1);
	Location *location = g_new(Location, 1);
	Line *line = g_new(Line, 1);
	Line **lines = g_new(Line *, 1);

	perftools__profiles__function__init(function);
	function->id = id;
	function->name = function->system_name = (gint64)id;
	perftools__profiles__line__init(line);
	line->function_id = id;
	lines[0] = line;
	perftools__profiles__location__init(location);
	location->id = id;
	location->line = lines;
	location->n_line = 1;
	g_ptr_array_add(export->function_rows, function);
	g_ptr_array_add(export->locations, location);
	g_ptr_array_add(export->lines, line);
	g_ptr_array_add(export->lines, lines);
}

static void name_node(struct pprof_export *export, guint32 node)
{
	g_autofree gchar *name = call_tree_node_name(export->tree, node);
	guint64 id = string_id(export, *name ? name : "(no name)");

	export->function_of[node] = id;
	if (g_hash_table_add(export->functions, GUINT_TO_POINTER(id)))
		add_function(export, id);
}

static guint depth_of(const struct call_tree *tree, guint32 node)
{
	guint depth = 0;

	for (; node != CALL_TREE_ROOT; node = call_tree_node(tree, node)->parent)
		depth++;
	return depth;
}

static void add_sample(struct pprof_export *export, guint32 node)
{
	const struct call_node *row = call_tree_node(export->tree, node);
	Sample *sample = g_new(Sample, 1);

	perftools__profiles__sample__init(sample);
	sample->location_id = g_new(guint64, depth_of(export->tree, node));
	sample->value = g_new(gint64, 2);
	sample->value[0] = (gint64)row->count;
	sample->value[1] = row->self_ns;
	sample->n_value = 2;
	for (; node != CALL_TREE_ROOT; node = call_tree_node(export->tree, node)->parent)
		sample->location_id[sample->n_location_id++] = export->function_of[node];
	g_ptr_array_add(export->samples, sample);
}

static void free_sample(gpointer data)
{
	Sample *sample = data;

	g_free(sample->location_id);
	g_free(sample->value);
	g_free(sample);
}

static void pprof_export_init(struct pprof_export *export, const struct call_tree *tree)
{
	export->tree = tree;
	export->strings = g_ptr_array_new();
	export->string_ids = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	export->functions = g_hash_table_new(NULL, NULL);
	export->function_of = g_new0(guint64, tree->nodes->len);
	export->samples = g_ptr_array_new_with_free_func(free_sample);
	export->locations = g_ptr_array_new_with_free_func(g_free);
	export->lines = g_ptr_array_new_with_free_func(g_free);
	export->function_rows = g_ptr_array_new_with_free_func(g_free);
	string_id(export, "");
	for (guint32 node = 1; node < tree->nodes->len; node++)
		name_node(export, node);
	for (guint32 node = 1; node < tree->nodes->len; node++)
		if (call_tree_node(tree, node)->count)
			add_sample(export, node);
}

static void pprof_export_release(struct pprof_export *export)
{
	g_ptr_array_unref(export->strings);
	g_hash_table_unref(export->string_ids);
	g_hash_table_unref(export->functions);
	g_free(export->function_of);
	g_ptr_array_unref(export->samples);
	g_ptr_array_unref(export->locations);
	g_ptr_array_unref(export->lines);
	g_ptr_array_unref(export->function_rows);
}

static void fill_profile(struct pprof_export *export, Profile *profile)
{
	const TachoTimeline *timeline = export->tree->timeline;

	profile->sample = (Sample **)export->samples->pdata;
	profile->n_sample = export->samples->len;
	profile->location = (Location **)export->locations->pdata;
	profile->n_location = export->locations->len;
	profile->function = (Function **)export->function_rows->pdata;
	profile->n_function = export->function_rows->len;
	profile->string_table = (char **)export->strings->pdata;
	profile->n_string_table = export->strings->len;
	profile->time_nanos = timeline->origin_unix_ns;
	profile->duration_nanos = timeline->duration_ns;
}

/* The profile's bytes, to be freed with g_free(); NULL: more than a protobuf message may have, or than
 * there is memory for. */
static guint8 *pack(struct pprof_export *export, guint *ret_n_bytes)
{
	ValueType calls = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	ValueType time = PERFTOOLS__PROFILES__VALUE_TYPE__INIT;
	ValueType *types[] = { &calls, &time };
	Profile profile = PERFTOOLS__PROFILES__PROFILE__INIT;
	gsize n_bytes;
	guint8 *bytes;

	calls.type = (gint64)string_id(export, "calls");
	calls.unit = (gint64)string_id(export, "count");
	time.type = (gint64)string_id(export, "time");
	time.unit = (gint64)string_id(export, "nanoseconds");
	profile.sample_type = types;
	profile.n_sample_type = G_N_ELEMENTS(types);
	profile.default_sample_type = time.type;
	fill_profile(export, &profile); /* when all strings are there */
	n_bytes = perftools__profiles__profile__get_packed_size(&profile);
	bytes = n_bytes <= G_MAXINT32 ? g_try_malloc(n_bytes) : NULL;
	if (!bytes)
		return NULL;
	*ret_n_bytes = (guint)perftools__profiles__profile__pack(&profile, bytes);
	return bytes;
}

static guint8 *pack_scope(const struct export_scope *scope, guint *ret_n_bytes)
{
	struct pprof_export export;
	struct call_tree tree;
	guint8 *bytes;

	call_tree_init(&tree, scope);
	pprof_export_init(&export, &tree);
	bytes = pack(&export, ret_n_bytes);
	pprof_export_release(&export);
	call_tree_release(&tree);
	return bytes;
}

/* The bytes as a gzip file without a time in it: the same run gives the same file. Where a write fails, it
 * ends; export_output_finish() tells why. False: no memory. */
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

gboolean tacho_export_pprof(const TachoTimeline *timeline, const TachoExportOptions *options,
			    FILE *out, GError **error)
{
	g_autofree guint8 *bytes = NULL;
	struct export_scope scope;
	guint n_bytes = 0;

	if (!export_scope_init(&scope, timeline, options, error))
		return FALSE;
	bytes = pack_scope(&scope, &n_bytes);
	export_scope_release(&scope);
	if (bytes && write_gzip(bytes, n_bytes, out))
		return export_output_finish(out, options, error);
	g_set_error_literal(error, TACHO_EXPORT_ERROR, TACHO_EXPORT_ERROR_IO,
			    bytes ? g_strerror(ENOMEM)
				  : "the profile is too large; choose fewer steps");
	return FALSE;
}
