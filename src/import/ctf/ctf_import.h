/* ctf_import: what the files of the importer of CTF share.
 *
 *     records --ctf_part, ctf_reader--> events --ctf_rules: a plan a class--> a handler --ctf_threads--> tracks, slices
 *
 * A plan says, once a class, what its events mean and where in them is what matters; a handler makes of an
 * event what its plan says. */
#ifndef TACHO_CTF_IMPORT_H
#define TACHO_CTF_IMPORT_H

#include "import/ctf/ctf_reader.h"
#include "import/ctf/ctf_work.h"
#include "import/import_format.h"

struct ctf_import;
struct ctf_plan;

/* A process of the traced machine, whichever traces tell of it. */
struct ctf_owner {
	guint32 host; /* string id */
	guint32 pid;  /* 0: not known */
	guint32 name; /* string id */
	gint32 rank;  /* -1: not told */
	guint32 row;  /* of the timeline, at the end */
	guint32 n_tracks;
	guint32 least_tid; /* that of the thread it began with: a process without a number has it */
	guint64 n_events;
	gboolean is_program;   /* its own events were recorded, not only the kernel's about it */
	gboolean is_of_kernel; /* the kernel's about it were */
	gchar *trace;	       /* the first that told of it */
	GHashTable *tracks;    /* name -> row: all but threads */
	struct ctf_device *device;     /* what its devices do, NULL: none */
	struct ctf_counters *counters; /* of its kernels, NULL: none */
	gboolean is_told;	       /* its trace tells what it was: */
	TachoProcess told;
};

/* An interval that has begun. */
struct ctf_frame {
	guint32 row;
	guint32 pair; /* string id: what must be the same where it ends ... */
	guint32 key;  /* ... and this, too */
	guint64 offset;
};

struct ctf_thread {
	struct ctf_owner *owner;
	guint32 tid;
	guint32 name;
	guint32 track;	      /* TACHO_NONE: none yet */
	gboolean is_stand_in; /* nobody told which thread it is */
	gboolean has_begun;   /* an interval: what ends before began before the recording */
	GArray *frames;	      /* struct ctf_frame */
	GHashTable *counters; /* string id -> row */
	struct ctf_absence *
		absence; /* from its core, as a trace of the kernel tells it; NULL: none told of yet */
	guint open_session; /* index into ctf_import's sessions, plus 1; 0: none */
	guint n_sessions;   /* at the end */
};

typedef void (*CtfHandler)(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event);

#define CTF_MAX_FIELDS_OF_RULE 20

/* The clock of the payload's "timestamp": what a device did is written down when somebody hears of it. */
enum ctf_device_time {
	CTF_TIME_OF_EVENT,
	CTF_TIME_MONOTONIC_NS, /* the trace's clock, without its offset from 1970 */
	CTF_TIME_UNIX_NS,
	CTF_TIME_UNIX_US,
	CTF_TIME_SINCE_START_NS, /* since the runtime began in this process */
	CTF_TIME_DEVICE_NS,	 /* the device's own, to be fitted to the host's */
};

/* How events of some name are to be understood. */
struct ctf_rule {
	const gchar *event; /* its name; with a * at the end: its begin */
	CtfHandler handle;
	guint8 kind;	     /* TachoSliceKind */
	const gchar *pair;   /* the same for what begins and what ends; or the name of a counter */
	const gchar *label;  /* the field with the slice's name; NULL: the pair's */
	const gchar *key;    /* the field that must be the same where it ends; NULL: none */
	const gchar *lane;   /* name of the track, where that is not the thread's */
	const gchar *prefix; /* of the slice's name */
	guint8 clock;	     /* enum ctf_device_time: what its field "timestamp" counts */
	gboolean
		is_of_location; /* its handler finds out whose event it is; of nobody: it is no event */
	const gchar *fields[CTF_MAX_FIELDS_OF_RULE]; /* what the handler wants, in plan->fields */
};

#define CTF_MAX_PERF 16

struct ctf_plan {
	CtfHandler handle;
	guint8 kind;
	guint32 pair, label, prefix; /* string ids */
	const gchar *lane;
	gint tid, pid, procname, hostname;
	gint label_field, key_field;
	gint time_field;		     /* payload's "timestamp" */
	gint override_field;		     /* the event's own time, of traces of intervals */
	guint8 clock;			     /* enum ctf_device_time */
	gboolean is_of_location;	     /* as the rule says */
	gint fields[CTF_MAX_FIELDS_OF_RULE]; /* as the rule names them, -1: not there */
	guint n_perf;
	gint perf[CTF_MAX_PERF];
	guint32 perf_names[CTF_MAX_PERF];
};

/* An interval that begins and ends anywhere: by its key, first in, first out. */
struct ctf_pending {
	guint32 row;
	guint64 offset;
	gint64 time_ns;
};

/* A thread that is off its core, until it has one again. */
struct ctf_absence {
	guint32 track; /* of what the kernel does with it; TACHO_NONE: none yet */
	gboolean is_off;
	gboolean is_taken;	 /* it could go on: another took its core */
	gint64 out_ns, ready_ns; /* ready_ns: when it could run again; G_MININT64: not told */
	guint32 other, call; /* string ids: who took the core; the system call that it waits in */
	gboolean is_own;     /* the other is of its process */
	guint64 offset;	     /* of the event */
};

struct ctf_core {
	struct ctf_thread *thread; /* who runs on it, NULL: not known */
	guint32 row;		   /* open slice, or TACHO_NONE */
};

struct ctf_otf2;
struct ctf_exported;

/* What a trace says of all its events. */
struct ctf_facts {
	guint32 host; /* string id */
	gboolean is_kernel;
	guint32 pid;	       /* 0: not told */
	const gchar *procname; /* NULL: not told */
};

struct ctf_import {
	struct import *import;
	TachoTimeline *timeline;
	GPtrArray *owners; /* struct ctf_owner */
	GPtrArray
		*track_owners; /* of each track from first_track on: struct ctf_owner or NULL ... */
	GPtrArray *track_threads; /* ... then struct ctf_thread */
	guint first_track;
	GHashTable *owners_by_pid;  /* (host, pid) */
	GHashTable *owners_by_name; /* (host, string) */
	GPtrArray *all_threads;	    /* struct ctf_thread */
	GHashTable *threads;	    /* (host, pid, tid) -> one of them */
	GHashTable *pending;	    /* text -> GQueue of struct ctf_pending */
	GArray *requests;	    /* struct ctf_request, of ctf_requests.c */
	GHashTable
		*request_steps; /* text: process, side and key -> gint64 step of its last request */
	GArray *sessions;	/* struct ctf_session, of ctf_sessions.c */
	GHashTable
		*allocations; /* text: process and address -> TachoMemoryEvent that is not freed */
	GHashTable *device_numbers; /* string id -> number + 1 */
	guint64 n_unmatched, n_unended, n_bad_times, n_guessed_requests;
	/* Sums over all processes: */
	guint64 n_kernels_without_launch, n_launches_without_kernel, n_guessed_launches;
	gint64 unlaunched_ns; /* what those kernels lasted */
	gboolean is_out_of_memory;
	/* The trace that is being read: */
	const gchar *path;
	struct ctf_reader *reader;
	guint32 foreign;
	GArray *cores; /* struct ctf_core, by number */
	struct ctf_otf2 *otf2;
	struct ctf_exported *exported;
	gint64 first_ns, last_ns;
	guint64 n_unclocked;
	/* The event that is being read: */
	struct ctf_thread *thread;
};

/* For import_by(), in tests: read what the struct ctf_process `process` has decoded; takes it over. */
gboolean ctf_read_records(struct import *import, gpointer process, GError **error);

struct ctf_parts {
	const gchar *folder;
	guint n_parts;
};

/* The same: read one trace by as many processes as the struct ctf_parts `parts` says. */
gboolean ctf_read_parts(struct import *import, gpointer parts, GError **error);

/* The event that is being read is one of its thread's process. */
void ctf_count_event(struct ctf_import *ctf);

/* --- ctf_threads.c: who --- */

void ctf_threads_init(struct ctf_import *ctf);
void ctf_threads_release(struct ctf_import *ctf);
/* The thread that the event belongs to. */
struct ctf_thread *ctf_find_thread(struct ctf_import *ctf, const struct ctf_plan *plan,
				   const struct ctf_event *event);
struct ctf_owner *ctf_owner_of_pid(struct ctf_import *ctf, guint32 host, guint32 pid);
/* One that is known by a name alone. */
struct ctf_owner *ctf_owner_of_name(struct ctf_import *ctf, guint32 host, const gchar *name);
/* A thread of a process; `owner` NULL: of the process that has it, else of one of its own. */
struct ctf_thread *ctf_thread_of(struct ctf_import *ctf, struct ctf_owner *owner, guint32 host,
				 guint32 tid);
guint32 ctf_thread_track(struct ctf_import *ctf, struct ctf_thread *thread);
/* A new track that is of the thread's process, whichever that turns out to be. */
guint32 ctf_track_of_thread(struct ctf_import *ctf, struct ctf_thread *thread, TachoTrackKind kind,
			    const gchar *name);
/* A track of a process by its name. */
guint32 ctf_lane(struct ctf_import *ctf, struct ctf_owner *owner, TachoTrackKind kind,
		 const gchar *name, gint32 device, guint32 tid);
guint32 ctf_host(struct ctf_import *ctf, const struct ctf_event *event);
/* Make processes of the owners and give the tracks to them. */
void ctf_threads_finish(struct ctf_import *ctf);

/* --- ctf_rules.c: what --- */

struct ctf_plan *ctf_plan_new(struct ctf_import *ctf, const struct ctf_class *class);
/* The field's text as a string id; numbers as text. 0: there is none. */
guint32 ctf_intern_field(struct ctf_import *ctf, const struct ctf_event *event, gint field);
guint32 ctf_label_of(struct ctf_import *ctf, const struct ctf_plan *plan,
		     const struct ctf_event *event);

/* --- ctf_slices.c: slices --- */

/* A slice of the event. TACHO_NONE: there is no memory for it. */
guint32 ctf_add_slice(struct ctf_import *ctf, guint8 kind, guint32 track, guint32 name,
		      gint64 start_ns, gint64 duration_ns, guint8 flags, guint64 offset);
void ctf_end_slice(struct ctf_import *ctf, guint32 row, gint64 end_ns, guint64 begin_offset,
		   guint64 end_offset);
void ctf_end_frames(struct ctf_import *ctf, struct ctf_thread *thread, gint64 end_ns);
void ctf_add_sample(struct ctf_import *ctf, guint32 track, gint64 time_ns, gdouble value);
/* Handlers of what is on the thread's own track. */
void ctf_handle_instant(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event);
void ctf_push_frame(struct ctf_import *ctf, struct ctf_thread *thread, guint8 kind, guint32 label,
		    struct ctf_frame frame, gint64 time_ns);
/* False: nothing with its pair and key has begun. */
gboolean ctf_pop_frame(struct ctf_import *ctf, struct ctf_thread *thread, guint32 pair, guint32 key,
		       const struct ctf_event *event);
void ctf_handle_begin(struct ctf_import *ctf, const struct ctf_plan *plan,
		      const struct ctf_event *event);
void ctf_handle_end(struct ctf_import *ctf, const struct ctf_plan *plan,
		    const struct ctf_event *event);
void ctf_handle_async_begin(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event);
void ctf_handle_async_end(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event);
/* Intervals of `lane` by a key. */
void ctf_begin_pending(struct ctf_import *ctf, const gchar *key, guint32 row, guint64 offset,
		       gint64 time_ns);
gboolean ctf_take_pending(struct ctf_import *ctf, const gchar *key, struct ctf_pending *taken);

/* --- rules of families of events --- */

extern const struct ctf_rule ctf_kernel_rules[], ctf_memory_rules[], ctf_profiler_rules[],
	ctf_rocm_rules[], ctf_thapi_rules[], ctf_otf2_rules[], ctf_exported_rules[];

/* ctf_absence.c */
/* The thread goes off its core, is ready for one again, and comes back. */
void ctf_absence_begin(struct ctf_import *ctf, struct ctf_thread *thread,
		       const struct ctf_absence *absence);
void ctf_absence_ready(struct ctf_thread *thread, gint64 time_ns);
/* `other` had the core until now. */
void ctf_absence_end(struct ctf_import *ctf, struct ctf_thread *thread, guint32 other,
		     gboolean is_own, gint64 time_ns);
/* What the kernel did with the thread, from `start_ns` to `end_ns`. Its row, or TACHO_NONE. */
guint32 ctf_add_kernel_event(struct ctf_import *ctf, struct ctf_thread *thread, guint32 name,
			     gint64 start_ns, gint64 end_ns, guint64 offset);
/* Rules of events of tacho's own recorder (probes/kernel), tacho_kernel:... */
extern const struct ctf_rule ctf_recorder_rules[];
/* ctf_kernel.c */
void ctf_kernel_end_trace(struct ctf_import *ctf);
/* ctf_otf2.c */
void ctf_otf2_end_trace(struct ctf_import *ctf);
/* ctf_exported.c */
void ctf_exported_end_trace(struct ctf_import *ctf);

/* ctf_sessions.c */
GArray *ctf_sessions_new(void);
void ctf_handle_session_start(struct ctf_import *ctf, const struct ctf_plan *plan,
			      const struct ctf_event *event);
void ctf_handle_session_end(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event);
/* Make the steps of them. */
void ctf_sessions_finish(struct ctf_import *ctf);

/* ctf_requests.c */
GArray *ctf_requests_new(void);
/* The step that a client's text of a request names; -1: none. */
gint64 ctf_step_of_request(const gchar *text);
/* A request, or the whole of it with its answer. `owner` NULL: the key alone says who is at both ends; `step` -1: not
 * told. */
void ctf_add_request(struct ctf_import *ctf, const struct ctf_owner *owner, const gchar *key,
		     guint32 row, gint64 step, gint64 time_ns, gboolean is_receive,
		     gboolean is_span);
void ctf_pair_requests(struct ctf_import *ctf);

/* ctf_counters.c */
struct ctf_counters;
void ctf_counters_free(struct ctf_counters *counters);
/* The parameters of a kernel: the counters that follow are of it. */
void ctf_handle_parameters(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event);
void ctf_handle_device_counter(struct ctf_import *ctf, const struct ctf_plan *plan,
			       const struct ctf_event *event);
/* Join them with the kernels, where devices' times are known. */
void ctf_counters_finish(struct ctf_import *ctf);

/* ctf_device.c */
/* The kernels of a process, fills of memory too; NULL: it has none. struct ctf_work. */
GArray *ctf_kernels_of(const struct ctf_owner *owner);
/* When it was, by its "timestamp", where that can be; of a device that knows no other clock, as it says. */
gint64 ctf_device_time_ns(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event);
void ctf_device_free(struct ctf_device *device);
void ctf_handle_device_begin(struct ctf_import *ctf, const struct ctf_plan *plan,
			     const struct ctf_event *event);
void ctf_handle_device_end(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event);
void ctf_handle_device_queued(struct ctf_import *ctf, const struct ctf_plan *plan,
			      const struct ctf_event *event);
void ctf_handle_device_submitted(struct ctf_import *ctf, const struct ctf_plan *plan,
				 const struct ctf_event *event);
void ctf_handle_callback(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event);
void ctf_handle_launch(struct ctf_import *ctf, const struct ctf_plan *plan,
		       const struct ctf_event *event);
/* A call of a device's runtime begins (with its slice) or ends (TACHO_NONE). */
void ctf_note_call(struct ctf_import *ctf, const struct ctf_plan *plan,
		   const struct ctf_event *event, guint32 row);
/* The number of a device that is only named. */
gint32 ctf_device_number(struct ctf_import *ctf, guint32 name);
void ctf_device_finish(struct ctf_import *ctf);

#endif
