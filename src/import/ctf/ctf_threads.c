/* ctf_threads: to which process and thread an event belongs, and their tracks.
 *
 * What an event says of itself (vpid, vtid, procname ...) comes first; then what its trace says; then, in a
 * trace of the kernel, who was switched to the core last. Which process a thread is of may become known only
 * later (a statedump), so that tracks are given to processes at the end. */
#include <string.h>

#include "base/for_each.h"
#include "import/ctf/ctf_import.h"

struct thread_key {
	guint32 host, pid, tid;
};

static guint hash_key(gconstpointer data)
{
	const struct thread_key *key = data;

	return (key->host * 31 + key->pid) * 1000003u + key->tid * 2654435761u;
}

static gboolean equal_keys(gconstpointer first, gconstpointer second)
{
	return memcmp(first, second, sizeof(struct thread_key)) == 0;
}

static void free_owner(gpointer data)
{
	struct ctf_owner *owner = data;

	g_hash_table_unref(owner->tracks);
	ctf_device_free(owner->device);
	ctf_counters_free(owner->counters);
	g_free(owner->trace);
	g_free(owner);
}

static void free_thread(gpointer data)
{
	struct ctf_thread *thread = data;

	g_array_unref(thread->frames);
	if (thread->counters)
		g_hash_table_unref(thread->counters);
	g_free(thread->absence);
	g_free(thread);
}

void ctf_threads_init(struct ctf_import *ctf)
{
	ctf->owners = g_ptr_array_new_with_free_func(free_owner);
	ctf->track_owners = g_ptr_array_new();
	ctf->track_threads = g_ptr_array_new();
	ctf->first_track = ctf->timeline->tracks->len;
	ctf->owners_by_pid = g_hash_table_new_full(hash_key, equal_keys, g_free, NULL);
	ctf->owners_by_name = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	ctf->all_threads = g_ptr_array_new_with_free_func(free_thread);
	ctf->threads = g_hash_table_new_full(hash_key, equal_keys, g_free, NULL);
	ctf->cores = g_array_new(FALSE, TRUE, sizeof(struct ctf_core));
}

void ctf_threads_release(struct ctf_import *ctf)
{
	g_hash_table_unref(ctf->threads);
	g_ptr_array_unref(ctf->all_threads);
	g_hash_table_unref(ctf->owners_by_pid);
	g_hash_table_unref(ctf->owners_by_name);
	g_ptr_array_unref(ctf->owners);
	g_ptr_array_unref(ctf->track_owners);
	g_ptr_array_unref(ctf->track_threads);
	g_array_unref(ctf->cores);
}

/* --- processes ------------------------------------------------------------------------------ */

static struct ctf_owner *new_owner(struct ctf_import *ctf, guint32 host, guint32 pid)
{
	struct ctf_owner *owner = g_new0(struct ctf_owner, 1);

	owner->host = host;
	owner->pid = pid;
	owner->rank = -1;
	owner->least_tid = G_MAXUINT32;
	owner->trace = g_strdup(ctf->path);
	owner->tracks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_ptr_array_add(ctf->owners, owner);
	return owner;
}

struct ctf_owner *ctf_owner_of_pid(struct ctf_import *ctf, guint32 host, guint32 pid)
{
	struct thread_key key = { .host = host, .pid = pid };
	struct ctf_owner *owner = g_hash_table_lookup(ctf->owners_by_pid, &key);

	if (!owner) {
		owner = new_owner(ctf, host, pid);
		g_hash_table_insert(ctf->owners_by_pid, g_memdup2(&key, sizeof(key)), owner);
	}
	return owner;
}

struct ctf_owner *ctf_owner_of_name(struct ctf_import *ctf, guint32 host, const gchar *name)
{
	gchar *key = g_strdup_printf("%u/%s/%s", host, ctf->path, name);
	struct ctf_owner *owner = g_hash_table_lookup(ctf->owners_by_name, key);

	if (owner) {
		g_free(key);
		return owner;
	}
	owner = new_owner(ctf, host, 0);
	owner->name = tacho_timeline_intern(ctf->timeline, name, -1);
	g_hash_table_insert(ctf->owners_by_name, key, owner);
	return owner;
}

/* --- threads -------------------------------------------------------------------------------- */

static struct ctf_thread *new_thread(struct ctf_import *ctf, struct ctf_owner *owner, guint32 tid)
{
	struct ctf_thread *thread = g_new0(struct ctf_thread, 1);

	thread->owner = owner;
	thread->tid = tid;
	thread->track = TACHO_NONE;
	thread->frames = g_array_new(FALSE, FALSE, sizeof(struct ctf_frame));
	g_ptr_array_add(ctf->all_threads, thread);
	return thread;
}

/* The thread as the kernel's trace knows it, where that has told of which process it is. */
static struct ctf_thread *find_of_kernel(struct ctf_import *ctf, guint32 host, guint32 tid,
					 const struct ctf_owner *owner)
{
	struct thread_key key = { .host = host, .tid = tid };
	struct ctf_thread *thread = g_hash_table_lookup(ctf->threads, &key);

	return thread && owner && owner->pid && thread->owner == owner ? thread : NULL;
}

static struct ctf_thread *find_by_key(struct ctf_import *ctf, guint32 host, guint32 pid,
				      guint32 tid, struct ctf_owner *owner)
{
	struct thread_key key = { .host = host, .pid = pid, .tid = tid };
	struct ctf_thread *thread = g_hash_table_lookup(ctf->threads, &key);

	if (thread)
		return thread;
	thread = find_of_kernel(ctf, host, tid, owner);
	if (!thread)
		thread = new_thread(ctf, owner ? owner : new_owner(ctf, host, 0), tid);
	g_hash_table_insert(ctf->threads, g_memdup2(&key, sizeof(key)), thread);
	return thread;
}

struct ctf_thread *ctf_thread_of(struct ctf_import *ctf, struct ctf_owner *owner, guint32 host,
				 guint32 tid)
{
	/* those of a process without a number are told apart by where it is in the list */
	guint32 pid = owner ? owner->pid : 0;

	if (owner && !pid) {
		guint index = 0;

		g_ptr_array_find(ctf->owners, owner, &index);
		pid = G_MAXUINT32 - index;
	}
	return find_by_key(ctf, host, pid, tid, owner);
}

/* Looked up once a trace. */
static const struct ctf_facts *facts_of(struct ctf_import *ctf, const struct ctf_event *event)
{
	struct ctf_trace *trace = event->stream->trace;
	const gchar *host = g_hash_table_lookup(trace->environment, "hostname");
	const gchar *domain = g_hash_table_lookup(trace->environment, "domain");
	const gchar *pid = g_hash_table_lookup(trace->environment, "vpid");
	struct ctf_facts *facts = g_new0(struct ctf_facts, 1);

	facts->host = tacho_timeline_intern(ctf->timeline, host ? host : "unknown", -1);
	facts->is_kernel = domain && strcmp(domain, "kernel") == 0;
	facts->pid = pid ? (guint32)g_ascii_strtoull(pid, NULL, 10) : 0;
	facts->procname = g_hash_table_lookup(trace->environment, "procname");
	trace->facts = facts;
	return facts;
}

static const struct ctf_facts *facts(struct ctf_import *ctf, const struct ctf_event *event)
{
	return event->stream->trace->facts ? event->stream->trace->facts : facts_of(ctf, event);
}

guint32 ctf_host(struct ctf_import *ctf, const struct ctf_event *event)
{
	return facts(ctf, event)->host;
}

static guint32 host_of(struct ctf_import *ctf, const struct ctf_plan *plan,
		       const struct ctf_event *event)
{
	gsize n = 0;
	const gchar *host = ctf_event_text(event, plan->hostname, &n);

	return host ? tacho_timeline_intern(ctf->timeline, host, (gssize)strnlen(host, n))
		    : ctf_host(ctf, event);
}

/* The process by its number, else by its name. NULL: the event tells neither. */
static struct ctf_owner *find_owner(struct ctf_import *ctf, const struct ctf_plan *plan,
				    const struct ctf_event *event, guint32 host)
{
	guint32 pid = (guint32)ctf_event_integer(event, plan->pid);
	const struct ctf_facts *said = facts(ctf, event);
	const gchar *name;
	struct ctf_owner *owner = NULL;
	gsize n = 0;

	if (!pid)
		pid = said->pid;
	name = ctf_event_text(event, plan->procname, &n);
	if (!name)
		name = said->procname;
	if (pid)
		owner = ctf_owner_of_pid(ctf, host, pid);
	else if (name)
		owner = ctf_owner_of_name(ctf, host, name);
	if (owner && !owner->name && name)
		owner->name = tacho_timeline_intern(ctf->timeline, name, -1);
	return owner;
}

/* A stand-in for the thread of an event that tells of none: the core's, which has nobody or nobody knows whom,
 * else the stream's. */
static struct ctf_thread *find_stand_in(struct ctf_import *ctf, const struct ctf_event *event,
					struct ctf_owner *owner, guint32 host)
{
	gboolean has_core = event->cpu != G_MAXUINT32;
	g_autofree gchar *name = has_core ? g_strdup_printf("core %u, no thread", event->cpu)
					  : g_path_get_basename(event->stream->name);
	struct ctf_thread *thread;

	if (!owner)
		owner = ctf_owner_of_name(ctf, host,
					  facts(ctf, event)->is_kernel ? "kernel" : "trace");
	owner->is_of_kernel |= facts(ctf, event)->is_kernel;
	thread = ctf_thread_of(ctf, owner, host, has_core ? event->cpu : event->stream->order);
	thread->is_stand_in = TRUE;
	if (!thread->name)
		thread->name = tacho_timeline_intern(ctf->timeline, name, -1);
	return thread;
}

static struct ctf_thread *running_on(const struct ctf_import *ctf, guint32 core)
{
	return core < ctf->cores->len ? g_array_index(ctf->cores, struct ctf_core, core).thread
				      : NULL;
}

static struct ctf_thread *find_told(struct ctf_import *ctf, const struct ctf_plan *plan,
				    const struct ctf_event *event, guint32 host)
{
	gboolean is_kernel = facts(ctf, event)->is_kernel;
	struct ctf_owner *owner = find_owner(ctf, plan, event, host);
	struct ctf_thread *thread;

	if (!owner && plan->tid >= 0 && !is_kernel) /* all threads of the trace together */
		owner = ctf_owner_of_name(ctf, host, "");
	if (owner && !is_kernel)
		owner->is_program = TRUE;
	else if (owner)
		owner->is_of_kernel = TRUE;
	if (plan->tid < 0)
		return find_stand_in(ctf, event, owner, host);
	thread = ctf_thread_of(ctf, owner && is_kernel && !owner->pid ? NULL : owner, host,
			       (guint32)ctf_event_integer(event, plan->tid));
	if (!thread->name && plan->procname >= 0)
		thread->name = ctf_intern_field(ctf, event, plan->procname);
	return thread;
}

/* Most events are of the thread of the one before in their stream. */
struct ctf_thread *ctf_find_thread(struct ctf_import *ctf, const struct ctf_plan *plan,
				   const struct ctf_event *event)
{
	struct ctf_thread *running = running_on(ctf, event->cpu);
	struct ctf_stream *stream = event->stream;
	guint32 host, pid, tid;

	if (plan->tid < 0 && running)
		return running;
	host = host_of(ctf, plan, event);
	if (plan->tid < 0 || plan->pid < 0)
		return find_told(ctf, plan, event, host);
	pid = (guint32)ctf_event_integer(event, plan->pid);
	tid = (guint32)ctf_event_integer(event, plan->tid);
	if (!pid)
		return find_told(ctf, plan, event, host);
	if (stream->last.thread && stream->last.host == host && stream->last.pid == pid &&
	    stream->last.tid == tid)
		return stream->last.thread;
	stream->last.thread = find_told(ctf, plan, event, host);
	stream->last.host = host;
	stream->last.pid = pid;
	stream->last.tid = tid;
	return stream->last.thread;
}

/* --- tracks --------------------------------------------------------------------------------- */

static guint32 add_track(struct ctf_import *ctf, TachoTrackKind kind, const gchar *name,
			 guint32 tid, struct ctf_owner *owner, struct ctf_thread *thread)
{
	guint32 track = import_add_track(ctf->import, kind, 0, tid, name);

	g_ptr_array_add(ctf->track_owners, owner);
	g_ptr_array_add(ctf->track_threads, thread);
	return track;
}

guint32 ctf_thread_track(struct ctf_import *ctf, struct ctf_thread *thread)
{
	if (thread->track == TACHO_NONE)
		thread->track = add_track(ctf, TACHO_TRACK_THREAD, "", thread->tid, NULL, thread);
	return thread->track;
}

guint32 ctf_track_of_thread(struct ctf_import *ctf, struct ctf_thread *thread, TachoTrackKind kind,
			    const gchar *name)
{
	return add_track(ctf, kind, name, thread->tid, NULL, thread);
}

guint32 ctf_lane(struct ctf_import *ctf, struct ctf_owner *owner, TachoTrackKind kind,
		 const gchar *name, gint32 device, guint32 tid)
{
	gpointer known = g_hash_table_lookup(owner->tracks, name);
	guint32 track;

	if (known)
		return GPOINTER_TO_UINT(known) - 1;
	track = add_track(ctf, kind, name, tid, owner, NULL);
	g_array_index(ctf->timeline->tracks, TachoTrack, track).device = device;
	g_hash_table_insert(owner->tracks, g_strdup(name), GUINT_TO_POINTER(track + 1));
	return track;
}

/* --- the end -------------------------------------------------------------------------------- */

static struct ctf_owner *owner_of_track(const struct ctf_import *ctf, guint i)
{
	struct ctf_owner *owner = ctf->track_owners->pdata[i];
	struct ctf_thread *thread = ctf->track_threads->pdata[i];

	return owner ? owner : thread->owner;
}

/* Processes whose own events were recorded are ranks of their own. All others are of the only such process of
 * their run, if there is one, else of one rank together. */
static guint choose_file(const struct ctf_import *ctf, const struct ctf_owner *owner, guint shared,
			 guint n_programs)
{
	return owner->is_program && owner->n_tracks && n_programs > 1 ? import_new_file(ctf->import)
								      : shared;
}

static void add_process(struct ctf_import *ctf, struct ctf_owner *owner, guint file)
{
	TachoProcess process = {
		.host = owner->host,
		.pid = owner->pid || owner->least_tid == G_MAXUINT32 ? owner->pid
								     : owner->least_tid,
		.rank = owner->rank,
		.local_rank = -1,
		.world_size = -1,
		.command = owner->name,
		.end = TACHO_END_UNKNOWN,
		.is_bystander = owner->is_of_kernel && !owner->is_program,
		.n_events = owner->n_events ? owner->n_events : TACHO_NO_EVENTS,
		.path = owner->trace,
	};

	if (owner->is_told) {
		process.pid = owner->told.pid;
		process.ppid = owner->told.ppid;
		process.local_rank = owner->told.local_rank;
		process.world_size = owner->told.world_size;
		process.command = owner->told.command;
		process.job = owner->told.job;
		process.end = owner->told.end;
		process.exit_status = owner->told.exit_status;
		process.start_ns = owner->told.start_ns;
		process.end_ns = owner->told.end_ns;
	}
	owner->row = import_add_process(ctf->import, &process, file);
}

void ctf_threads_finish(struct ctf_import *ctf)
{
	guint shared = import_new_file(ctf->import), n_programs = 0;

	for (guint i = 0; i < ctf->track_owners->len; i++) {
		struct ctf_owner *owner = owner_of_track(ctf, i);
		const struct ctf_thread *thread = ctf->track_threads->pdata[i];

		owner->n_tracks++;
		if (!owner->name && thread)
			owner->name = thread->name;
		if (thread && !thread->is_stand_in)
			owner->least_tid = MIN(owner->least_tid, thread->tid);
	}
	FOR_EACH_POINTER(const struct ctf_owner, owner, ctf->owners)
		n_programs += owner->is_program && owner->n_tracks;
	FOR_EACH_POINTER(struct ctf_owner, owner, ctf->owners)
		if (owner->n_tracks || owner->n_events)
			add_process(ctf, owner, choose_file(ctf, owner, shared, n_programs));
	for (guint i = 0; i < ctf->track_owners->len; i++) {
		TachoTrack *track =
			&g_array_index(ctf->timeline->tracks, TachoTrack, ctf->first_track + i);
		const struct ctf_thread *thread = ctf->track_threads->pdata[i];

		track->process = owner_of_track(ctf, i)->row;
		if (thread && thread->track == ctf->first_track + i)
			track->name = thread->name ? thread->name : thread->owner->name;
	}
}
