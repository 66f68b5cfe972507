/* ctf_otf2: OTF2 traces (Score-P: MPI, OpenMP, PAPI) that were turned into CTF, as Trace Compass keeps them.
 *
 * Definitions are events among the others and may come after what uses them, so that names and processes are put in
 * place when the trace has been read. A location is a thread, a group of locations a process; a process of MPI has
 * its group's number as its rank. */
#include <string.h>

#include "base/for_each.h"
#include "import/ctf/ctf_import.h"

struct location {
	guint32 name; /* number of a string */
	guint64 group;
	guint64 n_events;
	struct ctf_thread *thread;
};

struct group {
	guint32 name;
	guint8 type; /* 1: a process */
};

/* A slice whose name is still a region's number. */
struct region_slice {
	guint32 row;
	guint32 region;
};

struct metric_sample {
	guint32 row; /* of the samples */
	guint32 metric, index;
	guint32 location;
};

/* A send or a receive whose other end is still a rank of a communicator. */
struct mpi_message {
	guint32 row, self, peer, communicator, tag;
	gint64 time_ns;
	gboolean is_receive;
};

struct ctf_otf2 {
	GHashTable *communicators; /* number -> its group + 1 */
	GHashTable *paradigms;	   /* group of a communicator -> its paradigm + 1 */
	GHashTable *places;	   /* paradigm -> group of all its locations + 1 */
	GHashTable *ranks;	   /* group and rank -> member + 1 */
	GArray *messages;	   /* struct mpi_message */
	GHashTable *strings;	   /* number -> string id */
	GHashTable *regions;	   /* number -> number of its name + 1 */
	GHashTable *locations;	   /* number -> struct location */
	GHashTable *groups;	   /* number -> struct group */
	GHashTable *members;	   /* metric's member -> number of its name + 1 */
	GHashTable *metrics;	   /* metric -> JSON of its members */
	GArray *slices;		   /* struct region_slice */
	GArray *samples;	   /* struct metric_sample */
	guint32 host;
	struct location *last; /* whose event was the last one ... */
	guint64 last_offset;   /* ... and where that is */
};

static struct ctf_otf2 *otf2_of(struct ctf_import *ctf, const struct ctf_event *event)
{
	struct ctf_otf2 *otf2 = ctf->otf2;

	if (otf2)
		return otf2;
	otf2 = ctf->otf2 = g_new0(struct ctf_otf2, 1);
	otf2->communicators = g_hash_table_new(NULL, NULL);
	otf2->paradigms = g_hash_table_new(NULL, NULL);
	otf2->places = g_hash_table_new(NULL, NULL);
	otf2->ranks = g_hash_table_new(NULL, NULL);
	otf2->messages = g_array_new(FALSE, FALSE, sizeof(struct mpi_message));
	otf2->strings = g_hash_table_new(NULL, NULL);
	otf2->regions = g_hash_table_new(NULL, NULL);
	otf2->locations = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	otf2->groups = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	otf2->members = g_hash_table_new(NULL, NULL);
	otf2->metrics = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	otf2->slices = g_array_new(FALSE, FALSE, sizeof(struct region_slice));
	otf2->samples = g_array_new(FALSE, FALSE, sizeof(struct metric_sample));
	otf2->host = ctf_host(ctf, event);
	return otf2;
}

static void otf2_free(struct ctf_otf2 *otf2)
{
	if (!otf2)
		return;
	g_hash_table_unref(otf2->communicators);
	g_hash_table_unref(otf2->paradigms);
	g_hash_table_unref(otf2->places);
	g_hash_table_unref(otf2->ranks);
	g_array_unref(otf2->messages);
	g_hash_table_unref(otf2->strings);
	g_hash_table_unref(otf2->regions);
	g_hash_table_unref(otf2->locations);
	g_hash_table_unref(otf2->groups);
	g_hash_table_unref(otf2->members);
	g_hash_table_unref(otf2->metrics);
	g_array_unref(otf2->slices);
	g_array_unref(otf2->samples);
	g_free(otf2);
}

static gpointer key_of(gint64 number)
{
	return GSIZE_TO_POINTER((gsize)number);
}

static guint32 field(const struct ctf_plan *plan, const struct ctf_event *event, guint i)
{
	return (guint32)ctf_event_integer(event, plan->fields[i]);
}

/* --- definitions ---------------------------------------------------------------------------- */

static void handle_string(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	g_hash_table_insert(otf2_of(ctf, event)->strings, key_of(field(plan, event, 0)),
			    GUINT_TO_POINTER(ctf_intern_field(ctf, event, plan->fields[1])));
}

static void handle_region(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	g_hash_table_insert(otf2_of(ctf, event)->regions, key_of(field(plan, event, 0)),
			    GUINT_TO_POINTER(field(plan, event, 1) + 1));
}

static struct location *find_location(struct ctf_import *ctf, const struct ctf_event *event,
				      guint32 number)
{
	struct ctf_otf2 *otf2 = otf2_of(ctf, event);
	struct location *location = g_hash_table_lookup(otf2->locations, key_of(number));
	g_autofree gchar *name = NULL;

	if (location)
		return location;
	name = g_strdup_printf("location %u", number);
	location = g_new0(struct location, 1);
	location->group = G_MAXUINT64;
	location->thread =
		ctf_thread_of(ctf, ctf_owner_of_name(ctf, otf2->host, name), otf2->host, number);
	g_hash_table_insert(otf2->locations, key_of(number), location);
	return location;
}

static void count_event(struct ctf_import *ctf, struct location *location)
{
	location->n_events++;
	ctf->timeline->n_events++;
}

/* The location whose event it is. */
static struct location *location_of(struct ctf_import *ctf, const struct ctf_plan *plan,
				    const struct ctf_event *event)
{
	struct location *location = find_location(ctf, event, field(plan, event, 0));

	count_event(ctf, location);
	ctf->otf2->last = location;
	ctf->otf2->last_offset = event->offset;
	return location;
}

static void handle_location(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event)
{
	struct location *location = find_location(ctf, event, field(plan, event, 0));

	location->name = field(plan, event, 1);
	location->group = field(plan, event, 2);
}

static void handle_group(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	struct group *group = g_new0(struct group, 1);

	group->name = field(plan, event, 1);
	group->type = (guint8)field(plan, event, 2);
	g_hash_table_insert(otf2_of(ctf, event)->groups, key_of(field(plan, event, 0)), group);
}

static void handle_member(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	g_hash_table_insert(otf2_of(ctf, event)->members, key_of(field(plan, event, 0)),
			    GUINT_TO_POINTER(field(plan, event, 1) + 1));
}

static void handle_metric_class(struct ctf_import *ctf, const struct ctf_plan *plan,
				const struct ctf_event *event)
{
	gint members = plan->fields[1];
	guint64 slot = members >= 0 ? ctf_event_slot(event, members) : 0;
	guint64 offset = slot & G_MAXUINT32, n = slot >> 32;

	if (members < 0 || event->class->fields[members].type != CTF_FIELD_JSON ||
	    offset + n >= event->n_bytes)
		return;
	g_hash_table_insert(otf2_of(ctf, event)->metrics, key_of(field(plan, event, 0)),
			    g_strndup((const gchar *)event->bytes + offset, n));
}

static void handle_communicator(struct ctf_import *ctf, const struct ctf_plan *plan,
				const struct ctf_event *event)
{
	g_hash_table_insert(otf2_of(ctf, event)->communicators, key_of(field(plan, event, 0)),
			    GSIZE_TO_POINTER((gsize)field(plan, event, 1) + 1));
}

/* OTF2's OTF2_GROUP_TYPE_COMM_LOCATIONS and OTF2_GROUP_TYPE_COMM_GROUP. */
enum group_type { GROUP_OF_LOCATIONS = 4, GROUP_OF_COMMUNICATOR = 5 };

static void handle_rank_group(struct ctf_import *ctf, const struct ctf_plan *plan,
			      const struct ctf_event *event)
{
	struct ctf_otf2 *otf2 = otf2_of(ctf, event);
	gsize number = field(plan, event, 0), paradigm = field(plan, event, 2);
	guint32 type = field(plan, event, 1);

	if (type == GROUP_OF_LOCATIONS)
		g_hash_table_insert(otf2->places, key_of((gint64)paradigm),
				    GSIZE_TO_POINTER(number + 1));
	else if (type == GROUP_OF_COMMUNICATOR)
		g_hash_table_insert(otf2->paradigms, key_of((gint64)number),
				    GSIZE_TO_POINTER(paradigm + 1));
}

static gpointer rank_key(gsize group, guint32 rank)
{
	return GSIZE_TO_POINTER(group << 32 | rank);
}

static void handle_rank(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	g_hash_table_insert(otf2_of(ctf, event)->ranks,
			    rank_key(field(plan, event, 0), field(plan, event, 1)),
			    GSIZE_TO_POINTER((gsize)field(plan, event, 2) + 1));
}

/* Definitions that nothing here needs. */
static void handle_definition(struct ctf_import *ctf, const struct ctf_plan *plan,
			      const struct ctf_event *event)
{
	(void)ctf;
	(void)plan;
	(void)event;
}

/* --- events --------------------------------------------------------------------------------- */

static void handle_enter(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	struct location *location = location_of(ctf, plan, event);
	struct region_slice slice = { .row = ctf->timeline->slices.n,
				      .region = field(plan, event, 1) };
	struct ctf_frame frame = { .pair = plan->pair,
				   .key = slice.region + 1,
				   .offset = event->offset };

	ctf_push_frame(ctf, location->thread, plan->kind, 0, frame, event->time_ns);
	if (slice.row < ctf->timeline->slices.n)
		g_array_append_val(otf2_of(ctf, event)->slices, slice);
}

static void handle_leave(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	struct location *location = location_of(ctf, plan, event);

	if (!ctf_pop_frame(ctf, location->thread, plan->pair, field(plan, event, 1) + 1, event))
		ctf->n_unmatched++;
}

static guint32 add_moment(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	struct location *location = location_of(ctf, plan, event);

	return ctf_add_slice(ctf, plan->kind, ctf_thread_track(ctf, location->thread), plan->label,
			     event->time_ns, 0, 0, event->offset);
}

/* The values of a metric follow, each an event of its own. */
static void handle_metric_event(struct ctf_import *ctf, const struct ctf_plan *plan,
				const struct ctf_event *event)
{
	location_of(ctf, plan, event);
}

/* What more is told of the event before it: among its args. */
static void handle_attribute(struct ctf_import *ctf, const struct ctf_plan *plan,
			     const struct ctf_event *event)
{
	(void)plan;
	if (!ctf->otf2 || !ctf->otf2->last)
		return;
	count_event(ctf, ctf->otf2->last);
	ctf_reader_set_partner(ctf->reader, ctf->otf2->last_offset, event->offset);
}

static void handle_moment(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	add_moment(ctf, plan, event);
}

/* Other tracers may call their events so, too. */
static void handle_other(struct ctf_import *ctf, const struct ctf_plan *plan,
			 const struct ctf_event *event)
{
	if (plan->fields[0] >= 0) {
		add_moment(ctf, plan, event);
		return;
	}
	ctf_count_event(ctf);
	ctf_handle_instant(ctf, plan, event);
}

enum message_field { MESSAGE_LOCATION, MESSAGE_PEER, MESSAGE_COMMUNICATOR, MESSAGE_TAG };

static void add_message(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event, gboolean is_receive)
{
	struct mpi_message message = {
		.row = add_moment(ctf, plan, event),
		.self = field(plan, event, MESSAGE_LOCATION),
		.peer = field(plan, event, MESSAGE_PEER),
		.communicator = field(plan, event, MESSAGE_COMMUNICATOR),
		.tag = field(plan, event, MESSAGE_TAG),
		.time_ns = event->time_ns,
		.is_receive = is_receive,
	};

	g_array_append_val(ctf->otf2->messages, message);
}

static void handle_send(struct ctf_import *ctf, const struct ctf_plan *plan,
			const struct ctf_event *event)
{
	add_message(ctf, plan, event, FALSE);
}

static void handle_receive(struct ctf_import *ctf, const struct ctf_plan *plan,
			   const struct ctf_event *event)
{
	add_message(ctf, plan, event, TRUE);
}

enum metric_field { METRIC_LOCATION, METRIC_CLASS, METRIC_INDEX, METRIC_VALUE };

/* The track is made when the counter's name is known: at the end. */
static void handle_metric(struct ctf_import *ctf, const struct ctf_plan *plan,
			  const struct ctf_event *event)
{
	struct metric_sample sample = { .row = ctf->timeline->samples->len,
					.metric = field(plan, event, METRIC_CLASS),
					.index = field(plan, event, METRIC_INDEX),
					.location = field(plan, event, METRIC_LOCATION) };
	gdouble value;

	location_of(ctf, plan, event);
	if (!ctf_event_number(event, plan->fields[METRIC_VALUE], &value))
		return;
	ctf_add_sample(ctf, 0, event->time_ns, value);
	g_array_append_val(otf2_of(ctf, event)->samples, sample);
}

/* --- the end -------------------------------------------------------------------------------- */

static guint32 string_of(const struct ctf_otf2 *otf2, guint32 number)
{
	return GPOINTER_TO_UINT(g_hash_table_lookup(otf2->strings, key_of(number)));
}

static guint8 kind_of(const gchar *name)
{
	static const gchar *const collectives[] = {
		"MPI_Allreduce",
		"MPI_Bcast",
		"MPI_Reduce",
		"MPI_Allgather",
		"MPI_Allgatherv",
		"MPI_Gather",
		"MPI_Gatherv",
		"MPI_Scatter",
		"MPI_Scatterv",
		"MPI_Alltoall",
		"MPI_Alltoallv",
		"MPI_Barrier",
		"MPI_Reduce_scatter",
		"MPI_Scan",
		"MPI_Exscan",
		"MPI_Alltoallw",
		"MPI_Reduce_scatter_block",
	};

	for (guint i = 0; i < G_N_ELEMENTS(collectives); i++)
		if (strcmp(name, collectives[i]) == 0)
			return TACHO_SLICE_COLLECTIVE;
	return TACHO_SLICE_FUNCTION;
}

static void name_slices(struct ctf_import *ctf, const struct ctf_otf2 *otf2)
{
	FOR_EACH(const struct region_slice, slice, otf2->slices) {
		guint32 number =
			GPOINTER_TO_UINT(g_hash_table_lookup(otf2->regions, key_of(slice->region)));
		guint32 name = number ? string_of(otf2, number - 1) : 0;
		g_autofree gchar *unnamed = g_strdup_printf("region %u", slice->region);

		if (!name)
			name = tacho_timeline_intern(ctf->timeline, unnamed, -1);
		ctf->timeline->slices.name[slice->row] = name;
		ctf->timeline->slices.kind[slice->row] =
			kind_of(tacho_timeline_string(ctf->timeline, name));
	}
}

static void place_location(struct ctf_import *ctf, const struct ctf_otf2 *otf2,
			   struct location *location)
{
	const struct group *group =
		g_hash_table_lookup(otf2->groups, key_of((gint64)location->group));
	struct ctf_owner *owner;
	guint32 name;
	g_autofree gchar *key = NULL;

	location->thread->name = string_of(otf2, location->name);
	location->thread->owner->n_events += group ? 0 : location->n_events;
	if (!group)
		return;
	name = string_of(otf2, group->name);
	key = g_strdup_printf("location group %" G_GUINT64_FORMAT, location->group);
	owner = ctf_owner_of_name(ctf, otf2->host, key);
	owner->is_program = TRUE;
	if (name)
		owner->name = name;
	if (group->type == 1 && location->group <= G_MAXINT32)
		owner->rank = (gint32)location->group;
	owner->n_events += location->n_events;
	location->thread->owner = owner;
}

/* The n-th number in "[1,2,3]"; -1: there is none. */
static gint64 member_at(const gchar *json, guint32 n)
{
	g_auto(GStrv) parts = json && *json == '[' ? g_strsplit(json + 1, ",", -1) : NULL;

	return parts && n < g_strv_length(parts) && g_ascii_isdigit(parts[n][0])
		       ? g_ascii_strtoll(parts[n], NULL, 10)
		       : -1;
}

static void place_sample(struct ctf_import *ctf, const struct ctf_otf2 *otf2,
			 const struct metric_sample *sample)
{
	const struct location *location =
		g_hash_table_lookup(otf2->locations, key_of(sample->location));
	gint64 member = member_at(g_hash_table_lookup(otf2->metrics, key_of(sample->metric)),
				  sample->index);
	guint32 number =
		member >= 0 ? GPOINTER_TO_UINT(g_hash_table_lookup(otf2->members, key_of(member)))
			    : 0;
	guint32 name = number ? string_of(otf2, number - 1) : 0;
	g_autofree gchar *label =
		name ? g_strdup_printf("%s of thread %u",
				       tacho_timeline_string(ctf->timeline, name), sample->location)
		     : g_strdup_printf("metric %u.%u of thread %u", sample->metric, sample->index,
				       sample->location);

	g_array_index(ctf->timeline->samples, TachoSample, sample->row).track = ctf_lane(
		ctf, location->thread->owner, TACHO_TRACK_COUNTER, label, 0, sample->location);
}

/* The location of a rank of a communicator: the group of a communicator has places in the list of all locations of its
 * paradigm. Where that is not told, ranks are taken for locations. */
static guint32 location_of_rank(const struct ctf_otf2 *otf2, guint32 communicator, guint32 rank)
{
	gsize group =
		GPOINTER_TO_SIZE(g_hash_table_lookup(otf2->communicators, key_of(communicator)));
	gsize paradigm, places, member;

	if (!group)
		return rank;
	member = GPOINTER_TO_SIZE(g_hash_table_lookup(otf2->ranks, rank_key(group - 1, rank)));
	paradigm =
		GPOINTER_TO_SIZE(g_hash_table_lookup(otf2->paradigms, key_of((gint64)group - 1)));
	places = paradigm ? GPOINTER_TO_SIZE(
				    g_hash_table_lookup(otf2->places, key_of((gint64)paradigm - 1)))
			  : 0;
	if (member && places) {
		gsize location = GPOINTER_TO_SIZE(g_hash_table_lookup(
			otf2->ranks, rank_key(places - 1, (guint32)(member - 1))));

		member = location ? location : member;
	}
	return member ? (guint32)(member - 1) : rank;
}

/* Messages do not overtake: the n-th of a communicator, a tag and two locations is the n-th there. */
static void place_message(struct ctf_import *ctf, const struct ctf_otf2 *otf2,
			  const struct mpi_message *message)
{
	guint32 peer = location_of_rank(otf2, message->communicator, message->peer);
	g_autofree gchar *key = g_strdup_printf(
		"otf2/%s/%u/%u/%u/%u", ctf->path, message->is_receive ? peer : message->self,
		message->is_receive ? message->self : peer, message->communicator, message->tag);

	ctf_add_request(ctf, NULL, key, message->row, -1, message->time_ns, message->is_receive,
			FALSE);
}

void ctf_otf2_end_trace(struct ctf_import *ctf)
{
	struct ctf_otf2 *otf2 = ctf->otf2;

	if (!otf2)
		return;
	name_slices(ctf, otf2);
	FOR_EACH_ENTRY(entry, otf2->locations)
		place_location(ctf, otf2, entry.value);
	for (guint i = 0; i < otf2->samples->len; i++)
		place_sample(ctf, otf2, &g_array_index(otf2->samples, struct metric_sample, i));
	for (guint i = 0; i < otf2->messages->len; i++)
		place_message(ctf, otf2, &g_array_index(otf2->messages, struct mpi_message, i));
	otf2_free(otf2);
	ctf->otf2 = NULL;
}

#define RULE(name, handler, ...)                                                                   \
	{                                                                                          \
		.event = name, .handle = handler, .is_of_location = TRUE, .fields = {              \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define EVENT(name, handler, slice, text, ...)                                                     \
	{                                                                                          \
		.event = name, .handle = handler, .is_of_location = TRUE, .kind = slice,           \
		.pair = text, .fields = {                                                          \
			"locationID",                                                              \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}
#define MESSAGE(name, text, handler, peer)                                                         \
	EVENT(name, handler, TACHO_SLICE_EVENT, text, peer, "communicator", "msgTag")
#define MOMENT(name, text) EVENT(name, handle_moment, TACHO_SLICE_EVENT, text, NULL)

const struct ctf_rule ctf_otf2_rules[] = {
	RULE("GlobalDef_String", handle_string, "self", "stringValue"),
	RULE("GlobalDef_Region", handle_region, "self", "name"),
	RULE("GlobalDef_Location", handle_location, "self", "name", "locationGroup"),
	RULE("GlobalDef_LocationGroup", handle_group, "self", "name", "locationGroupType"),
	RULE("GlobalDef_MetricMember", handle_member, "self", "name"),
	RULE("GlobalDef_MetricClass", handle_metric_class, "self", "metricMembers"),
	RULE("GlobalDef_Comm", handle_communicator, "self", "group"),
	RULE("GlobalDef_Group", handle_rank_group, "self", "groupType", "paradigm"),
	RULE("GlobalDef_GroupMember", handle_rank, "group", "rank", "location"),
	RULE("GlobalDef*", handle_definition, NULL),
	EVENT("Event_Enter", handle_enter, TACHO_SLICE_FUNCTION, "region", "region"),
	EVENT("Event_Leave", handle_leave, TACHO_SLICE_FUNCTION, "region", "region"),
	MESSAGE("Event_MpiSend", "MPI send", handle_send, "receiver"),
	MESSAGE("Event_MpiIsend", "MPI send", handle_send, "receiver"),
	MESSAGE("Event_MpiRecv", "MPI receive", handle_receive, "sender"),
	MESSAGE("Event_MpiIrecv", "MPI receive", handle_receive, "sender"),
	MOMENT("Event_ProgramBegin", "program begins"),
	MOMENT("Event_ProgramEnd", "program ends"),
	MOMENT("Event_MpiCollectiveBegin", "MPI collective begins"),
	MOMENT("Event_MpiCollectiveEnd", "MPI collective ends"),
	MOMENT("Event_MpiIrecvRequest", "MPI receive asked for"),
	MOMENT("Event_MpiIsendComplete", "MPI send complete"),
	RULE("EventAttribute*", handle_attribute, NULL),
	RULE("Event_Metric", handle_metric_event, "locationID"),
	RULE("MetricValue_*", handle_metric, "locationID", "metric", "index", "metricValue"),
	{ .event = "Event_*",
	  .handle = handle_other,
	  .is_of_location = TRUE,
	  .kind = TACHO_SLICE_EVENT,
	  .fields = { "locationID" } },
	{ 0 },
};
