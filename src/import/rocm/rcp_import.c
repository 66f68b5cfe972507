/* rcp_import: hardware counters of kernels in a table of AMD's Radeon Compute Profiler, of a run of its own, which are joined
 * with the kernels of a trace of the same program that is read with it.
 *
 *     # ProfilerVersion=5.5.0                                         what the profiler was called with
 *     Method , ExecutionOrder , ThreadID , GlobalWorkSize , ... , VALUInsts , CacheHit
 *     MatMul&#44;float_gfx803, 1, 4242, {1024 1 1}, ... , 5120, 87.5
 *
 * (1) The table has no times. Both runs did the same, so the kernels of the trace, in the order of their begins, are those of
 *     the table. A kernel's name in the trace is in the one in the table, which has the device's name behind it and commas
 *     and blanks as entities of HTML. Where it is not, the trace may have one kernel more, which is passed over; where the
 *     next one is no better, the runs were not the same, and nothing from there on is joined.
 * (2) A number is a sample of its counter at the begin of the kernel, and an arg of that ("counter.NAME"), as are texts.
 * (3) What was known of a kernel before stays known. */
#include <math.h>
#include <string.h>

#include "base/json_append.h"
#include "base/order.h"
#include "import/import_format.h"
#include "import/read/device_args.h"
#include "import/sniff_evidence.h"
#include "import/read/text_lines.h"
#include "trace/source.h"

enum {
	MAX_COLUMNS = 512,
	MAX_ENTITY = 10,
};

/* --- what is known of a kernel: (3) ----------------------------------------------------------- */

struct rcp_kernel {
	struct foreign_reader *measured; /* NULL: nothing was known */
	guint64 place;
	gchar *json; /* the counters, as members of an object */
};

struct rcp_args {
	struct foreign_reader reader;
	GArray *kernels; /* struct rcp_kernel */
};

static const struct rcp_kernel *kernel_at(struct foreign_reader *reader, guint64 place)
{
	const GArray *kernels = ((struct rcp_args *)reader)->kernels;

	return place < kernels->len ? &g_array_index(kernels, struct rcp_kernel, place) : NULL;
}

/* What the first reader knows, where it knows such things. */
#define ASK_MEASURED(known, what, ...)                                                             \
	((known) && (known)->measured && (known)->measured->what &&                                \
	 (known)->measured->what((known)->measured, (known)->place, __VA_ARGS__))

static gboolean get_op(struct foreign_reader *reader, guint64 place, TachoOpArgs *args)
{
	const struct rcp_kernel *known = kernel_at(reader, place);

	return ASK_MEASURED(known, op, args);
}

static gboolean get_kernel(struct foreign_reader *reader, guint64 place, TachoKernelArgs *args)
{
	const struct rcp_kernel *known = kernel_at(reader, place);

	return ASK_MEASURED(known, kernel, args);
}

static gboolean get_input(struct foreign_reader *reader, guint64 place, guint32 index,
			  TachoTensor *tensor)
{
	const struct rcp_kernel *known = kernel_at(reader, place);

	return ASK_MEASURED(known, input, index, tensor);
}

static gboolean get_told(struct foreign_reader *reader, guint64 place, TachoToldOp *told)
{
	const struct rcp_kernel *known = kernel_at(reader, place);

	return ASK_MEASURED(known, told, told);
}

static gchar *get_args_json(struct foreign_reader *reader, guint64 place)
{
	const struct rcp_kernel *known = kernel_at(reader, place);
	g_autofree gchar *measured = NULL;
	gchar *end;

	if (!known)
		return NULL;
	if (known->measured && known->measured->args_json)
		measured = known->measured->args_json(known->measured, known->place);
	end = measured ? strrchr(measured, '}') : NULL;
	if (!end)
		return g_strdup_printf("{%s}", known->json);
	do
		*end = '\0';
	while (end-- > measured && g_ascii_isspace(*end));
	return g_strdup_printf("%s%s%s}", measured, g_str_has_suffix(measured, "{") ? "" : ", ",
			       known->json);
}

static void free_args(struct foreign_reader *reader)
{
	g_array_unref(((struct rcp_args *)reader)->kernels);
	g_free(reader);
}

static void clear_kernel(gpointer data)
{
	g_free(((struct rcp_kernel *)data)->json);
}

static struct rcp_args *new_args(void)
{
	struct rcp_args *args = g_new0(struct rcp_args, 1);

	args->reader = (struct foreign_reader){ .op = get_op,
						.kernel = get_kernel,
						.input = get_input,
						.told = get_told,
						.args_json = get_args_json,
						.launch_shape = device_args_launch_shape,
						.copy = device_args_copy,
						.free = free_args };
	args->kernels = g_array_new(FALSE, FALSE, sizeof(struct rcp_kernel));
	g_array_set_clear_func(args->kernels, clear_kernel);
	return args;
}

/* --- the table -------------------------------------------------------------------------------- */

struct rcp_file {
	struct import *import;
	const gchar *path;
	GPtrArray *columns; /* names, in order; the first is the kernel's */
	GHashTable *tracks; /* name of a counter -> track + 1 */
	GArray *kernels;    /* guint32: slices of the trace, by begin */
	guint32 process;    /* whose they are */
	struct rcp_args *args;
	guint32 foreign;
	guint next; /* of kernels */
	guint n_rows, n_joined, n_passed;
	gchar *stopped; /* the row's name where the runs differ; NULL: nowhere yet */
};

/* The character that stands as an entity at `text`; 0: none does. */
static gunichar read_entity(const gchar *text, const gchar **ret_after)
{
	static const struct {
		const gchar *name;
		gunichar character;
	} names[] = { { "&nbsp;", ' ' }, { "&comma;", ',' }, { "&sbquo;", ',' }, { "&lt;", '<' },
		      { "&gt;", '>' },	 { "&amp;", '&' },   { "&quot;", '"' } };
	gchar *end;
	guint64 number;

	for (guint i = 0; i < G_N_ELEMENTS(names); i++)
		if (g_str_has_prefix(text, names[i].name)) {
			*ret_after = text + strlen(names[i].name);
			return names[i].character;
		}
	if (!g_str_has_prefix(text, "&#"))
		return 0;
	number = text[2] == 'x' ? g_ascii_strtoull(text + 3, &end, 16)
				: g_ascii_strtoull(text + 2, &end, 10);
	if (*end != ';' || end - text > MAX_ENTITY || number < ' ' || number > 0x10ffff)
		return 0;
	*ret_after = end + 1;
	return (gunichar)number;
}

/* "MatMul, float" of "MatMul&#44;&#32;float_gfx803" */
static gchar *clean_name(const gchar *text)
{
	GString *name = g_string_new(NULL);
	const gchar *device;

	while (*text) {
		const gchar *after;
		gunichar character = *text == '&' ? read_entity(text, &after) : 0;

		if (character) {
			g_string_append_unichar(name, character);
			text = after;
		} else {
			g_string_append_c(name, *text++);
		}
	}
	device = g_strrstr(name->str, "_gfx");
	if (device && g_ascii_isdigit(device[4]))
		g_string_truncate(name, (gsize)(device - name->str));
	return g_string_free(name, FALSE);
}

static gchar **split_row(const gchar *line)
{
	gchar **cells = g_strsplit(line, ",", MAX_COLUMNS);

	for (gchar **cell = cells; *cell; cell++)
		g_strstrip(*cell);
	return cells;
}

static gboolean is_header(const gchar *line)
{
	return g_str_has_prefix(line, "Method") && strstr(line, "ExecutionOrder") &&
	       strchr(line, ',');
}

/* --- the join: (1) ---------------------------------------------------------------------------- */

static gint compare_begins(gconstpointer first, gconstpointer second, gpointer data)
{
	const gint64 *start_ns = data;
	guint32 a = *(const guint32 *)first, b = *(const guint32 *)second;

	return ORDER(start_ns[a], start_ns[b]) ?: ORDER(a, b);
}

/* False: kernels are of several processes, or there are none. */
static gboolean find_kernels(struct rcp_file *file)
{
	const TachoTimeline *timeline = file->import->timeline;
	const TachoSlices *slices = &timeline->slices;

	file->process = TACHO_NONE;
	for (guint32 i = 0; i < slices->n; i++) {
		guint32 process = tacho_timeline_track(timeline, slices->track[i])->process;

		if (slices->kind[i] != TACHO_SLICE_KERNEL)
			continue;
		if (file->process != TACHO_NONE && file->process != process)
			return FALSE;
		file->process = process;
		g_array_append_val(file->kernels, i);
	}
	g_array_sort_with_data(file->kernels, compare_begins, slices->start_ns);
	return file->kernels->len > 0;
}

static gboolean is_kernel(const struct rcp_file *file, guint index, const gchar *name)
{
	return index < file->kernels->len &&
	       strstr(name, tacho_slice_name(file->import->timeline,
					     g_array_index(file->kernels, guint32, index)));
}

/* The kernel of the row; TACHO_NONE: none is. */
static guint32 take_kernel(struct rcp_file *file, const gchar *name)
{
	if (file->stopped || file->next >= file->kernels->len)
		return TACHO_NONE;
	if (!is_kernel(file, file->next, name)) {
		if (!is_kernel(file, file->next + 1, name)) {
			file->stopped = g_strdup(name);
			return TACHO_NONE;
		}
		file->next++;
		file->n_passed++;
	}
	return g_array_index(file->kernels, guint32, file->next++);
}

static void add_sample(struct rcp_file *file, const gchar *counter, gint64 time_ns, gdouble value)
{
	gpointer known = g_hash_table_lookup(file->tracks, counter);
	TachoSample sample = { .time_ns = time_ns, .value = value };

	if (!known) {
		known = GUINT_TO_POINTER(import_add_track(file->import, TACHO_TRACK_COUNTER,
							  file->process, 0, counter) +
					 1);
		g_hash_table_insert(file->tracks, g_strdup(counter), known);
	}
	sample.track = GPOINTER_TO_UINT(known) - 1;
	g_array_append_val(file->import->timeline->samples, sample);
}

/* (2) */
static void add_counters(struct rcp_file *file, guint32 slice, gchar **cells)
{
	static const gchar *const ids[] = { "ExecutionOrder", "ThreadID" };
	TachoSlices *slices = &file->import->timeline->slices;
	g_autoptr(GString) json = g_string_new("{");
	struct rcp_kernel kernel = { 0 };
	guint64 source = slices->source[slice];

	for (guint i = 1; i < file->columns->len && cells[i]; i++) {
		const gchar *column = file->columns->pdata[i];
		g_autofree gchar *key = g_strconcat("counter.", column, NULL);
		gchar *end;
		gdouble value = g_ascii_strtod(cells[i], &end);
		gboolean is_number = *cells[i] && !*end && isfinite(value);

		if (!*cells[i])
			continue;
		json_append_key(json, key);
		if (is_number)
			json_append_number(json, value);
		else
			json_append_string(json, cells[i], strlen(cells[i]));
		if (is_number && strcmp(column, ids[0]) != 0 && strcmp(column, ids[1]) != 0)
			add_sample(file, column, slices->start_ns[slice], value);
	}
	if (source) {
		kernel.measured = tacho_source_borrow_foreign(file->import->timeline->source,
							      source, &kernel.place);
		if (!kernel.measured) /* kept by hand: it stays */
			return;
	}
	kernel.json = g_strdup(json->str + 1);
	g_array_append_val(file->args->kernels, kernel);
	slices->source[slice] =
		tacho_source_foreign_handle(file->foreign, file->args->kernels->len - 1);
}

static void add_row(struct rcp_file *file, const gchar *line)
{
	g_auto(GStrv) cells = split_row(line);
	g_autofree gchar *name = cells[0] ? clean_name(cells[0]) : g_strdup("");
	guint32 slice;

	file->n_rows++;
	slice = take_kernel(file, name);
	if (slice == TACHO_NONE)
		return;
	file->n_joined++;
	add_counters(file, slice, cells);
}

/* --- the file --------------------------------------------------------------------------------- */

static void report(const struct rcp_file *file, gboolean has_kernels)
{
	TachoTimeline *timeline = file->import->timeline;
	guint n = MAX(file->n_rows, file->kernels->len);

	if (!has_kernels)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_UNMATCHED_COUNTER, MAX(file->n_rows, 1u),
			"%s: counters of %u kernels, without times: give the trace of one process "
			"of the same program with it",
			file->path, file->n_rows);
	else if (file->stopped)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_UNMATCHED_COUNTER, n - file->n_joined,
			"%s: row %u (%s) is not the kernel that the trace has there: the two runs "
			"differ, and %u of %u kernels have counters",
			file->path, file->n_joined + 1, file->stopped, file->n_joined,
			file->kernels->len);
	else if (file->n_joined < n)
		tacho_timeline_add_problem(
			timeline, TACHO_PROBLEM_UNMATCHED_COUNTER, n - file->n_joined,
			"%s: counters of %u kernels, and %u kernels ran: %u of them have counters",
			file->path, file->n_rows, file->kernels->len, file->n_joined);
}

static gboolean read_rows(struct rcp_file *file, TextLines *lines, GError **error)
{
	GError *failure = NULL;
	guint64 offset;
	gchar *line;
	gsize n;

	while ((line = text_lines_next(lines, &n, &offset, &failure))) {
		if (!g_utf8_validate(line, -1, NULL) || *line == '#' || !*line)
			continue;
		if (file->columns->len) {
			add_row(file, line);
		} else if (is_header(line)) {
			g_auto(GStrv) names = split_row(line);

			for (gchar **name = names; *name; name++)
				g_ptr_array_add(file->columns, g_strdup(*name));
		}
	}
	if (!failure)
		return TRUE;
	g_propagate_error(error, failure);
	return FALSE;
}

static gboolean read_file(struct import *import, const gchar *path, gpointer data, GError **error)
{
	g_autoptr(TextLines) lines = text_lines_open(path, error);
	struct rcp_file file = { .import = import, .path = path };
	gboolean has_kernels, is_read;

	(void)data;
	if (!lines)
		return FALSE;
	file.columns = g_ptr_array_new_with_free_func(g_free);
	file.tracks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	file.kernels = g_array_new(FALSE, FALSE, sizeof(guint32));
	file.args = new_args();
	file.foreign = tacho_source_take_foreign(import->timeline->source, &file.args->reader);
	has_kernels = file.foreign < SOURCE_MAX_FOREIGN && find_kernels(&file);
	if (!has_kernels)
		g_array_set_size(file.kernels, 0);
	is_read = file.foreign < SOURCE_MAX_FOREIGN && read_rows(&file, lines, error);
	if (is_read)
		report(&file, has_kernels);
	g_ptr_array_unref(file.columns);
	g_hash_table_unref(file.tracks);
	g_array_unref(file.kernels);
	g_free(file.stopped);
	return is_read;
}

/* Comments, then the names of the columns. */
static gboolean sniff_rcp(const struct sniff_input *input)
{
	const gchar *line = input->head;

	while (*line == '#') {
		line = strchr(line, '\n');
		if (!line)
			return FALSE;
		line++;
	}
	return is_header(line) && strcspn(line, "\n") > strcspn(line, ",") &&
	       !sniff_is_document(input);
}

const struct import_format import_rcp = {
	.name = "rcp",
	.title = "counters of AMD's Radeon Compute Profiler, with a trace of the same program",
	.files = "*.csv",
	.sniff = sniff_rcp,
	.read_file = read_file,
};
