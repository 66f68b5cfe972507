/* live: jobs while they run: what a run that is being written has come to, the jobs recorded on this host, and what is
 * wrong with them. Nothing here changes a job. */
#ifndef TACHO_LIVE_H
#define TACHO_LIVE_H

#include <tacho/analyze.h>
#include <tacho/table.h>
#include <tacho/timeline.h>

G_BEGIN_DECLS

/* --- one run ---------------------------------------------------------------------------------- */

/* Where one step of one rank went; docs/views.md defines the parts. */
typedef struct {
	gint32 rank;
	guint32 number;
	gint64 start_unix_ns, end_unix_ns;
	gdouble compute_ns, communication_ns, exposed_ns, wait_ns, data_wait_ns;
	gint64 memory_bytes,
		peak_bytes; /* allocated when it ended, and the most in it; -1: not recorded */
	gboolean is_complete;
} TachoLiveStep;

/* A rank as it is now. */
typedef struct {
	gint32 rank;
	guint32 pid; /* of its main process */
	gchar *host;
	TachoEnd end;
	gint32 exit_status;
	guint n_steps;		  /* that have ended */
	gint64 last_unix_ns;	  /* its last record */
	gint64 last_step_unix_ns; /* end of its last step; 0: it has none */
	gchar *doing; /* "thread 12 (main): forward > conv2d; ...": slices that are open; "" */
	/* of a main process of this host; -1: not known */
	gint64 anonymous_bytes; /* of its memory */
	gdouble delayed_share; /* of the time since the last look, for which its first thread wanted a core and had none */
	gchar state; /* as of ps: 'T': stopped; 0: not known */
} TachoLiveRank;

/* A collective that some ranks are in and others are not. */
typedef struct {
	gchar *name;
	guint64 bytes;
	gint64 begin_unix_ns;	   /* the first began to wait */
	GArray *present, *missing; /* gint32 ranks */
	gchar *other; /* what a missing rank does in its place, "rank 1: broadcast, 4 bytes"; NULL: nothing */
} TachoLiveCollective;

typedef struct _TachoFollow TachoFollow;

/* Follow the run that these are (as tacho_timeline_open() takes them). The result is the caller's. */
TachoFollow *tacho_follow_new(const gchar *const *paths, guint n_paths);
void tacho_follow_free(TachoFollow *follow);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoFollow, tacho_follow_free)

/* Look what has come. False where the run cannot be read; it may be a matter of time. */
gboolean tacho_follow_look(TachoFollow *follow, GError **error);
/* Whether the run is over, and all of it has been read. */
gboolean tacho_follow_is_over(const TachoFollow *follow);
/* Whether there was more to read than a look takes: look again at once. */
gboolean tacho_follow_is_behind(const TachoFollow *follow);

/* How long before the newest look what is known was all that there was: 0, unless reading would have taken more than its share of a core. */
gint64 tacho_follow_unread_ns(const TachoFollow *follow);

/* TachoLiveStep, as they came: by number, then rank, where ranks go in step. The oldest are dropped, and counted. */
const GArray *tacho_follow_borrow_steps(const TachoFollow *follow, guint64 *ret_n_dropped);
/* How many of these came with the last look. When the steps turn out to be others than they seemed (docs/live.md), all are
 * found anew; then the count of beginnings grows. */
guint tacho_follow_n_new(const TachoFollow *follow);
guint tacho_follow_n_beginnings(const TachoFollow *follow);
const GArray *tacho_follow_borrow_ranks(const TachoFollow *follow); /* TachoLiveRank, by rank */
/* TachoLiveCollective: those that ranks were in when the run was read last. */
const GPtrArray *tacho_follow_borrow_collectives(const TachoFollow *follow);
gint64 tacho_follow_first_unix_ns(const TachoFollow *follow); /* 0: nothing was recorded */
gint64 tacho_follow_last_unix_ns(const TachoFollow *follow);
const gchar *tacho_follow_command(const TachoFollow *follow);

/* The step view (or its summary) of what was found so far; `only_new`: of what came with the last look. NULL where the run
 * cannot be read any more. */
TachoTable *tacho_follow_step_table(TachoFollow *follow, gboolean only_new, gboolean is_summary);
/* With every look that brings steps, make this view of them; NULL: none. */
typedef TachoTable *(*TachoLiveView)(const TachoTimeline *timeline, const TachoFilter *filter);
void tacho_follow_set_view(TachoFollow *follow, TachoLiveView view);
const TachoTable *tacho_follow_borrow_view(const TachoFollow *follow);

/* What following has taken: bytes read, bytes in the window now, most of them. */
void tacho_follow_costs(const TachoFollow *follow, guint64 *ret_read, guint64 *ret_window,
			guint64 *ret_most);

/* --- what is wrong ---------------------------------------------------------------------------- */

/* FINDING(enumerator, name) */
#define TACHO_FINDINGS(FINDING)                                                                    \
	FINDING(HANG, hang)	      /* ranks wait in a collective for others */                  \
	FINDING(MISMATCH, mismatch)   /* ranks wait in different collectives */                    \
	FINDING(STALL, stall)	      /* no step ends, though no rank waits for another */         \
	FINDING(GONE, rank_gone)      /* a rank has ended and others run on */                     \
	FINDING(SLOW, slow_steps)     /* steps take longer than they did */                        \
	FINDING(STRAGGLER, straggler) /* others wait for one rank, step by step */                 \
	FINDING(STARVED, loader)      /* steps wait for their data */                              \
	FINDING(LEAK, memory_growth)  /* memory grows with every step */

typedef enum {
#define TACHO_FINDING_ENUM(enumerator, name) TACHO_FINDING_##enumerator,
	TACHO_FINDINGS(TACHO_FINDING_ENUM)
#undef TACHO_FINDING_ENUM
		TACHO_N_FINDINGS
} TachoFindingKind;

typedef struct {
	TachoFindingKind kind;
	gint32 rank;	      /* -1: of no one rank */
	gint64 unix_ns;	      /* when it was found */
	gint64 since_unix_ns; /* when it began, as far as is known */
	guint32 step;	      /* the last step then */
	gchar *what;	      /* a sentence */
	gchar *evidence;      /* another; "" */
	gchar *command;	      /* what to run next */
	gboolean is_over;     /* it has gone by */
} TachoFinding;

const gchar *tacho_finding_name(TachoFindingKind kind);

typedef struct _TachoDetector TachoDetector;
/* `run`: as commands name it. */
TachoDetector *tacho_detector_new(const gchar *run);
void tacho_detector_free(TachoDetector *detector);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoDetector, tacho_detector_free)
/* Judge what the look before has brought, which began at `now_unix_ns`. Returns how many findings are new: the last of all. */
guint tacho_detector_judge(TachoDetector *detector, const TachoFollow *follow, gint64 now_unix_ns);
const GPtrArray *tacho_detector_borrow_findings(const TachoDetector *detector); /* TachoFinding */

/* --- the jobs of this host -------------------------------------------------------------------- */

/* A job that is being recorded, or was when it was last looked at. */
typedef struct {
	guint id;   /* among those that were ever seen */
	gint64 pid; /* of `tacho record`; 0: the run was named */
	gchar *path, *command;
	gint64 start_unix_ns;
	gint64 seen_unix_ns;	/* since when it is followed, and its findings are counted */
	gint64 counted_unix_ns; /* when the counts of its steps were 0; 0: not known */
	TachoFollow *follow;
	TachoDetector *detector;
	gboolean is_over;
	gchar *error; /* why it cannot be read; NULL: it can */
} TachoJob;

typedef struct _TachoJobs TachoJobs;
/* The jobs of the user's registry, or the runs named. The result is the caller's. */
TachoJobs *tacho_jobs_new(const gchar *const *paths, guint n_paths);
void tacho_jobs_free(TachoJobs *jobs);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TachoJobs, tacho_jobs_free)
/* Look at all. Jobs that are over stay for a minute if the registry told of them, else for good. */
void tacho_jobs_look(TachoJobs *jobs);
const GPtrArray *tacho_jobs_borrow(const TachoJobs *jobs); /* TachoJob */

/* Rows of all jobs, of the ranks of one, and of what was found wrong with it. The caller's. */
TachoTable *tacho_jobs_table(const TachoJobs *jobs);
TachoTable *tacho_job_ranks_table(const TachoJob *job);
TachoTable *tacho_job_findings_table(const TachoJob *job);

/* What a job's newest steps come to. */
typedef struct {
	guint32 n_steps;	    /* steps of the rank that has most */
	gdouble step_ms, before_ms; /* median of the newest steps, and of those before; NaN: none */
	gdouble compute_pct, exposed_pct, wait_pct, idle_pct,
		data_wait_pct; /* of the newest steps */
	gint64 memory_bytes;   /* the most of a rank: allocated, or else anonymous; -1: not known */
	gint32 slowest_rank;   /* for which the others wait; -1: none */
	const gchar *why;      /* what it does longer than they; static */
} TachoJobSummary;
void tacho_job_summarize(const TachoFollow *follow, TachoJobSummary *summary);

G_END_DECLS

#endif
