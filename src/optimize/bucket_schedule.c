#include "optimize/bucket_schedule.h"

#include <math.h>

#include "cost/transfer_cost.h"

/* Buckets under way at a time that are told apart. Source: derived from gloo, which has two workers a group. */
#define MAX_WORKERS 8
/* Source: derived from doubles, as in the replay: half a nanosecond is none. */
#define ALMOST_NS 0.5

struct moving {
	guint32 bucket;
	struct collective_time time;
	gdouble rest_ns, pace; /* of its bytes */
	gdouble core_wait_ns;  /* what it waits longer while the pass is under way */
};

struct schedule {
	const struct bucket_problem *problem;
	const guint32 *ends;
	guint32 n_buckets, n_queued, next; /* next: to be taken up */
	gdouble calls_ns;		   /* of those that are queued */
	gdouble *over_ns;
	gdouble now_ns,
		computed_ns; /* computed_ns: of what a rank would compute if no bytes moved */
	gdouble backward_ns; /* when the last gradient is there */
	struct moving moving[MAX_WORKERS];
	guint32 n_moving, n_workers;
};

static gdouble compute_rate(const struct schedule *schedule)
{
	return schedule->n_moving > 0 ? 1 - schedule->problem->taken : 1;
}

/* What is left to compute until so many gradients are there. */
static gdouble left_ns_of(const struct schedule *schedule, guint32 n_gradients)
{
	return schedule->problem->ready_ns[n_gradients - 1] + schedule->calls_ns -
	       schedule->computed_ns;
}

/* Until all are. */
static gdouble all_left_ns(const struct schedule *schedule)
{
	return left_ns_of(schedule, schedule->problem->n);
}

static void advance(struct schedule *schedule, gdouble duration_ns)
{
	gdouble rate = compute_rate(schedule), left_ns = all_left_ns(schedule);

	if (left_ns >= 0 && left_ns <= duration_ns * rate)
		schedule->backward_ns = schedule->now_ns + left_ns / rate;
	for (guint32 i = 0; i < schedule->n_moving; i++)
		schedule->moving[i].rest_ns -= duration_ns * schedule->moving[i].pace;
	schedule->now_ns += duration_ns;
	schedule->computed_ns += duration_ns * rate;
}

/* All that is under way shares one link, and waits for a core while the pass is. */
static void set_paces(struct schedule *schedule)
{
	gdouble n = schedule->n_moving;
	gboolean is_computing = all_left_ns(schedule) > ALMOST_NS;

	for (guint32 i = 0; i < schedule->n_moving; i++) {
		struct moving *moving = &schedule->moving[i];

		moving->pace = graph_transfer_pace(
			moving->time.fixed_ns + (is_computing ? moving->core_wait_ns : 0),
			moving->time.work_ns, (struct graph_sharing){ n, n });
	}
}

static void take_up(struct schedule *schedule)
{
	const struct bucket_problem *problem = schedule->problem;
	struct moving moving = { .bucket = schedule->next };
	guint32 first = schedule->next ? schedule->ends[schedule->next - 1] : 0;
	guint64 bytes = 0;

	for (guint32 i = first; i < schedule->ends[schedule->next]; i++)
		bytes += problem->bytes[i];
	moving.time = problem->cost(problem->cost_data, bytes);
	moving.time.fixed_ns = MAX(moving.time.fixed_ns, 0.0);
	schedule->next++;
	if (moving.time.work_ns <= 0) { /* it shares nothing */
		schedule->over_ns[moving.bucket] = schedule->now_ns + moving.time.fixed_ns;
		return;
	}
	moving.rest_ns = moving.time.work_ns;
	if (problem->core_wait_ns > 0)
		moving.core_wait_ns =
			problem->core_wait_ns *
			transfer_latencies(problem->operation, bytes, problem->n_ranks);
	schedule->moving[schedule->n_moving++] = moving;
	set_paces(schedule);
}

static void end_some(struct schedule *schedule)
{
	guint32 n_kept = 0;

	for (guint32 i = 0; i < schedule->n_moving; i++) {
		const struct moving *moving = &schedule->moving[i];

		if (moving->rest_ns > ALMOST_NS * moving->pace)
			schedule->moving[n_kept++] = *moving;
		else
			schedule->over_ns[moving->bucket] = schedule->now_ns;
	}
	schedule->n_moving = n_kept;
	set_paces(schedule);
}

/* A worker is free for a bucket that is queued. */
static gboolean can_take_up(const struct schedule *schedule)
{
	return schedule->next < schedule->n_queued && schedule->n_moving < schedule->n_workers;
}

static gdouble until_queued(const struct schedule *schedule)
{
	gdouble left_ns;

	if (schedule->n_queued == schedule->n_buckets)
		return INFINITY;
	left_ns = left_ns_of(schedule, schedule->ends[schedule->n_queued]);
	return left_ns > 0 ? left_ns / compute_rate(schedule) : 0;
}

/* Workers wake that have nothing else to do. */
static void queue(struct schedule *schedule)
{
	guint32 n_busy = schedule->n_moving + (schedule->n_queued - schedule->next);

	schedule->n_queued++;
	if (n_busy < schedule->n_workers)
		schedule->calls_ns +=
			schedule->problem->call_ns * (1 - (gdouble)n_busy / schedule->n_workers);
	set_paces(schedule);
}

static gdouble until_end(const struct schedule *schedule)
{
	gdouble soonest_ns = INFINITY;

	for (guint32 i = 0; i < schedule->n_moving; i++)
		soonest_ns = MIN(soonest_ns,
				 MAX(schedule->moving[i].rest_ns, 0.0) / schedule->moving[i].pace);
	return soonest_ns;
}

/* When the pass ends, where that changes the pace of what is under way. */
static gdouble until_rest(const struct schedule *schedule)
{
	gdouble left_ns = all_left_ns(schedule);

	if (schedule->problem->core_wait_ns <= 0 || schedule->n_moving == 0 || left_ns <= ALMOST_NS)
		return INFINITY;
	return left_ns / compute_rate(schedule);
}

/* Each bucket is waited for and copied back, in order, when the pass is over: nothing moves any more that could hold up the rest of it. */
static gdouble copy_back(const struct schedule *schedule)
{
	gdouble left_ns = all_left_ns(schedule);
	gdouble time_ns = left_ns > 0 ? schedule->now_ns + left_ns : schedule->backward_ns;
	guint32 gradient = 0;

	for (guint32 i = 0; i < schedule->n_buckets; i++) {
		time_ns = MAX(time_ns, schedule->over_ns[i]);
		for (; gradient < schedule->ends[i]; gradient++)
			time_ns += schedule->problem->copy_ns[gradient];
	}
	return time_ns;
}

gdouble bucket_schedule_ns(const struct bucket_problem *problem, const guint32 *ends,
			   guint32 n_buckets, gdouble *over_ns)
{
	struct schedule schedule = { .problem = problem,
				     .ends = ends,
				     .n_buckets = n_buckets,
				     .over_ns = over_ns,
				     .n_workers = CLAMP(problem->n_workers, 1, MAX_WORKERS) };

	for (;;) {
		gdouble queued_ns, end_ns, rest_ns;

		while (can_take_up(&schedule))
			take_up(&schedule);
		queued_ns = until_queued(&schedule);
		end_ns = until_end(&schedule);
		rest_ns = until_rest(&schedule);
		if (queued_ns == INFINITY && end_ns == INFINITY)
			break;
		if (rest_ns < MIN(queued_ns, end_ns)) {
			advance(&schedule, rest_ns);
			set_paces(&schedule);
			continue;
		}
		advance(&schedule, MIN(queued_ns, end_ns));
		if (end_ns <= queued_ns)
			end_some(&schedule);
		else
			queue(&schedule);
	}
	return copy_back(&schedule) + problem->tail_ns;
}
