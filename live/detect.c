/* detect: what is wrong with a job, by what following its run has brought. docs/live.md tells users what each finding means.
 *
 * A finding is raised once, when its condition has held as long as it must, and is over when it has not held for CLEAR_NS.
 * Conditions are of two sorts:
 *
 *     stillness   nothing ends: hang, mismatch, stall, rank_gone. Judged by what is open, and by time.
 *     figures     steps end, but not as they should: slow_steps, straggler, loader, memory_growth. Judged by steps.
 *
 * (1) A job is compared with itself: with its own steps before, or its ranks with each other. No figure is wrong by itself.
 * (2) What varies by itself is let vary: a difference must be large beside the spread of what it is compared with. */
#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "live/live_internal.h"
#include "live/other_load.h"
#include "live/recent_steps.h"

#define NS_PER_S	 G_GINT64_CONSTANT(1000000000)
#define CLEAR_NS	 (10 * NS_PER_S)
#define STILL_NS	 (4 * NS_PER_S)	 /* nothing ends for so long, and ... */
#define STILL_FACTOR	 10		 /* ... so many times the median step */
#define STALL_NS	 (30 * NS_PER_S) /* evaluation and checkpoints take their time, too */
#define STALL_FACTOR	 4
#define TOLD_NS		 (2 * NS_PER_S) /* by then it is told how a rank ended, or never */
#define WARM_UP		 5		/* steps that are compared with nothing */
#define MIN_HISTORY	 20		/* steps to compare with */
#define MAX_HISTORY	 200
#define NEWEST		 8 /* steps that are compared with these, and whose ranks are with each other */
#define SLOW_FACTOR	 1.4
#define SLOW_SPREADS	 5 /* median absolute deviations, scaled to a standard deviation */
#define MAD_TO_DEVIATION 1.4826
#define LATE_PART	 0.3 /* of a step that a rank does more by itself */
#define LATE_NS		 (5 * 1000000)
#define LATE_STEPS	 16 /* in how many the same rank must be the late one: all but MAX_OTHERS */
#define MAX_OTHERS	 2
#define LOADING_PART	 0.35 /* of a step that goes to waiting for data */
#define LOADING_NS	 (5 * 1000000)
#define LEAK_SAMPLES	 6 /* about a second apart, each above the one before */
#define LEAK_STEP_BYTES	 (512 << 10)
#define LEAK_BYTES	 (12 << 20)
#define SAMPLE_NS	 NS_PER_S
#define LEAK_WARM_UP_NS	 (5 * NS_PER_S) /* of the first steps: memory grows by itself */

struct memory_samples {
	gint64 at_ns[LEAK_SAMPLES];
	gint64 bytes[LEAK_SAMPLES];
	guint n;
};

struct _TachoDetector {
	gchar *run; /* for a shell */
	GPtrArray *findings;
	GHashTable *memory; /* rank -> struct memory_samples */
	OtherLoad *load;
	gint64 first_step_ns; /* when the first step was seen */
	/* of the call at work */
	const TachoFollow *follow;
	gint64 now_ns;
	gint64 known_ns; /* what is known was all that there was then: nobody waits longer than until then, as far as is known */
	guint n_new;
};

static void finding_free(gpointer pointer)
{
	TachoFinding *finding = pointer;

	g_free(finding->what);
	g_free(finding->evidence);
	g_free(finding->command);
	g_free(finding);
}

const gchar *tacho_finding_name(TachoFindingKind kind)
{
	static const gchar *const names[] = {
#define FINDING_NAME(enumerator, name) #name,
		TACHO_FINDINGS(FINDING_NAME)
#undef FINDING_NAME
	};

	return kind < TACHO_N_FINDINGS ? names[kind] : "";
}

TachoDetector *tacho_detector_new(const gchar *run)
{
	TachoDetector *detector = g_new0(TachoDetector, 1);

	detector->run = g_shell_quote(run);
	detector->findings = g_ptr_array_new_with_free_func(finding_free);
	detector->memory = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	detector->load = other_load_new();
	return detector;
}

void tacho_detector_free(TachoDetector *detector)
{
	if (!detector)
		return;
	g_free(detector->run);
	g_ptr_array_unref(detector->findings);
	g_hash_table_unref(detector->memory);
	other_load_unref(detector->load);
	g_free(detector);
}

void detector_share_load(TachoDetector *detector, OtherLoad *load)
{
	other_load_unref(detector->load);
	detector->load = other_load_ref(load);
}

const GPtrArray *tacho_detector_borrow_findings(const TachoDetector *detector)
{
	return detector->findings;
}

/* --- findings -------------------------------------------------------------------------------- */

/* The finding of that kind and rank that is not over; NULL: there is none. */
static TachoFinding *find_open(const TachoDetector *detector, TachoFindingKind kind, gint32 rank)
{
	FOR_EACH_POINTER(TachoFinding, finding, detector->findings)
		if (finding->kind == kind && finding->rank == rank && !finding->is_over)
			return finding;
	return NULL;
}

/* A new finding, or NULL where it is known. Its texts are the caller's to fill in. */
static TachoFinding *raise_finding(TachoDetector *detector, TachoFindingKind kind, gint32 rank,
				   gint64 since_ns, const gchar *view)
{
	TachoFinding *finding = find_open(detector, kind, rank);

	if (finding) {
		finding->unix_ns = detector->now_ns;
		return NULL;
	}
	finding = g_new0(TachoFinding, 1);
	finding->kind = kind;
	finding->rank = rank;
	finding->unix_ns = detector->now_ns;
	finding->since_unix_ns = since_ns;
	finding->step = (guint32)MAX(recent_steps_last(detector->follow), 0);
	finding->command = view ? g_strdup_printf("tacho report %s --view %s", detector->run, view)
				: g_strdup_printf("tacho info %s", detector->run);
	g_ptr_array_add(detector->findings, finding);
	detector->n_new++;
	return finding;
}

/* What has not been seen for a while is over. */
static void close_old(TachoDetector *detector)
{
	FOR_EACH_POINTER(TachoFinding, finding, detector->findings)
		if (detector->now_ns - finding->unix_ns > CLEAR_NS &&
		    finding->kind != TACHO_FINDING_GONE)
			finding->is_over = TRUE;
}

/* --- texts ----------------------------------------------------------------------------------- */

static gchar *tell_ranks(const GArray *ranks)
{
	GString *text = g_string_new(ranks->len == 1 ? "rank " : "ranks ");

	for (guint i = 0; i < ranks->len && i < 8; i++)
		g_string_append_printf(text, "%s%d", i ? ", " : "",
				       g_array_index(ranks, gint32, i));
	if (ranks->len > 8)
		g_string_append_printf(text, " and %u more", ranks->len - 8);
	return g_string_free(text, FALSE);
}

static const TachoLiveRank *rank_of(const TachoDetector *detector, gint32 number)
{
	FOR_EACH(const TachoLiveRank, rank, tacho_follow_borrow_ranks(detector->follow))
		if (rank->rank == number)
			return rank;
	return NULL;
}

static const gchar *tell_state(const TachoLiveRank *rank)
{
	switch (rank->state) {
	case 'T':
	case 't':
		return ", which is stopped (SIGSTOP, or a debugger)";
	case 'D':
		return ", which waits for a disk";
	default:
		return "";
	}
}

/* What each of the ranks does now. */
static void tell_doing(const TachoDetector *detector, const GArray *ranks, GString *text)
{
	for (guint i = 0; i < ranks->len && i < 4; i++) {
		const TachoLiveRank *rank = rank_of(detector, g_array_index(ranks, gint32, i));

		if (!rank)
			continue;
		g_string_append_printf(text, "%srank %d (process %u%s) ", text->len ? "; " : "",
				       rank->rank, rank->pid, tell_state(rank));
		if (rank->doing && *rank->doing)
			g_string_append_printf(text, "is in %s", rank->doing);
		else
			g_string_append(text, "is in nothing that was recorded");
	}
}

/* --- stillness ------------------------------------------------------------------------------- */

static gdouble median_step_ns(const TachoFollow *follow)
{
	g_autoptr(GArray) times = recent_steps_times(follow, 50, 1);

	return live_median((const gdouble *)(gpointer)times->data, times->len);
}

/* How long nothing may end. */
static gint64 patience_ns(const TachoFollow *follow)
{
	gdouble median_ns = median_step_ns(follow);

	return isfinite(median_ns) ? MAX(STILL_NS, (gint64)(median_ns * STILL_FACTOR))
				   : 10 * STILL_NS;
}

static gint64 last_step_ns(const TachoFollow *follow)
{
	gint64 last_ns = 0;

	FOR_EACH(const TachoLiveRank, rank, tacho_follow_borrow_ranks(follow))
		last_ns = MAX(last_ns, rank->last_step_unix_ns);
	return last_ns;
}

/* The first of these ranks whose process is stopped; NULL: none is. */
static const TachoLiveRank *find_stopped(const TachoDetector *detector, const GArray *ranks)
{
	for (guint i = 0; i < ranks->len; i++) {
		const TachoLiveRank *rank = rank_of(detector, g_array_index(ranks, gint32, i));

		if (rank && (rank->state == 'T' || rank->state == 't'))
			return rank;
	}
	return NULL;
}

static void judge_collective(TachoDetector *detector, const TachoLiveCollective *collective)
{
	gdouble waited_s = (gdouble)(detector->known_ns - collective->begin_unix_ns) / 1e9;
	g_autofree gchar *present = tell_ranks(collective->present);
	g_autofree gchar *missing = tell_ranks(collective->missing);
	g_autoptr(GString) evidence = g_string_new(NULL);
	const TachoLiveRank *stopped = find_stopped(detector, collective->present);
	gint32 rank = collective->missing->len ? g_array_index(collective->missing, gint32, 0) : -1;
	TachoFinding *finding;

	if (collective->missing->len) {
		finding = raise_finding(detector, TACHO_FINDING_HANG, rank,
					collective->begin_unix_ns, NULL);
		if (!finding)
			return;
		finding->what =
			g_strdup_printf("%s (%" G_GUINT64_FORMAT
					" bytes) hangs: %s %s in it for %.1f s, %s %s not come",
					collective->name, collective->bytes, present,
					collective->present->len == 1 ? "is" : "are", waited_s,
					missing, collective->missing->len == 1 ? "has" : "have");
		tell_doing(detector, collective->missing, evidence);
	} else if (collective->other) {
		finding = raise_finding(detector, TACHO_FINDING_MISMATCH, -1,
					collective->begin_unix_ns, NULL);
		if (!finding)
			return;
		finding->what = g_strdup_printf(
			"ranks wait in different collectives: %s in %s (%" G_GUINT64_FORMAT
			" bytes), but %s, for %.1f s",
			present, collective->name, collective->bytes, collective->other, waited_s);
		tell_doing(detector, collective->present, evidence);
	} else if (stopped) {
		finding = raise_finding(detector, TACHO_FINDING_HANG, stopped->rank,
					collective->begin_unix_ns, NULL);
		if (!finding)
			return;
		finding->what = g_strdup_printf(
			"%s (%" G_GUINT64_FORMAT
			" bytes) hangs: %s are in it for %.1f s, but rank %d is stopped",
			collective->name, collective->bytes, present, waited_s, stopped->rank);
		tell_doing(detector, collective->present, evidence);
	} else {
		finding = raise_finding(detector, TACHO_FINDING_STALL, -1,
					collective->begin_unix_ns, NULL);
		if (!finding)
			return;
		finding->what = g_strdup_printf(
			"%s (%" G_GUINT64_FORMAT
			" bytes) does not end: all its ranks are in it for %.1f s; the network "
			"between them is slow or cut",
			collective->name, collective->bytes, waited_s);
		tell_doing(detector, collective->present, evidence);
	}
	finding->evidence = g_string_free(g_steal_pointer(&evidence), FALSE);
}

/* No rank waits for another, and yet nothing ends. */
static void judge_stall(TachoDetector *detector, gint64 still_ns)
{
	g_autoptr(GArray) ranks = g_array_new(FALSE, FALSE, sizeof(gint32));
	g_autoptr(GString) evidence = g_string_new(NULL);
	gint64 last_ns = last_step_ns(detector->follow);
	TachoFinding *finding;

	FOR_EACH(const TachoLiveRank, rank, tacho_follow_borrow_ranks(detector->follow))
		if (rank->end == TACHO_END_RUNNING)
			g_array_append_val(ranks, rank->rank);
	if (!ranks->len)
		return;
	finding = raise_finding(detector, TACHO_FINDING_STALL, -1, last_ns, NULL);
	if (!finding)
		return;
	tell_doing(detector, ranks, evidence);
	finding->what =
		g_strdup_printf("no step has ended for %.1f s, and no rank waits for another",
				(gdouble)still_ns / 1e9);
	finding->evidence = g_string_free(g_steal_pointer(&evidence), FALSE);
}

static void judge_stillness(TachoDetector *detector)
{
	const GPtrArray *collectives = tacho_follow_borrow_collectives(detector->follow);
	gint64 patience = patience_ns(detector->follow);
	gint64 since_ns = detector->known_ns - last_step_ns(detector->follow);
	gboolean is_waiting = FALSE;

	if (tacho_follow_is_behind(detector->follow) || tacho_follow_is_over(detector->follow))
		return;
	FOR_EACH_POINTER(const TachoLiveCollective, collective, collectives)
		if (detector->known_ns - collective->begin_unix_ns > patience &&
		    since_ns > patience) {
			judge_collective(detector, collective);
			is_waiting = TRUE;
		}
	if (!is_waiting && last_step_ns(detector->follow) &&
	    since_ns > MAX(STALL_NS, STALL_FACTOR * patience))
		judge_stall(detector, since_ns);
}

/* --- a rank that is gone --------------------------------------------------------------------- */

static void judge_rank_end(TachoDetector *detector, const TachoLiveRank *rank)
{
	TachoFinding *finding =
		raise_finding(detector, TACHO_FINDING_GONE, rank->rank, rank->last_unix_ns, NULL);

	if (!finding)
		return;
	if (rank->end == TACHO_END_KILLED)
		finding->what = g_strdup_printf("rank %d (process %u) was killed by signal %d",
						rank->rank, rank->pid, rank->exit_status);
	else if (rank->end == TACHO_END_EXITED)
		finding->what = g_strdup_printf("rank %d (process %u) has ended with status %d",
						rank->rank, rank->pid, rank->exit_status);
	else
		finding->what =
			g_strdup_printf("rank %d (process %u) has ended, and nobody saw how",
					rank->rank, rank->pid);
	finding->evidence =
		rank->doing && *rank->doing
			? g_strdup_printf("its last record is %.1f s old; it was in %s",
					  (gdouble)(detector->now_ns - rank->last_unix_ns) / 1e9,
					  rank->doing)
			: g_strdup_printf("its last record is %.1f s old",
					  (gdouble)(detector->now_ns - rank->last_unix_ns) / 1e9);
}

static void judge_ends(TachoDetector *detector)
{
	const GArray *ranks = tacho_follow_borrow_ranks(detector->follow);

	FOR_EACH(const TachoLiveRank, rank, ranks) {
		gboolean is_failed = rank->end == TACHO_END_KILLED ||
				     rank->end == TACHO_END_UNKNOWN ||
				     (rank->end == TACHO_END_EXITED && rank->exit_status != 0);

		/* of a run that is over long since, nobody may have seen how it ended */
		if (rank->end == TACHO_END_UNKNOWN &&
		    (tacho_follow_is_over(detector->follow) ||
		     detector->now_ns - rank->last_unix_ns < TOLD_NS))
			continue;
		if (is_failed && rank->pid)
			judge_rank_end(detector, rank);
	}
}

/* --- figures --------------------------------------------------------------------------------- */

/* Which part of the steps grew most, and by how much of all of it. */
static const gchar *find_grown(const GArray *now, const GArray *before, gdouble *ret_share)
{
	gdouble grown[4] = { 0 }, all = 0;
	static const gchar *const names[] = { "computation", "communication",
					      "waiting for late ranks", "idle time" };
	guint most = 0;

	for (guint i = 0; i < MIN(now->len, before->len); i++) {
		const struct recent_rank *a = &g_array_index(now, struct recent_rank, i);
		const struct recent_rank *b = &g_array_index(before, struct recent_rank, i);

		grown[0] += a->compute_ns - b->compute_ns;
		grown[1] += a->exposed_ns - b->exposed_ns;
		grown[2] += a->wait_ns - b->wait_ns;
		grown[3] += a->idle_ns - b->idle_ns;
		all += a->duration_ns - b->duration_ns;
	}
	for (guint i = 1; i < G_N_ELEMENTS(grown); i++)
		if (grown[i] > grown[most])
			most = i;
	*ret_share = all > 0 ? grown[most] / all : 0;
	return names[most];
}

/* Who else has taken the cores, where ranks wanted one and had none. */
static void tell_load(TachoDetector *detector, GString *evidence)
{
	const GArray *ranks = tacho_follow_borrow_ranks(detector->follow);
	g_autofree gchar *others = other_load_tell(detector->load, ranks);

	FOR_EACH(const TachoLiveRank, rank, ranks)
		if (isfinite(rank->delayed_share) && rank->delayed_share > 0.1)
			g_string_append_printf(
				evidence,
				"%srank %d wanted a core for %.0f %% of the time and had "
				"none",
				evidence->len ? "; " : "", rank->rank, rank->delayed_share * 100);
	if (others)
		g_string_append_printf(evidence, "%s%s", evidence->len ? "; " : "", others);
}

static void judge_slowness(TachoDetector *detector)
{
	g_autoptr(GArray) times =
		recent_steps_times(detector->follow, MAX_HISTORY + NEWEST, WARM_UP);
	guint n_before = times->len > NEWEST ? times->len - NEWEST : 0, n_slow = 0;
	gdouble *values = (gdouble *)(gpointer)times->data;
	g_autofree gdouble *apart = g_new0(gdouble, times->len + 1);
	gdouble before_ns, now_ns, deviation_ns;
	TachoFinding *finding;

	if (n_before < MIN_HISTORY)
		return;
	before_ns = live_median(values, n_before);
	now_ns = live_median(values + n_before, NEWEST);
	for (guint i = 0; i < n_before; i++)
		apart[i] = fabs(values[i] - before_ns);
	deviation_ns = live_median(apart, n_before) * MAD_TO_DEVIATION;
	for (guint i = n_before; i < times->len; i++)
		n_slow += values[i] > before_ns * (1 + (SLOW_FACTOR - 1) / 2) &&
			  values[i] > before_ns + SLOW_SPREADS / 2.0 * deviation_ns;
	if (now_ns < before_ns * SLOW_FACTOR || now_ns < before_ns + SLOW_SPREADS * deviation_ns ||
	    n_slow < NEWEST)
		return;
	finding = raise_finding(detector, TACHO_FINDING_SLOW, -1,
				last_step_ns(detector->follow) - (gint64)(now_ns * NEWEST), "step");
	if (finding) {
		g_autoptr(GArray) now = recent_steps_means(detector->follow, NEWEST, 0);
		g_autoptr(GArray) before = recent_steps_means(detector->follow, n_before, NEWEST);
		g_autoptr(GString) evidence = g_string_new(NULL);
		gdouble share;
		const gchar *grown = find_grown(now, before, &share);

		finding->what = g_strdup_printf("steps take %.1f ms, %.1f times the %.1f ms before",
						now_ns / 1e6, now_ns / before_ns, before_ns / 1e6);
		g_string_append_printf(evidence, "%.0f %% of it is %s", share * 100, grown);
		tell_load(detector, evidence);
		finding->evidence = g_string_free(g_steal_pointer(&evidence), FALSE);
	}
}

static gdouble own_ns(const TachoLiveStep *row)
{
	return (gdouble)(row->end_unix_ns - row->start_unix_ns) - row->exposed_ns - row->wait_ns;
}

/* In how many of the newest steps it is `rank` that does most by itself, of how many. */
static guint count_late(const TachoFollow *follow, gint32 rank, guint *ret_n)
{
	const GArray *rows = tacho_follow_borrow_steps(follow, NULL);
	gint64 number = -1;
	gint32 latest = -1;
	gdouble most_ns = 0;
	guint n_late = 0;

	*ret_n = 0;
	for (guint i = rows->len; i-- > 0 && *ret_n <= LATE_STEPS;) {
		const TachoLiveStep *row = &g_array_index(rows, TachoLiveStep, i);

		if (!row->is_complete)
			continue;
		if (row->number != number) {
			n_late += number >= 0 && latest == rank;
			*ret_n += number >= 0;
			number = row->number;
			most_ns = 0;
		}
		if (own_ns(row) > most_ns) {
			most_ns = own_ns(row);
			latest = row->rank;
		}
	}
	return n_late;
}

static void judge_lateness(TachoDetector *detector)
{
	g_autoptr(GArray) ranks = recent_steps_means(detector->follow, LATE_STEPS, 0);
	const struct recent_rank *slow = NULL, *next = NULL;
	gdouble waited_ns = 0;
	guint n, n_late;
	TachoFinding *finding;

	FOR_EACH(const struct recent_rank, rank, ranks)
		if (!slow || rank->own_ns > slow->own_ns)
			slow = rank;
	FOR_EACH(const struct recent_rank, rank, ranks) {
		if (rank == slow)
			continue;
		waited_ns += (rank->wait_ns + rank->exposed_ns) / (ranks->len - 1);
		if (!next || rank->own_ns > next->own_ns)
			next = rank;
	}
	if (!next || recent_steps_last(detector->follow) < WARM_UP + LATE_STEPS ||
	    slow->own_ns - next->own_ns < LATE_PART * slow->duration_ns ||
	    slow->own_ns - next->own_ns < LATE_NS || waited_ns < LATE_PART / 2 * slow->duration_ns)
		return;
	n_late = count_late(detector->follow, slow->rank, &n);
	if (n < LATE_STEPS || n_late + MAX_OTHERS < n)
		return;
	finding = raise_finding(detector, TACHO_FINDING_STRAGGLER, slow->rank, slow->first_unix_ns,
				"straggler");
	if (finding) {
		g_autoptr(GString) evidence = g_string_new(NULL);

		finding->what = g_strdup_printf("rank %d is late in %u of %u steps: by itself it "
						"takes %.1f ms, rank %d %.1f ms",
						slow->rank, n_late, n, slow->own_ns / 1e6,
						next->rank, next->own_ns / 1e6);
		g_string_append_printf(evidence, "what it does longer is %s",
				       live_why_slow(slow, next));
		tell_load(detector, evidence);
		finding->evidence = g_string_free(g_steal_pointer(&evidence), FALSE);
	}
}

static void judge_loading(TachoDetector *detector)
{
	g_autoptr(GArray) ranks = recent_steps_means(detector->follow, NEWEST, 0);

	if (recent_steps_last(detector->follow) < WARM_UP + NEWEST)
		return;
	FOR_EACH(const struct recent_rank, rank, ranks) {
		TachoFinding *finding;

		if (rank->data_wait_ns < LOADING_PART * rank->duration_ns ||
		    rank->data_wait_ns < LOADING_NS)
			continue;
		finding = raise_finding(detector, TACHO_FINDING_STARVED, rank->rank,
					rank->first_unix_ns, "step");
		if (!finding)
			continue;
		finding->what = g_strdup_printf(
			"rank %d waits for its data loader %.1f ms of a step of %.1f ms",
			rank->rank, rank->data_wait_ns / 1e6, rank->duration_ns / 1e6);
		finding->evidence =
			g_strdup_printf("that is %.0f %% of the last %u steps",
					100 * rank->data_wait_ns / rank->duration_ns, rank->n);
	}
}

static void take_sample(struct memory_samples *samples, gint64 now_ns, gint64 bytes)
{
	if (samples->n == LEAK_SAMPLES) {
		memmove(samples->at_ns, samples->at_ns + 1,
			(LEAK_SAMPLES - 1) * sizeof(samples->at_ns[0]));
		memmove(samples->bytes, samples->bytes + 1,
			(LEAK_SAMPLES - 1) * sizeof(samples->bytes[0]));
		samples->n--;
	}
	samples->at_ns[samples->n] = now_ns;
	samples->bytes[samples->n++] = bytes;
}

static gboolean is_growing(const struct memory_samples *samples)
{
	for (guint i = 1; i < samples->n; i++)
		if (samples->bytes[i] - samples->bytes[i - 1] < LEAK_STEP_BYTES)
			return FALSE;
	return samples->n == LEAK_SAMPLES &&
	       samples->bytes[samples->n - 1] - samples->bytes[0] >= LEAK_BYTES;
}

static void judge_memory_of(TachoDetector *detector, const TachoLiveRank *rank)
{
	gpointer key = GINT_TO_POINTER(rank->rank);
	struct memory_samples *samples = g_hash_table_lookup(detector->memory, key);
	TachoFinding *finding;
	gdouble grown_mb, seconds;

	if (!samples) {
		samples = g_new0(struct memory_samples, 1);
		g_hash_table_insert(detector->memory, key, samples);
	}
	if (rank->anonymous_bytes < 0 ||
	    (samples->n && detector->now_ns - samples->at_ns[samples->n - 1] < SAMPLE_NS))
		return;
	take_sample(samples, detector->now_ns, rank->anonymous_bytes);
	if (!is_growing(samples))
		return;
	finding = raise_finding(detector, TACHO_FINDING_LEAK, rank->rank, samples->at_ns[0],
				"memory");
	if (!finding)
		return;
	grown_mb = (gdouble)(samples->bytes[samples->n - 1] - samples->bytes[0]) / 1e6;
	seconds = (gdouble)(samples->at_ns[samples->n - 1] - samples->at_ns[0]) / 1e9;
	finding->what = g_strdup_printf("rank %d's memory grows by %.1f MB a second", rank->rank,
					grown_mb / seconds);
	finding->evidence = g_strdup_printf(
		"process %u: %.0f MB more in %.1f s, in each of %u looks; it has %.0f MB now",
		rank->pid, grown_mb, seconds, samples->n - 1, (gdouble)rank->anonymous_bytes / 1e6);
}

static void judge_memory(TachoDetector *detector)
{
	gint64 first_ns = detector->first_step_ns;

	if (!first_ns || detector->now_ns - first_ns < LEAK_WARM_UP_NS)
		return;
	FOR_EACH(const TachoLiveRank, rank, tacho_follow_borrow_ranks(detector->follow))
		if (rank->end == TACHO_END_RUNNING)
			judge_memory_of(detector, rank);
}

guint tacho_detector_judge(TachoDetector *detector, const TachoFollow *follow, gint64 now_unix_ns)
{
	detector->follow = follow;
	detector->now_ns = now_unix_ns;
	detector->known_ns = now_unix_ns - tacho_follow_unread_ns(follow);
	detector->n_new = 0;
	if (!detector->first_step_ns && recent_steps_last(follow) >= 0)
		detector->first_step_ns = now_unix_ns;
	other_load_look(detector->load);
	judge_ends(detector);
	judge_stillness(detector);
	if (tacho_follow_n_new(follow)) {
		judge_slowness(detector);
		judge_lateness(detector);
		judge_loading(detector);
	}
	judge_memory(detector);
	close_old(detector);
	detector->follow = NULL;
	return detector->n_new;
}
