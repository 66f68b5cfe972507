/* What a file tells of itself, and of its process groups, as marks at its begin. */
#include <string.h>

#include "base/for_each.h"
#include "base/order.h"
#include "import/device_properties.h"
#include "import/kineto/kineto_merge.h"
#include "trace/mark_kind.h"

static void add_mark(struct kineto_merge *merge, guint part_index, const gchar *name, gint64 first,
		     const gchar *text)
{
	const struct kineto_part *part = &merge->parts[part_index];
	struct kineto_part *owner = &merge->parts[part->file->owner];
	TachoTimeline *timeline = merge->timeline;
	TachoMark mark = { .first = first };

	if (part->first_ns == G_MAXINT64 ||
	    __builtin_add_overflow(part->first_ns, part->base_ns, &mark.time_ns))
		return;
	if (owner->aside == TACHO_NONE)
		owner->aside = import_add_track(merge->import, TACHO_TRACK_ASYNC,
						kineto_tracks_main_process(merge, part_index), 0,
						"profiler");
	mark.track = owner->aside;
	mark.name = tacho_timeline_intern(timeline, name, -1);
	mark.text = tacho_timeline_intern(timeline, text, -1);
	g_array_append_val(timeline->marks, mark);
}

/* --- process groups ------------------------------------------------------------------------- */

/* Whether such a text names all ranks: long ones are shortened by who writes them. */
static gboolean is_whole(const gchar *ranks)
{
	return strpbrk(ranks, "0123456789") && !strstr(ranks, "...");
}

/* The mark of a process group; the first one told of each is it. */
static void add_group_mark(struct kineto_merge *merge, guint part, const gchar *name,
			   const gchar *ranks, GHashTable *told)
{
	g_autofree gchar *key = g_strdup_printf("%u %s", merge->parts[part].file->owner, name),
			 *text = NULL;
	GString *plain = g_string_new(NULL);

	for (const gchar *at = ranks; *at; at++)
		if (g_ascii_isdigit(*at) || *at == ',')
			g_string_append_c(plain, *at);
	text = is_whole(ranks) ? g_strdup_printf("ranks=%s name=%s", plain->str, name)
			       : g_strdup_printf("name=%s", name);
	g_string_free(plain, TRUE);
	if (g_hash_table_add(told, g_steal_pointer(&key)))
		add_mark(merge, part, mark_kind_name(MARK_PROCESS_GROUP),
			 tacho_timeline_intern(merge->timeline, name, -1), text);
}

static void add_configured_groups(struct kineto_merge *merge, guint part, GHashTable *told)
{
	const GArray *groups = merge->parts[part].file->facts.groups;

	FOR_EACH(const struct kineto_group, group, groups)
		add_group_mark(merge, part, group->name, group->ranks ? group->ranks : "", told);
}

/* By file and name, lists that are whole first. */
static gint compare_groups(gconstpointer first, gconstpointer second, gpointer data)
{
	const struct kineto_group_ranks *a = first, *b = second;
	const TachoTimeline *timeline = data;

	return ORDER(a->file, b->file) ?: ORDER(a->name, b->name) ?:
	       is_whole(tacho_timeline_string(timeline, b->ranks)) -
		       is_whole(tacho_timeline_string(timeline, a->ranks)) ?:
	       ORDER(a->ranks, b->ranks);
}

/* The groups that collectives told, in the timeline's numbers. */
static GArray *gather_groups(const struct kineto_merge *merge)
{
	GArray *all = g_array_new(FALSE, FALSE, sizeof(struct kineto_group_ranks));

	for (guint r = 0; r < merge->files.readers->len; r++) {
		const GArray *groups = kineto_reader_groups(kineto_merge_reader(merge, r));
		const guint32 *strings = merge->numbers[r].strings;

		for (guint i = 0; i < groups->len; i++) {
			struct kineto_group_ranks group =
				g_array_index(groups, struct kineto_group_ranks, i);

			group.name = strings[group.name];
			group.ranks = strings[group.ranks];
			if (kineto_files_counts(&merge->files, r, group.file))
				g_array_append_val(all, group);
		}
	}
	g_array_sort_with_data(all, compare_groups, merge->timeline);
	return all;
}

static void merge_groups(struct kineto_merge *merge)
{
	g_autoptr(GHashTable) told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	g_autoptr(GArray) groups = gather_groups(merge);

	for (guint i = 0; i < merge->files.n; i++)
		add_configured_groups(merge, i, told);
	FOR_EACH(const struct kineto_group_ranks, group, groups)
		add_group_mark(merge, group->file,
			       tacho_timeline_string(merge->timeline, group->name),
			       tacho_timeline_string(merge->timeline, group->ranks), told);
}

/* --- members of the file -------------------------------------------------------------------- */

static void merge_properties(struct kineto_merge *merge)
{
	for (guint i = 0; i < merge->files.n; i++) {
		const GArray *properties = merge->parts[i].file->facts.properties;

		FOR_EACH(const struct kineto_property, property, properties) {
			add_mark(merge, i, property->key, 0, property->json);
			if (merge->parts[i].first_ns != G_MAXINT64 &&
			    strcmp(property->key, DEVICE_PROPERTIES) == 0)
				device_properties_read(merge->timeline,
						       kineto_tracks_main_process(merge, i),
						       property->json);
		}
	}
}

void kineto_marks_merge(struct kineto_merge *merge)
{
	merge_groups(merge);
	merge_properties(merge);
}
