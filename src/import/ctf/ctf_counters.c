/* ctf_counters: the hardware counters of kernels, as a library in front of HSA reads them: the parameters of a kernel,
 * then its counters, when the next kernel is launched or at the end.
 *
 * (1) A value is a sample of its counter at the begin of its kernel, and an arg of that kernel ("counter.NAME").
 * (2) They are of the last kernel that had begun by then, if that runs the code object that they name: kernels whose
 *     counters are read run one after the other. Where most have no such kernel (its time is not known), ctf_work.h
 *     says which: by the code object where kernels tell it, else by order. Where there are not as many of each and only
 *     the order tells, nothing is joined: the values stay at the time when they were told.
 * (3) Times and counters of kernels cannot be had in one run of the job: counters of a process without kernels are
 *     joined with the kernels of the only process that has no counters, if there are as many. */
#include "import/ctf/ctf_import.h"

#include "base/for_each.h"

/* Kernels whose counters are read run one after the other, whatever queues they are on. */
#define ONE_QUEUE 1

struct value {
	guint32 name; /* string id */
	gint64 time_ns;
	gdouble value;
};

/* What was counted for a kernel. */
struct record {
	struct ctf_work work; /* what: the code object */
	guint first_value, n_values;
};

struct ctf_counters {
	GArray *records; /* struct record */
	GArray *values;	 /* struct value, by record */
};

static struct ctf_counters *counters_of(struct ctf_owner *owner)
{
	struct ctf_counters *counters = owner->counters;

	if (counters)
		return counters;
	counters = owner->counters = g_new0(struct ctf_counters, 1);
	counters->records = g_array_new(FALSE, FALSE, sizeof(struct record));
	counters->values = g_array_new(FALSE, FALSE, sizeof(struct value));
	return counters;
}

void ctf_counters_free(struct ctf_counters *counters)
{
	if (!counters)
		return;
	g_array_unref(counters->records);
	g_array_unref(counters->values);
	g_free(counters);
}

static struct record *record_at(const struct ctf_counters *counters, guint i)
{
	return &g_array_index(counters->records, struct record, i);
}

/* --- events --------------------------------------------------------------------------------- */

static struct record *begin_record(struct ctf_counters *counters, gint64 time_ns)
{
	struct record record = { .work.time_ns = time_ns, .first_value = counters->values->len };

	record.work.row = counters->records->len;
	record.work.queue = ONE_QUEUE;
	g_array_append_val(counters->records, record);
	return record_at(counters, counters->records->len - 1);
}

void ctf_handle_parameters(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event)
{
	begin_record(counters_of(ctf->thread->owner), event->time_ns);
	ctf_handle_instant(ctf, plan, event);
}

static gboolean has_value(const struct ctf_counters *counters, const struct record *record,
			  guint32 name)
{
	for (guint i = 0; i < record->n_values; i++)
		if (g_array_index(counters->values, struct value, record->first_value + i).name ==
		    name)
			return TRUE;
	return FALSE;
}

enum counter_field { COUNTER_VALUE, COUNTER_OBJECT };

/* One that cannot be of the record at work is of a kernel whose parameters were lost. */
void ctf_handle_device_counter(struct ctf_import *ctf, const struct ctf_plan *plan,
			       const struct ctf_event *event)
{
	struct ctf_counters *counters = counters_of(ctf->thread->owner);
	struct value value = { .name = ctf_intern_field(ctf, event, plan->label_field),
			       .time_ns = event->time_ns };
	guint32 object = ctf_intern_field(ctf, event, plan->fields[COUNTER_OBJECT]);
	struct record *record =
		counters->records->len ? record_at(counters, counters->records->len - 1) : NULL;

	ctf_handle_instant(ctf, plan, event);
	if (!value.name || !ctf_event_number(event, plan->fields[COUNTER_VALUE], &value.value))
		return;
	if (!record || (record->work.what && record->work.what != object) ||
	    has_value(counters, record, value.name))
		record = begin_record(counters, event->time_ns);
	record->work.what = object;
	record->n_values++;
	g_array_append_val(counters->values, value);
}

/* --- the join ------------------------------------------------------------------------------- */

/* The sample of a value, and where `kernel` is known, the arg of that: (1). */
static void place_value(struct ctf_import *ctf, struct ctf_owner *owner, const struct value *value,
			const struct ctf_work *kernel)
{
	const gchar *name = tacho_timeline_string(ctf->timeline, value->name);
	g_autofree gchar *key = g_strconcat("counter.", name, NULL);

	ctf_add_sample(ctf, ctf_lane(ctf, owner, TACHO_TRACK_COUNTER, name, 0, 0),
		       kernel ? ctf->timeline->slices.start_ns[kernel->row] : value->time_ns,
		       value->value);
	if (kernel && kernel->reader)
		ctf_reader_add_number(kernel->reader, kernel->offset, key, value->value);
}

/* `owner` is whose samples they are; `kernels` NULL: they belong to none. */
static void place_all(struct ctf_import *ctf, struct ctf_owner *owner,
		      const struct ctf_counters *counters, const GArray *kernels,
		      const guint *kernel_of)
{
	FOR_EACH_AT(const struct record, record, i, counters->records) {
		gboolean is_joined = kernels && kernel_of[i] != CTF_NO_MATCH;

		for (guint k = 0; k < record->n_values; k++)
			place_value(ctf, owner,
				    &g_array_index(counters->values, struct value,
						   record->first_value + k),
				    is_joined ? ctf_work_at(kernels, kernel_of[i]) : NULL);
	}
}

static GArray *sorted_kernels(const struct ctf_import *ctf, const GArray *list)
{
	GArray *kernels = g_array_sized_new(FALSE, FALSE, sizeof(struct ctf_work), list->len);

	for (guint i = 0; i < list->len; i++) {
		struct ctf_work kernel = *ctf_work_at(list, i);

		kernel.time_ns = ctf->timeline->slices.start_ns[kernel.row];
		kernel.queue = ONE_QUEUE;
		g_array_append_val(kernels, kernel);
	}
	ctf_work_sort(kernels);
	return kernels;
}

/* The records as what is matched: each at its place. */
static GArray *listed_records(const struct ctf_counters *counters)
{
	GArray *list = g_array_new(FALSE, FALSE, sizeof(struct ctf_work));

	for (guint i = 0; i < counters->records->len; i++)
		g_array_append_val(list, record_at(counters, i)->work);
	return list;
}

/* (2), by time; NULL: most have no kernel so. */
static guint *match_by_time(const GArray *kernels, const GArray *records)
{
	g_autofree guint *kernel_of = g_new(guint, records->len + 1);
	guint next = 0, used = 0, n_joined = 0;

	for (guint i = 0; i < records->len; i++) {
		const struct ctf_work *record = ctf_work_at(records, i), *kernel;

		kernel_of[i] = CTF_NO_MATCH;
		while (next < kernels->len &&
		       ctf_work_at(kernels, next)->time_ns <= record->time_ns)
			next++;
		if (next == used) /* none has begun since the last record */
			continue;
		kernel = ctf_work_at(kernels, next - 1);
		if (record->what && kernel->is_object && kernel->what != record->what)
			continue;
		kernel_of[i] = next - 1;
		used = next;
		n_joined++;
	}
	return n_joined * 2 > records->len ? g_steal_pointer(&kernel_of) : NULL;
}

/* `run` is the process whose kernels they are; its own, or that of another run. */
static void join(struct ctf_import *ctf, struct ctf_owner *run, const struct ctf_owner *owner)
{
	const struct ctf_counters *counters = owner->counters;
	g_autoptr(GArray) kernels = sorted_kernels(ctf, ctf_kernels_of(run));
	g_autoptr(GArray) records = listed_records(counters);
	g_autoptr(GArray) no_borders = g_array_new(FALSE, FALSE, sizeof(gint64));
	g_autofree guint *kernel_of = NULL;
	guint n_joined = 0;
	gboolean is_guess = FALSE;

	kernel_of = run == owner ? match_by_time(kernels, records) : NULL;
	if (!kernel_of)
		kernel_of = ctf_work_match(kernels, records, no_borders, run == owner, &is_guess);
	for (guint i = 0; i < records->len; i++)
		n_joined += kernel_of[i] != CTF_NO_MATCH;
	if (is_guess) /* (2) */
		n_joined = 0;
	place_all(ctf, run, counters, is_guess ? NULL : kernels, kernel_of);
	if (n_joined < records->len || n_joined < kernels->len)
		tacho_timeline_add_problem(ctf->timeline, TACHO_PROBLEM_UNMATCHED_COUNTER,
					   MAX(records->len, kernels->len) - n_joined,
					   "%s: counters were read for %u kernels, but %u kernels "
					   "ran; %u of them have counters",
					   owner->trace, records->len, kernels->len, n_joined);
}

/* (3): NULL: there is none, or several. */
static struct ctf_owner *find_other_run(const struct ctf_import *ctf)
{
	struct ctf_owner *found = NULL;

	FOR_EACH_POINTER(struct ctf_owner, owner, ctf->owners) {
		if (owner->counters || !ctf_kernels_of(owner))
			continue;
		if (found)
			return NULL;
		found = owner;
	}
	return found;
}

void ctf_counters_finish(struct ctf_import *ctf)
{
	FOR_EACH_POINTER(struct ctf_owner, owner, ctf->owners) {
		struct ctf_owner *run = owner;

		if (!owner->counters)
			continue;
		if (!ctf_kernels_of(owner))
			run = find_other_run(ctf);
		if (run)
			join(ctf, run, owner);
		else
			place_all(ctf, owner, owner->counters, NULL, NULL);
	}
}
