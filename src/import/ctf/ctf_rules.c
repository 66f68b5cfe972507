/* ctf_rules: what events are, by their names: the rules of known families first, then the habits of all tracers
 * (X_entry and X_exit), then: a moment. */
#include <string.h>

#include "import/ctf/ctf_import.h"

/* --- names ---------------------------------------------------------------------------------- */

static gboolean rule_fits(const struct ctf_rule *rule, const gchar *name)
{
	gsize n = strlen(rule->event);

	if (rule->event[n - 1] == '*')
		return strncmp(rule->event, name, n - 1) == 0;
	return strcmp(rule->event, name) == 0;
}

static const struct ctf_rule *find_rule(const gchar *name)
{
	static const struct ctf_rule *const families[] = { ctf_kernel_rules, ctf_recorder_rules,
							   ctf_memory_rules, ctf_profiler_rules,
							   ctf_rocm_rules,   ctf_thapi_rules,
							   ctf_otf2_rules,   ctf_exported_rules };

	for (guint i = 0; i < G_N_ELEMENTS(families); i++)
		for (const struct ctf_rule *rule = families[i]; rule->event; rule++)
			if (rule_fits(rule, name))
				return rule;
	return NULL;
}

/* How tracers mark begin and end, in the name of the event. The begin of syscalls is in the middle. */
static const struct {
	const gchar *begin, *end;
} marks[] = {
	{ "_entry", "_exit" }, { "_begin", "_end" },   { "_start", "_end" },  { "_start", "_stop" },
	{ "_enter", "_exit" }, { "_enter", "_leave" }, { ":entry", ":exit" }, { ":begin", ":end" },
	{ ":start", ":end" },  { ":start", ":stop" },
};

/* `name` without the mark at its end; NULL: it has another end. */
static gchar *without(const gchar *name, const gchar *mark)
{
	return g_str_has_suffix(name, mark) ? g_strndup(name, strlen(name) - strlen(mark)) : NULL;
}

/* The name of what begins or ends with `name`, if its counterpart may come; else NULL. */
static gchar *find_pair(const struct ctf_import *ctf, const gchar *name, gboolean *ret_is_begin)
{
	for (guint i = 0; i < G_N_ELEMENTS(marks); i++) {
		for (guint side = 0; side < 2; side++) {
			g_autofree gchar *base =
				without(name, side ? marks[i].end : marks[i].begin);
			g_autofree gchar *other =
				base ? g_strconcat(base, side ? marks[i].begin : marks[i].end, NULL)
				     : NULL;

			if (other && ctf_reader_has_class(ctf->reader, other)) {
				*ret_is_begin = side == 0;
				return g_steal_pointer(&base);
			}
		}
	}
	return NULL;
}

/* Interfaces of devices that tracers stand in front of: THAPI's names, then tensorflow-profiler's. */
static gboolean is_device_api(const gchar *name)
{
	static const gchar *const prefixes[] = { "lttng_ust_cuda",   "lttng_ust_hip",
						 "lttng_ust_ze",     "lttng_ust_opencl",
						 "lttng_ust_cudart", "lttng_ust_hsa" };

	for (guint i = 0; i < G_N_ELEMENTS(prefixes); i++)
		if (g_str_has_prefix(name, prefixes[i]))
			return TRUE;
	return FALSE;
}

/* --- plans ---------------------------------------------------------------------------------- */

static gint context_integer(const struct ctf_class *class, const gchar *name)
{
	gint field = ctf_class_context(class, name);

	return field >= 0 && class->fields[field].type <= CTF_FIELD_SIGNED ? field : -1;
}

static void find_counters(struct ctf_import *ctf, struct ctf_plan *plan,
			  const struct ctf_class *class)
{
	for (guint32 i = 0; i < class->n_fields && plan->n_perf < CTF_MAX_PERF; i++) {
		const struct ctf_field *field = &class->fields[i];
		const gchar *name = field->name + (field->name[0] == '_');

		if (field->scope >= CTF_SCOPE_PAYLOAD || field->type > CTF_FIELD_SIGNED ||
		    !g_str_has_prefix(name, "perf_"))
			continue;
		plan->perf[plan->n_perf] = (gint)i;
		plan->perf_names[plan->n_perf++] = tacho_timeline_intern(ctf->timeline, name, -1);
	}
}

static void find_context(struct ctf_plan *plan, const struct ctf_class *class)
{
	plan->tid = context_integer(class, "vtid");
	if (plan->tid < 0)
		plan->tid = context_integer(class, "tid");
	plan->pid = context_integer(class, "vpid");
	if (plan->pid < 0)
		plan->pid = context_integer(class, "pid");
	plan->procname = ctf_class_context(class, "procname");
	plan->hostname = ctf_class_context(class, "hostname");
}

static void plan_by_rule(struct ctf_import *ctf, struct ctf_plan *plan,
			 const struct ctf_class *class, const struct ctf_rule *rule)
{
	plan->handle = rule->handle;
	plan->kind = rule->kind;
	plan->lane = rule->lane;
	plan->clock = rule->clock;
	plan->is_of_location = rule->is_of_location;
	if (rule->pair)
		plan->pair = tacho_timeline_intern(ctf->timeline, rule->pair, -1);
	plan->label = plan->pair ? plan->pair : plan->label;
	if (rule->prefix)
		plan->prefix = tacho_timeline_intern(ctf->timeline, rule->prefix, -1);
	if (rule->label)
		plan->label_field = ctf_class_field(class, rule->label);
	if (rule->key)
		plan->key_field = ctf_class_field(class, rule->key);
	for (guint i = 0; i < CTF_MAX_FIELDS_OF_RULE && rule->fields[i]; i++)
		plan->fields[i] = ctf_class_field(class, rule->fields[i]);
}

/* Without the provider where that is only the tracer's own. */
static const gchar *short_name(const gchar *name)
{
	const gchar *colon = strchr(name, ':');

	return colon && g_str_has_prefix(name, "lttng_ust_") ? colon + 1 : name;
}

static void plan_by_habit(struct ctf_import *ctf, struct ctf_plan *plan,
			  const struct ctf_class *class)
{
	gboolean is_begin;
	g_autofree gchar *pair = find_pair(ctf, class->name, &is_begin);

	if (!pair)
		return;
	plan->handle = is_begin ? ctf_handle_begin : ctf_handle_end;
	plan->pair = tacho_timeline_intern(ctf->timeline, pair, -1);
	plan->label = tacho_timeline_intern(ctf->timeline, short_name(pair), -1);
	if (is_device_api(pair))
		plan->kind = TACHO_SLICE_RUNTIME;
	if (g_str_has_suffix(pair, "func") || g_str_has_suffix(pair, "function")) {
		plan->kind = TACHO_SLICE_FUNCTION;
		plan->label_field = ctf_class_field(class, "name");
		if (plan->label_field < 0)
			plan->label_field = ctf_class_field(class, "addr");
		plan->key_field = plan->label_field;
	}
}

static void plan_syscall(struct ctf_import *ctf, struct ctf_plan *plan, const gchar *name)
{
	static const gchar *const begins[] = { "syscall_entry_", "compat_syscall_entry_" };
	static const gchar *const ends[] = { "syscall_exit_", "compat_syscall_exit_" };

	for (guint i = 0; i < G_N_ELEMENTS(begins); i++) {
		gboolean is_begin = g_str_has_prefix(name, begins[i]);
		g_autofree gchar *label = NULL;

		if (!is_begin && !g_str_has_prefix(name, ends[i]))
			continue;
		label = g_strconcat("syscall ", name + strlen(is_begin ? begins[i] : ends[i]),
				    NULL);
		plan->handle = is_begin ? ctf_handle_begin : ctf_handle_end;
		plan->kind = TACHO_SLICE_FUNCTION;
		plan->pair = plan->label = tacho_timeline_intern(ctf->timeline, label, -1);
	}
}

struct ctf_plan *ctf_plan_new(struct ctf_import *ctf, const struct ctf_class *class)
{
	struct ctf_plan *plan = g_new0(struct ctf_plan, 1);
	const struct ctf_rule *rule = find_rule(class->name);

	plan->handle = ctf_handle_instant;
	plan->kind = TACHO_SLICE_EVENT;
	plan->label = tacho_timeline_intern(ctf->timeline,
					    class->name[0] ? short_name(class->name) : "event", -1);
	plan->label_field = plan->key_field = -1;
	plan->time_field = ctf_class_field(class, "timestamp");
	plan->override_field =
		g_str_has_prefix(class->name, "lttng:") ? context_integer(class, "ts") : -1;
	for (guint i = 0; i < CTF_MAX_FIELDS_OF_RULE; i++)
		plan->fields[i] = -1;
	find_context(plan, class);
	find_counters(ctf, plan, class);
	if (rule) {
		plan_by_rule(ctf, plan, class, rule);
		return plan;
	}
	plan_by_habit(ctf, plan, class);
	plan_syscall(ctf, plan, class->name);
	return plan;
}

/* --- names of slices ------------------------------------------------------------------------ */

guint32 ctf_intern_field(struct ctf_import *ctf, const struct ctf_event *event, gint field)
{
	gchar digits[32];
	const gchar *text;
	gsize n = 0;
	guint64 value;

	text = ctf_event_text(event, field, &n);
	if (text)
		return tacho_timeline_intern(ctf->timeline, text, (gssize)strnlen(text, n));
	if (!ctf_event_has_integer(event, field))
		return 0;
	value = ctf_event_slot(event, field);
	if (event->class->fields[field].flags & CTF_FIELD_IS_HEX)
		g_snprintf(digits, sizeof(digits), "0x%" G_GINT64_MODIFIER "x", value);
	else if (event->class->fields[field].type == CTF_FIELD_SIGNED)
		g_snprintf(digits, sizeof(digits), "%" G_GINT64_FORMAT, (gint64)value);
	else
		g_snprintf(digits, sizeof(digits), "%" G_GUINT64_FORMAT, value);
	return tacho_timeline_intern(ctf->timeline, digits, -1);
}

guint32 ctf_label_of(struct ctf_import *ctf, const struct ctf_plan *plan,
		     const struct ctf_event *event)
{
	guint32 label = plan->label_field >= 0 ? ctf_intern_field(ctf, event, plan->label_field)
					       : plan->label;
	g_autofree gchar *text = NULL;

	if (!label)
		label = plan->label;
	if (!plan->prefix)
		return label;
	text = g_strconcat(tacho_timeline_string(ctf->timeline, plan->prefix),
			   tacho_timeline_string(ctf->timeline, label), NULL);
	return tacho_timeline_intern(ctf->timeline, text, -1);
}
