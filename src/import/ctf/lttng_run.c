#include "import/lttng_run.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <tacho/import.h>

#include "base/for_each.h"
#include "base/order.h"
#include "base/visible_names.h"
#include "import/ctf/ctf_reader.h"
#include "import/ctf/lttng_stream.h"
#include "trace/trace_layout.h"

#define PROVIDER "tacho_record:"
#define HIDDEN	 ".lttng" /* what is being made, in a run */

enum {
	MAX_FOLDER_DEPTH = 8,
	MAX_METADATA_BYTES = 4 << 20,
	MAX_TOLD_FAILURES = 20,
	MAX_CLASS_ID = (1 << 20) - 1,
};

/* --- what is said ---------------------------------------------------------------------------- */

enum what { TOLD_NOTHING, TOLD_RECORD, TOLD_END, TOLD_PROCESS, TOLD_CLASS, TOLD_DROPPED };

/* How events of a class are to be understood: the places of their fields, -1 where one is missing. */
struct lttng_plan {
	enum what what;
	guint kind; /* enum trace_kind, of records */
	gint name, kind_name, trace, position, stamp, duration, stream, tid, class_id, words;
	gint pair_ticks, pair_mono_ns, text, count;
};

struct told_class {
	gchar *kind, *name;
};

struct told_process {
	guint64 trace;
	gchar *text;		    /* its metadata without classes; NULL: not told */
	struct packet_header clock; /* what is the same in the heads of all its files */
	gchar *folder;		    /* as long as it is being made */
	GHashTable *classes;	    /* id -> struct told_class */
	GHashTable *streams;	    /* number -> struct lttng_stream */
};

struct lttng_run {
	const gchar *target;
	GHashTable *processes; /* trace -> struct told_process */
	GArray *words;	       /* guint64, of the event at work */
	guint64 n_discarded, n_discarded_packets, n_disordered;
	GPtrArray *failures; /* what cannot be read */
};

static void free_class(gpointer class_pointer)
{
	struct told_class *told = class_pointer;

	g_free(told->kind);
	g_free(told->name);
	g_free(told);
}

static void free_stream(gpointer stream)
{
	lttng_stream_free(stream);
}

static void free_process(gpointer process_pointer)
{
	struct told_process *process = process_pointer;

	g_free(process->text);
	g_free(process->folder);
	g_hash_table_unref(process->classes);
	g_hash_table_unref(process->streams);
	g_free(process);
}

/* --- plans ----------------------------------------------------------------------------------- */

static const gchar *const kind_names[TRACE_N_KINDS] = {
#define KIND_NAME(enumerator, name, is_slice) #name,
	TRACE_KINDS(KIND_NAME)
#undef KIND_NAME
};

static enum what what_of(const gchar *event, guint *ret_kind)
{
	static const gchar *const others[] = { [TOLD_END] = "end",
					       [TOLD_PROCESS] = "process",
					       [TOLD_CLASS] = "class",
					       [TOLD_DROPPED] = "dropped" };

	if (!g_str_has_prefix(event, PROVIDER))
		return TOLD_NOTHING;
	event += strlen(PROVIDER);
	for (guint i = 0; i < G_N_ELEMENTS(others); i++)
		if (others[i] && strcmp(event, others[i]) == 0)
			return (enum what)i;
	for (*ret_kind = 0; *ret_kind < TRACE_N_KINDS; ++*ret_kind)
		if (strcmp(event, kind_names[*ret_kind]) == 0)
			return TOLD_RECORD;
	return TOLD_NOTHING;
}

/* It is freed with the class. */
static const struct lttng_plan *plan_of(const struct ctf_event *event)
{
	struct ctf_class *class = event->class;
	struct lttng_plan *plan = class->plan;

	if (plan)
		return plan;
	plan = g_new0(struct lttng_plan, 1);
	plan->what = what_of(class->name, &plan->kind);
	plan->name = ctf_class_field(class, "name");
	plan->kind_name = ctf_class_field(class, "kind");
	plan->trace = ctf_class_field(class, "trace");
	plan->position = ctf_class_field(class, "position");
	plan->stamp = ctf_class_field(class, "stamp");
	plan->duration = ctf_class_field(class, "duration");
	plan->stream = ctf_class_field(class, "stream");
	plan->tid = ctf_class_field(class, "tid");
	plan->class_id = ctf_class_field(class, "class_id");
	plan->words = ctf_class_field(class, "words");
	plan->pair_ticks = ctf_class_field(class, "pair_ticks");
	plan->pair_mono_ns = ctf_class_field(class, "pair_mono_ns");
	plan->text = ctf_class_field(class, "text");
	plan->count = ctf_class_field(class, "count");
	class->plan = plan;
	return plan;
}

/* --- values ---------------------------------------------------------------------------------- */

static guint64 number(const struct ctf_event *event, gint field)
{
	return (guint64)ctf_event_integer(event, field);
}

/* "" where there is none. */
static const gchar *text(const struct ctf_event *event, gint field)
{
	gsize n;
	const gchar *value = ctf_event_text(event, field, &n);

	return value ? value : "";
}

/* Fill run->words with the numbers of "[1,2,3]". FALSE: it is none. */
static gboolean read_words(struct lttng_run *run, const struct ctf_event *event, gint field)
{
	const gchar *digit;
	gsize n;

	g_array_set_size(run->words, 0);
	if (field < 0 || event->class->fields[field].type != CTF_FIELD_JSON)
		return FALSE;
	digit = ctf_text_at(event->bytes, event->n_bytes, ctf_event_slot(event, field), &n);
	if (!digit || *digit++ != '[')
		return FALSE;
	while (g_ascii_isdigit(*digit)) {
		gchar *end;
		guint64 word = g_ascii_strtoull(digit, &end, 10);

		g_array_append_val(run->words, word);
		digit = *end == ',' ? end + 1 : end;
	}
	return *digit == ']';
}

/* --- processes and streams ------------------------------------------------------------------- */

static struct told_process *find_process(struct lttng_run *run, guint64 trace)
{
	struct told_process *process = g_hash_table_lookup(run->processes, &trace);

	if (process)
		return process;
	process = g_new0(struct told_process, 1);
	process->trace = trace;
	process->classes = g_hash_table_new_full(NULL, NULL, NULL, free_class);
	process->streams = g_hash_table_new_full(NULL, NULL, NULL, free_stream);
	process->folder = g_strdup_printf("%s/.%016" G_GINT64_MODIFIER "x-0", run->target, trace);
	g_mkdir(process->folder, 0700); /* where that fails, so does writing into it */
	g_hash_table_insert(run->processes, &process->trace, process);
	return process;
}

static struct lttng_stream *find_stream(struct told_process *process, guint32 number, guint32 tid)
{
	gpointer key = GUINT_TO_POINTER(number);
	struct lttng_stream *stream = g_hash_table_lookup(process->streams, key);
	g_autofree gchar *path = NULL;

	if (stream)
		return stream;
	path = g_strdup_printf("%s/%u-%u.0", process->folder, number, tid);
	stream = lttng_stream_new(path, number, tid);
	g_hash_table_insert(process->streams, key, stream);
	return stream;
}

static void declare(struct told_process *process, guint64 id, const gchar *kind, const gchar *name)
{
	gpointer key = GUINT_TO_POINTER((guint)id);
	struct told_class *told;

	if (!id || id > MAX_CLASS_ID || g_hash_table_contains(process->classes, key))
		return;
	told = g_new(struct told_class, 1);
	told->kind = g_strdup(kind);
	told->name = g_strdup(name);
	g_hash_table_insert(process->classes, key, told);
}

/* --- events ---------------------------------------------------------------------------------- */

static void take_record(struct lttng_run *run, const struct lttng_plan *plan,
			const struct ctf_event *event)
{
	struct told_process *process = find_process(run, number(event, plan->trace));
	struct record_header header = { .class_id = (guint32)number(event, plan->class_id),
					.stamp = number(event, plan->stamp) };
	struct lttng_stream *stream = find_stream(process, (guint32)number(event, plan->stream),
						  (guint32)number(event, plan->tid));

	declare(process, header.class_id, kind_names[plan->kind], text(event, plan->name));
	if (!read_words(run, event, plan->words) ||
	    !lttng_stream_add(stream, number(event, plan->position), &header,
			      (const guint64 *)(gconstpointer)run->words->data, run->words->len,
			      (enum trace_kind)plan->kind))
		run->n_disordered++;
}

static void take_end(struct lttng_run *run, const struct lttng_plan *plan,
		     const struct ctf_event *event)
{
	struct told_process *process = find_process(run, number(event, plan->trace));
	struct lttng_stream *stream = g_hash_table_lookup(
		process->streams, GUINT_TO_POINTER((guint)number(event, plan->stream)));

	/* of a slice that LTTng had no room for there is nothing to end */
	if (stream && read_words(run, event, plan->words))
		lttng_stream_end(stream, number(event, plan->position),
				 number(event, plan->duration),
				 (const guint64 *)(gconstpointer)run->words->data, run->words->len);
}

static void take_process(struct lttng_run *run, const struct lttng_plan *plan,
			 const struct ctf_event *event)
{
	struct told_process *process = find_process(run, number(event, plan->trace));

	if (process->text)
		return;
	process->text = g_strdup(text(event, plan->text));
	process->clock.pair_ticks = number(event, plan->pair_ticks);
	process->clock.pair_mono_ns = number(event, plan->pair_mono_ns);
}

static void take_event(struct lttng_run *run, const struct ctf_event *event)
{
	const struct lttng_plan *plan = plan_of(event);
	struct told_process *process;

	switch (plan->what) {
	case TOLD_RECORD:
		take_record(run, plan, event);
		break;
	case TOLD_END:
		take_end(run, plan, event);
		break;
	case TOLD_PROCESS:
		take_process(run, plan, event);
		break;
	case TOLD_CLASS:
		declare(find_process(run, number(event, plan->trace)),
			number(event, plan->class_id), text(event, plan->kind_name),
			text(event, plan->name));
		break;
	case TOLD_DROPPED:
		process = find_process(run, number(event, plan->trace));
		lttng_stream_set_discarded(find_stream(process,
						       (guint32)number(event, plan->stream),
						       (guint32)number(event, plan->tid)),
					   number(event, plan->count));
		break;
	case TOLD_NOTHING:
		break;
	}
}

static void take_discarded(struct lttng_run *run, const struct ctf_discarded *discarded)
{
	guint64 *count = discarded->is_packets ? &run->n_discarded_packets : &run->n_discarded;

	/* a tracer's count that goes back is wrong */
	*count += discarded->is_known && discarded->count <= G_MAXINT64 ? discarded->count : 1;
}

static gboolean read_trace(struct lttng_run *run, const gchar *folder, GError **error)
{
	struct ctf_process *process = ctf_process_start(folder, 0, 1, error);
	struct ctf_event event = { 0 };
	struct ctf_discarded discarded;
	struct ctf_reader *reader;
	enum ctf_next next;

	if (!process)
		return FALSE;
	reader = ctf_reader_new(&process, 1);
	while ((next = ctf_reader_next(reader, &event, &discarded)) != CTF_NEXT_END) {
		if (next == CTF_NEXT_EVENT)
			take_event(run, &event);
		else if (next == CTF_NEXT_DISCARDED)
			take_discarded(run, &discarded);
		else if (run->failures->len < MAX_TOLD_FAILURES)
			g_ptr_array_add(run->failures, g_strdup_printf("%s: %s", folder,
								       ctf_reader_failure(reader)));
	}
	ctf_reader_free(reader);
	return TRUE;
}

/* --- what is made ---------------------------------------------------------------------------- */

/* The text of `key = "..."` in the metadata, to be freed; NULL: it has none. */
static gchar *quoted_value(const gchar *metadata, const gchar *key)
{
	g_autofree gchar *begin = g_strdup_printf("\t%s = \"", key);
	const gchar *value = strstr(metadata, begin);

	value = value ? value + strlen(begin) : NULL;
	return value ? g_strndup(value, strcspn(value, "\"\\\n")) : NULL;
}

static gboolean parse_uuid(const gchar *metadata, guint8 *uuid)
{
	g_autofree gchar *value = quoted_value(metadata, "uuid");
	guint n = 0;

	for (const gchar *c = value; c && *c && n < 32; c++) {
		if (*c == '-')
			continue;
		if (g_ascii_xdigit_value(*c) < 0)
			return FALSE;
		uuid[n / 2] = (guint8)(uuid[n / 2] << 4 | g_ascii_xdigit_value(*c));
		n++;
	}
	return n == 32;
}

/* HOST-PID, and where that is taken HOST-PID-N. */
static gboolean name_folder(const struct lttng_run *run, const struct told_process *process,
			    GError **error)
{
	g_autofree gchar *host = quoted_value(process->text, "hostname");
	const gchar *pid_text = strstr(process->text, "\tpid = ");
	guint64 pid = pid_text ? g_ascii_strtoull(pid_text + strlen("\tpid = "), NULL, 10) : 0;

	if (!host)
		host = g_strdup("host");
	g_strcanon(host, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-", '_');
	for (guint again = 1; again < 10000; again++) {
		g_autofree gchar *suffix =
			again == 1 ? g_strdup("") : g_strdup_printf("-%u", again);
		g_autofree gchar *path =
			g_strdup_printf("%s/%s-%" G_GUINT64_FORMAT "%s", run->target,
					*host ? host : "host", pid, suffix);

		if (g_rename(process->folder, path) == 0)
			return TRUE;
		if (errno != EEXIST && errno != ENOTEMPTY)
			break;
	}
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO, "%s: %s", run->target,
		    g_strerror(errno));
	return FALSE;
}

/* `name` as the inside of a string of TSDL. */
static void append_quoted(GString *metadata, const gchar *name)
{
	for (; *name; name++) {
		if (*name == '"' || *name == '\\')
			g_string_append_c(metadata, '\\');
		g_string_append_c(metadata, (guchar)*name < 0x20 || *name == 0x7f ? '?' : *name);
	}
}

static gboolean write_metadata(const struct told_process *process, GError **error)
{
	g_autofree gchar *path = g_build_filename(process->folder, TRACE_METADATA_FILE, NULL);
	g_autoptr(GString) metadata = g_string_new(process->text);
	g_autoptr(GList) ids = g_list_sort(g_hash_table_get_keys(process->classes), order_pointer);

	for (const GList *id = ids; id; id = id->next) {
		const struct told_class *told = g_hash_table_lookup(process->classes, id->data);

		g_string_append_printf(metadata, "event { id = %u; name = \"",
				       GPOINTER_TO_UINT(id->data));
		append_quoted(metadata, told->name);
		g_string_append_printf(metadata, "\"; stream_id = 0; fields := struct %s; };\n",
				       told->kind);
	}
	return g_file_set_contents(path, metadata->str, (gssize)metadata->len, error);
}

static void remove_folder(const gchar *folder)
{
	g_autoptr(GDir) entries = g_dir_open(folder, 0, NULL);
	const gchar *name;

	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *path = g_build_filename(folder, name, NULL);

		g_unlink(path);
	}
	g_rmdir(folder);
}

/* A process of which LTTng lost who it is cannot be read. */
static gboolean finish_process(struct lttng_run *run, struct told_process *process, guint *n_made,
			       GError **error)
{
	if (!process->text || !parse_uuid(process->text, process->clock.uuid)) {
		g_ptr_array_add(run->failures,
				g_strdup("a process of which it is not told what it is"));
		remove_folder(process->folder);
		return TRUE;
	}
	FOR_EACH_ENTRY(entry, process->streams) {
		if (!lttng_stream_close(entry.value, &process->clock, error))
			return FALSE;
	}
	++*n_made;
	return write_metadata(process, error) && name_folder(run, process, error);
}

/* So many records, 0: nobody knows, and why. */
static void add_loss(GString *losses, guint64 count, const gchar *cause)
{
	g_autofree gchar *line = g_strdelimit(g_strdup(cause), "\t\n", ' ');

	g_string_append_printf(losses, "0\t%s\t%" G_GUINT64_FORMAT "\t%s\n", g_get_host_name(),
			       count, line);
}

static void write_losses(const struct lttng_run *run)
{
	g_autofree gchar *path = g_build_filename(run->target, TRACE_LOSSES_FILE, NULL);
	g_autoptr(GString) losses = g_string_new(NULL);
	FILE *file;

	if (run->n_discarded)
		add_loss(losses, run->n_discarded, "events that LTTng had no room for");
	if (run->n_discarded_packets)
		add_loss(losses, run->n_discarded_packets, "packets that LTTng had no room for");
	if (run->n_disordered)
		add_loss(losses, run->n_disordered, "records out of order in LTTng's trace");
	FOR_EACH_POINTER(const gchar, failure, run->failures)
		add_loss(losses, 0, failure);
	file = losses->len ? fopen(path, "ae") : NULL;
	if (!file)
		return;
	fwrite(losses->str, 1, losses->len, file);
	fclose(file);
}

static gboolean finish(struct lttng_run *run, GError **error)
{
	guint n = 0;

	FOR_EACH_ENTRY(entry, run->processes) {
		if (!finish_process(run, entry.value, &n, error))
			return FALSE;
	}
	write_losses(run);
	if (n)
		return TRUE;
	g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
		    "LTTng's trace tells of no process%s%s", run->failures->len ? ": " : "",
		    run->failures->len ? (const gchar *)run->failures->pdata[0] : "");
	return FALSE;
}

gboolean lttng_run_read(const gchar *const *traces, guint n_traces, const gchar *target,
			GError **error)
{
	struct lttng_run run = { .target = target };
	gboolean is_read = TRUE;

#ifndef TACHO_HAVE_BABELTRACE
	g_set_error(
		error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
		"%s: this tacho was built without libbabeltrace2, which reads what LTTng wrote; "
		"build it with that library",
		target);
	return FALSE;
#endif
	run.processes = g_hash_table_new_full(g_int64_hash, g_int64_equal, NULL, free_process);
	run.words = g_array_new(FALSE, FALSE, sizeof(guint64));
	run.failures = g_ptr_array_new_with_free_func(g_free);
	for (guint i = 0; i < n_traces && is_read; i++)
		is_read = read_trace(&run, traces[i], error);
	is_read = is_read && finish(&run, error);
	g_hash_table_unref(run.processes);
	g_array_unref(run.words);
	g_ptr_array_unref(run.failures);
	return is_read;
}

/* --- where traces are ------------------------------------------------------------------------ */

gboolean lttng_trace_is(const gchar *folder)
{
	g_autofree gchar *path = g_build_filename(folder, "metadata", NULL);
	g_autoptr(GMappedFile) metadata = g_mapped_file_new(path, FALSE, NULL);
	gsize n = metadata ? MIN(g_mapped_file_get_length(metadata), MAX_METADATA_BYTES) : 0;

	return n && memmem(g_mapped_file_get_contents(metadata), n, PROVIDER, strlen(PROVIDER));
}

static void find_traces(GPtrArray *traces, const gchar *folder, guint depth)
{
	g_autoptr(GDir) entries = depth < MAX_FOLDER_DEPTH ? g_dir_open(folder, 0, NULL) : NULL;
	g_autofree gchar *metadata = g_build_filename(folder, "metadata", NULL);
	const gchar *name;

	if (g_file_test(metadata, G_FILE_TEST_EXISTS)) {
		g_ptr_array_add(traces, g_strdup(folder));
		return;
	}
	while (entries && (name = g_dir_read_name(entries))) {
		g_autofree gchar *child = g_build_filename(folder, name, NULL);

		if (g_file_test(child, G_FILE_TEST_IS_DIR) &&
		    !g_file_test(child, G_FILE_TEST_IS_SYMLINK))
			find_traces(traces, child, depth + 1);
	}
}

GPtrArray *lttng_traces_find(const gchar *folder)
{
	GPtrArray *traces = g_ptr_array_new_with_free_func(g_free);

	find_traces(traces, folder, 0);
	g_ptr_array_sort(traces, order_text);
	return traces;
}

/* --- runs ------------------------------------------------------------------------------------ */

static GKeyFile *read_facts(const gchar *run)
{
	g_autofree gchar *path = g_build_filename(run, TRACE_RUN_FILE, NULL);
	g_autoptr(GKeyFile) facts = g_key_file_new();

	return g_key_file_load_from_file(facts, path, G_KEY_FILE_NONE, NULL)
		       ? g_steal_pointer(&facts)
		       : NULL;
}

gboolean lttng_run_is_unread(const gchar *path)
{
	g_autoptr(GKeyFile) facts = read_facts(path);
	g_autofree gchar *engine =
		facts ? g_key_file_get_string(facts, "run", TRACE_ENGINE_KEY, NULL) : NULL;

	return g_strcmp0(engine, TRACE_ENGINE_LTTNG) == 0 &&
	       !g_key_file_get_boolean(facts, "run", TRACE_LTTNG_READ_KEY, NULL);
}

static GPtrArray *find_traces_of_run(const gchar *path, GError **error)
{
	g_autofree gchar *folder = g_build_filename(path, TRACE_LTTNG_FOLDER, NULL);
	g_autoptr(GPtrArray) traces = lttng_traces_find(folder);
	g_autoptr(GKeyFile) facts = read_facts(path);
	g_autofree gchar *url =
		facts ? g_key_file_get_string(facts, "run", TRACE_LTTNG_URL_KEY, NULL) : NULL;

	if (traces->len)
		return g_steal_pointer(&traces);
	if (url)
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
			    "%s: LTTng sent what it recorded to %s; read the folder into which the "
			    "lttng-relayd there wrote it",
			    path, url);
	else
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_FORMAT,
			    "%s: LTTng has written nothing yet", path);
	return NULL;
}

static void copy_file(const gchar *from, const gchar *to, const gchar *name)
{
	g_autofree gchar *source = g_build_filename(from, name, NULL);
	g_autofree gchar *copy = g_build_filename(to, name, NULL);
	g_autofree gchar *bytes = NULL;
	gsize n;

	if (g_file_get_contents(source, &bytes, &n, NULL))
		g_file_set_contents(copy, bytes, (gssize)n, NULL);
}

gboolean lttng_run_read_unread(const gchar *path, const gchar *target, GError **error)
{
	g_autoptr(GPtrArray) traces = find_traces_of_run(path, error);

	if (!traces)
		return FALSE;
	copy_file(path, target, TRACE_RUN_FILE);
	copy_file(path, target, TRACE_LOSSES_FILE);
	copy_file(path, target, TRACE_UNSEEN_FILE);
	if (lttng_run_read((const gchar *const *)traces->pdata, traces->len, target, error))
		return TRUE;
	g_prefix_error(error, "%s: ", path);
	return FALSE;
}

/* Lines of losses go behind those that are there; processes beside what is there. */
static gboolean move_into(const gchar *made, const gchar *run, GError **error)
{
	g_autoptr(GPtrArray) names = visible_names(made);

	FOR_EACH_POINTER(const gchar, name, names) {
		g_autofree gchar *from = g_build_filename(made, name, NULL);
		g_autofree gchar *to = g_build_filename(run, name, NULL);
		g_autofree gchar *lines = NULL;
		FILE *losses;

		if (strcmp(name, TRACE_LOSSES_FILE) != 0) {
			if (g_rename(from, to) == 0)
				continue;
			g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO, "%s: %s", to,
				    g_strerror(errno));
			return FALSE;
		}
		losses = g_file_get_contents(from, &lines, NULL, NULL) ? fopen(to, "ae") : NULL;
		if (losses) {
			fputs(lines, losses);
			fclose(losses);
		}
		g_unlink(from);
	}
	return TRUE;
}

gboolean tacho_run_settle_lttng(const gchar *path, GError **error)
{
	g_autofree gchar *made = g_build_filename(path, HIDDEN, NULL);
	g_autoptr(GPtrArray) traces = find_traces_of_run(path, error);

	if (!traces)
		return FALSE;
	if (g_mkdir(made, 0700) < 0 && errno != EEXIST) {
		g_set_error(error, TACHO_IMPORT_ERROR, TACHO_IMPORT_ERROR_IO, "%s: %s", made,
			    g_strerror(errno));
		return FALSE;
	}
	if (!lttng_run_read((const gchar *const *)traces->pdata, traces->len, made, error) ||
	    !move_into(made, path, error))
		return FALSE;
	g_rmdir(made);
	return TRUE;
}
