/* change: the language of what-ifs (docs/what-if.md), one change at a time, and files of them. */
#include "edit/change.h"

#include <string.h>

#include <tacho/replay.h>
#include <tacho/words.h>

#include "base/for_each.h"
#include "base/text_file.h"
#include "edit/change_internal.h"
#include "edit/edit_state.h"

/* The size of a file of changes, at most.
 * Source: a rule: ten thousand lines of changes are less. If wrong, the file is refused. */
#define MAX_FILE_BYTES (1024 * 1024)

static const struct change_rule rules[] = {
#define CHANGE(prefix, form, parse, apply, phase, needs, accuracy, is_of_slices, is_replaced,      \
	       is_shared)                                                                          \
	{ prefix,                                                                                  \
	  form,                                                                                    \
	  parse,                                                                                   \
	  apply,                                                                                   \
	  CHANGE_##phase,                                                                          \
	  CHANGE_NEEDS_##needs,                                                                    \
	  ACCURACY_##accuracy,                                                                     \
	  is_of_slices,                                                                            \
	  is_replaced,                                                                             \
	  is_shared },
#include "edit/changes.def"
#undef CHANGE
};

static gboolean refuse(GError **error, const gchar *text, const gchar *reason)
{
	g_set_error(error, TACHO_GRAPH_ERROR, TACHO_GRAPH_ERROR_WHAT_IF, "what-if '%s': %s", text,
		    reason);
	return FALSE;
}

gboolean change_refuse(GError **error, const struct change *change, const gchar *format, ...)
{
	g_autofree gchar *reason = NULL;
	va_list args;

	if (!error)
		return FALSE;
	va_start(args, format);
	reason = g_strdup_vprintf(format, args);
	va_end(args);
	return refuse(error, change->text, reason);
}

const gchar *const *tacho_what_if_words(void)
{
	static const gchar *words[G_N_ELEMENTS(rules) + 1];

	for (guint i = 0; i < G_N_ELEMENTS(rules); i++)
		words[i] = rules[i].prefix;
	return words;
}

/* The key is told from what follows it by '=' or ':', whichever it has. */
static gboolean refuse_unknown(const gchar *text, GError **error)
{
	g_autofree gchar *key = g_strndup(text, strcspn(text, "=:"));
	g_autofree gchar *reason = NULL;
	g_autoptr(GString) forms = g_string_new(NULL);
	g_autoptr(GPtrArray) keys = g_ptr_array_new_with_free_func(g_free);
	const gchar *nearest;

	for (guint i = 0; i < G_N_ELEMENTS(rules); i++) {
		g_string_append_printf(forms, "%s%s",
				       i == 0			     ? ""
				       : i + 1 < G_N_ELEMENTS(rules) ? ", "
								     : " and ",
				       rules[i].form);
		g_ptr_array_add(keys, g_strndup(rules[i].prefix, strlen(rules[i].prefix) - 1));
	}
	g_ptr_array_add(keys, NULL);
	nearest = tacho_nearest_word(key, (const gchar *const *)keys->pdata);
	for (guint i = 0; nearest && !reason && i < G_N_ELEMENTS(rules); i++)
		if (strcmp(keys->pdata[i], nearest) == 0)
			reason = g_strdup_printf(
				"this is not a what-if; did you mean '%s'? There are %s",
				rules[i].form, forms->str);
	if (!reason)
		reason = g_strdup_printf("this is not a what-if; there are %s", forms->str);
	return refuse(error, text, reason);
}

gboolean change_parse(struct change *change, const gchar *text, GError **error)
{
	*change = (struct change){ .text = g_strdup(text) };
	for (guint i = 0; i < G_N_ELEMENTS(rules) && !change->rule; i++)
		if (g_str_has_prefix(text, rules[i].prefix))
			change->rule = &rules[i];
	if (!change->rule)
		return refuse_unknown(text, error);
	return change->rule->parse(change, text + strlen(change->rule->prefix), error);
}

void change_release(struct change *change)
{
	g_free(change->text);
	g_clear_pointer(&change->ranks, g_array_unref);
	g_free(change->kind);
	g_clear_pointer(&change->regex, g_regex_unref);
	g_free(change->name);
	g_free(change->recorded);
	g_clear_pointer(&change->counts, g_array_unref);
	g_free(change->topology);
	g_free(change->efficiencies_path);
	kernel_efficiencies_release(&change->efficiencies);
	tacho_graph_free(change->job);
	g_clear_pointer(&change->job_timeline, tacho_timeline_free);
	*change = (struct change){ 0 };
}

enum change_needs change_needs(const struct change *change)
{
	if (change->rule->needs == CHANGE_NEEDS_EFFICIENCIES && !change->efficiencies_path)
		return CHANGE_NEEDS_NOTHING;
	return change->rule->needs;
}

enum change_accuracy change_accuracy(const struct change *change)
{
	return change->rule->accuracy;
}

enum change_phase change_phase(const struct change *change)
{
	if (change->rule->phase == CHANGE_WORK && change->name)
		return strcmp(change->name, "wait") == 0 ? CHANGE_WAITS : CHANGE_LOADING;
	if (change->rule->phase == CHANGE_WORK && g_strcmp0(change->kind, "collective") == 0)
		return CHANGE_COLLECTIVES;
	return change->rule->phase;
}

gboolean changes_is_replaced(const GArray *changes, guint index)
{
	const struct change *change = &g_array_index(changes, struct change, index);

	for (guint i = index + 1; change->rule->is_replaced && i < changes->len; i++)
		if (g_array_index(changes, struct change, i).rule == change->rule)
			return TRUE;
	return FALSE;
}

gboolean changes_check(const GArray *changes, GError **error)
{
	const struct change *packing = NULL;

	FOR_EACH(const struct change, change, changes) {
		if (change_phase(change) != CHANGE_BUCKETS)
			continue;
		if (packing && packing->rule != change->rule)
			return change_refuse(error, change,
					     "it packs the gradients anew, as '%s' does; leave one "
					     "of the two out",
					     packing->text);
		packing = change;
	}
	return TRUE;
}

gboolean change_check_shared(const struct change *change, GError **error)
{
	g_autoptr(GString) there = g_string_new(NULL);

	if (change->rule->is_shared)
		return TRUE;
	for (guint i = 0; i < G_N_ELEMENTS(rules); i++)
		if (rules[i].is_shared)
			g_string_append_printf(there, "%s%s", there->len ? ", " : "",
					       rules[i].form);
	return change_refuse(error, change,
			     "it asks what operations did, which each of several processes knows "
			     "of its own ranks alone; they can make %s. For the rest, run it as "
			     "one process, without the launcher",
			     there->str);
}

gboolean change_apply(TachoGraph *graph, const struct change *change, GError **error)
{
	if (edit_state_read(graph)->has_no_waits)
		return change_refuse(error, change, "give it before drop:wait");
	if (edit_state_read(graph)->has_passes && change->rule->is_of_slices &&
	    change_phase(change) != CHANGE_WAITS)
		return change_refuse(error, change, "give it before accumulate=");
	return change->rule->apply(graph, change, error);
}

/* --- files ------------------------------------------------------------------------------------ */

gchar **tacho_what_ifs_read(const gchar *path, GError **error)
{
	gsize length;
	g_autofree gchar *text = text_file_read(path, MAX_FILE_BYTES, &length, error);
	g_auto(GStrv) lines = NULL;
	g_autoptr(GPtrArray) what_ifs = g_ptr_array_new_with_free_func(g_free);

	if (!text)
		return NULL;
	lines = g_strsplit(text, "\n", -1);
	for (guint i = 0; lines[i]; i++) {
		const gchar *line = g_strstrip(lines[i]);

		if (*line && *line != '#')
			g_ptr_array_add(what_ifs, g_strdup(line));
	}
	g_ptr_array_add(what_ifs, NULL);
	return (gchar **)g_ptr_array_free(g_steal_pointer(&what_ifs), FALSE);
}
