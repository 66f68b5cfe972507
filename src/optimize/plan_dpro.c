/* plan_dpro: the files that dPRO's optimiser writes for its frameworks, as its own writer makes them.
 *
 *     tensor_fusion_grp_mapping.json    {"mapping": ["0+1+2", "3"]}                            no newline at the end
 *     tensor_partition_spec.txt         Distributed_Push_Pull/BytePSPushPull.0_1_2 4096000     a line a group
 *     cluster_mapping.txt               net/conv1/Conv2D 0                                     a line an operation
 *
 * dPRO writes groups in an order that says nothing (a set of Python). Groups that are read are put in the order in which their last
 * gradients come. A part's bytes are the group's by the number of its parts, rounded down. */
#include "optimize/plan_target.h"

#include <string.h>

#include "import/read/json_scan.h"

#define PARTITION_PREFIX "Distributed_Push_Pull/BytePSPushPull."

static gboolean refuse(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(GError **error, const gchar *format, ...)
{
	va_list arguments;
	g_autofree gchar *reason = NULL;

	va_start(arguments, format);
	reason = g_strdup_vprintf(format, arguments);
	va_end(arguments);
	g_set_error_literal(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_FORMAT, reason);
	return FALSE;
}

/* --- written --------------------------------------------------------------------------------------- */

static gint compare_numbers(gconstpointer a, gconstpointer b)
{
	guint32 x = *(const guint32 *)a, y = *(const guint32 *)b;

	return x < y ? -1 : x > y;
}

/* "0+1+2", ascending. */
static void write_group(const struct plan_change *buckets, guint32 first, guint32 n, gchar between,
			FILE *out)
{
	g_autofree guint32 *members =
		g_memdup2(&g_array_index(buckets->order, guint32, first), n * sizeof(guint32));

	qsort(members, n, sizeof(*members), compare_numbers);
	for (guint32 i = 0; i < n; i++) {
		if (i > 0)
			fputc(between, out);
		fprintf(out, "%u", members[i]);
	}
}

gboolean plan_write_dpro_tensors(const TachoPlan *plan, FILE *out, GError **error)
{
	const struct plan_change *buckets = plan_target_need(plan, PLAN_BUCKETS, error);
	guint32 first = 0;

	if (!buckets)
		return FALSE;
	fputs("{\"mapping\": [", out);
	for (guint i = 0; i < buckets->n_of->len; i++) {
		guint32 n = g_array_index(buckets->n_of, guint32, i);

		fputs(i ? ", \"" : "\"", out);
		write_group(buckets, first, n, '+', out);
		fputc('"', out);
		first += n;
	}
	fputs("]}", out);
	return TRUE;
}

/* Of the plan's parts, or of a bucket that is sent whole. */
static guint64 part_bytes(const struct plan_change *parts, guint bucket, guint64 bytes)
{
	guint64 most = !parts	      ? bytes
		       : parts->sizes ? g_array_index(parts->sizes, guint64, bucket)
				      : parts->count;
	guint64 n_parts = bytes > 0 ? (bytes - 1) / most + 1 : 1;

	/* sizes were read of such a file: they are what division gave */
	return parts && parts->sizes ? most : bytes / n_parts;
}

gboolean plan_write_dpro_partition(const TachoPlan *plan, FILE *out, GError **error)
{
	const struct plan_change *buckets = plan_target_need(plan, PLAN_BUCKETS, error);
	const struct plan_change *parts = plan_find(plan, PLAN_PART_BYTES);
	guint32 first = 0;

	if (!buckets)
		return FALSE;
	for (guint i = 0; i < buckets->n_of->len; i++) {
		guint32 n = g_array_index(buckets->n_of, guint32, i);
		guint64 bytes = plan_bucket_bytes(plan, buckets, first, n);

		fputs(PARTITION_PREFIX, out);
		write_group(buckets, first, n, '_', out);
		fprintf(out, " %" G_GUINT64_FORMAT "\n", part_bytes(parts, i, bytes));
		first += n;
	}
	return TRUE;
}

gboolean plan_write_dpro_clusters(const TachoPlan *plan, FILE *out, GError **error)
{
	const struct plan_change *clusters = plan_target_need(plan, PLAN_CLUSTERS, error);
	guint32 at = 0;

	if (!clusters)
		return FALSE;
	for (guint i = 0; i < clusters->names->len; i++)
		if (strchr(clusters->names->pdata[i], ' ')) {
			g_set_error(error, TACHO_PLAN_ERROR, TACHO_PLAN_ERROR_NOT_APPLICABLE,
				    "the operation '%s' has a space in its name, which a cluster "
				    "mapping cannot hold",
				    (const gchar *)clusters->names->pdata[i]);
			return FALSE;
		}
	for (guint i = 0; i < clusters->n_of->len; i++)
		for (guint32 n = g_array_index(clusters->n_of, guint32, i); n > 0; n--)
			fprintf(out, "%s %u\n", (const gchar *)clusters->names->pdata[at++], i);
	return TRUE;
}

/* --- read ------------------------------------------------------------------------------------------ */

struct group {
	GArray *members; /* guint32, ascending */
	guint64 part_bytes;
};

static void group_clear(gpointer data)
{
	g_array_unref(((struct group *)data)->members);
}

static guint32 last_of(const struct group *group)
{
	return g_array_index(group->members, guint32, group->members->len - 1);
}

static gint compare_groups(gconstpointer a, gconstpointer b)
{
	guint32 x = last_of(a), y = last_of(b);

	return x < y ? -1 : x > y;
}

/* "0+1+2" */
static gboolean parse_group(const gchar *text, const gchar *between, struct group *group,
			    GError **error)
{
	g_auto(GStrv) words = g_strsplit(text, between, -1);

	group->members = g_array_new(FALSE, FALSE, sizeof(guint32));
	for (guint i = 0; words[i]; i++) {
		guint64 number;
		guint32 member;

		if (!g_ascii_string_to_unsigned(words[i], 10, 0, PLAN_MAX_GRADIENTS - 1, &number,
						NULL))
			return refuse(error, "'%s' is no number of a tensor", words[i]);
		member = (guint32)number;
		g_array_append_val(group->members, member);
	}
	if (group->members->len == 0)
		return refuse(error, "a group has no tensors");
	g_array_sort(group->members, compare_numbers);
	return TRUE;
}

static gboolean parse_mapping(const gchar *text, GArray *groups, GError **error)
{
	struct json_scan scan;
	g_autofree G_GNUC_UNUSED gchar *copy = json_scan_copy(&scan, text);
	struct json_text key;

	if (!json_take(&scan, '{') || !json_member(&scan, &key) || !JSON_TEXT_IS(&key, "mapping") ||
	    !json_enter(&scan, '['))
		return refuse(error, "it is neither a plan of tacho's nor a file of dPRO's");
	while (json_element(&scan)) {
		struct json_text name;
		struct group group = { .part_bytes = 0 };
		g_autofree gchar *members = NULL;
		gboolean is_good;

		if (json_peek(&scan) != '"' || !json_string(&scan, &name))
			return refuse(error, "a group is not a text");
		members = json_text_dup(&name);
		is_good = parse_group(members, "+", &group, error);
		g_array_append_val(groups, group);
		if (!is_good)
			return FALSE;
	}
	if (json_member(&scan, &key) || scan.status != JSON_OK)
		return refuse(error, "it is cut, or more than \"mapping\" stands in it");
	return TRUE;
}

/* The last blank of a line, and a number behind it. */
static gchar *split_number(gchar *line, guint64 least, guint64 most, guint64 *ret_number)
{
	gchar *blank = strrchr(line, ' ');

	if (!blank || !g_ascii_string_to_unsigned(blank + 1, 10, least, most, ret_number, NULL))
		return NULL;
	*blank = '\0';
	return line;
}

static gboolean parse_partition(gchar **lines, GArray *groups, GError **error)
{
	for (guint i = 0; lines[i]; i++) {
		struct group group;
		gboolean is_good;

		if (!*lines[i])
			continue;
		if (!g_str_has_prefix(lines[i], PARTITION_PREFIX) ||
		    !split_number(lines[i], 1, G_MAXINT64, &group.part_bytes))
			return refuse(error, "line %u is not '%sTENSOR_TENSOR BYTES'", i + 1,
				      PARTITION_PREFIX);
		is_good = parse_group(lines[i] + strlen(PARTITION_PREFIX), "_", &group, error);
		g_array_append_val(groups, group);
		if (!is_good)
			return FALSE;
	}
	return TRUE;
}

static gboolean add_cluster_line(gchar *line, guint number, GPtrArray *clusters, GError **error)
{
	guint64 cluster;

	if (!split_number(line, 0, PLAN_MAX_NAMES - 1, &cluster) || !plan_name_is_good(line))
		return refuse(error, "line %u is not 'OPERATION CLUSTER'", number);
	while (clusters->len <= cluster)
		g_ptr_array_add(clusters, g_ptr_array_new_with_free_func(g_free));
	g_ptr_array_add(clusters->pdata[cluster], g_strdup(line));
	return TRUE;
}

static gboolean parse_clusters(gchar **lines, TachoPlan *plan, GError **error)
{
	g_autoptr(GPtrArray) clusters =
		g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
	struct plan_change *change = plan_add_names(plan, PLAN_CLUSTERS);

	for (guint i = 0; lines[i]; i++)
		if (*lines[i] && !add_cluster_line(lines[i], i + 1, clusters, error))
			return FALSE;
	for (guint i = 0; i < clusters->len; i++) {
		GPtrArray *names = clusters->pdata[i];
		guint32 n = names->len;

		if (n == 0) /* numbers may have been left out */
			continue;
		g_array_append_val(change->n_of, n);
		for (guint32 j = 0; j < n; j++)
			g_ptr_array_add(change->names, g_strdup(names->pdata[j]));
	}
	if (change->names->len == 0)
		return refuse(error, "it has no clusters");
	return plan_check(plan, error);
}

/* The groups as a change of buckets, and of their parts where they have some. */
static gboolean take_groups(TachoPlan *plan, GArray *groups, gboolean has_parts, GError **error)
{
	struct plan_change buckets = { .kind = PLAN_BUCKETS,
				       .order = g_array_new(FALSE, FALSE, sizeof(guint32)),
				       .n_of = g_array_new(FALSE, FALSE, sizeof(guint32)) };
	struct plan_change parts = { .kind = PLAN_PART_BYTES };

	g_array_sort(groups, compare_groups);
	if (has_parts)
		parts.sizes = g_array_new(FALSE, FALSE, sizeof(guint64));
	for (guint i = 0; i < groups->len; i++) {
		const struct group *group = &g_array_index(groups, struct group, i);
		guint32 n = group->members->len;

		g_array_append_vals(buckets.order, group->members->data, n);
		g_array_append_val(buckets.n_of, n);
		if (has_parts)
			g_array_append_val(parts.sizes, group->part_bytes);
	}
	g_array_append_val(plan->changes, buckets);
	if (has_parts)
		g_array_append_val(plan->changes, parts);
	return plan_check(plan, error);
}

TachoPlan *plan_parse_dpro(const gchar *text, const TachoPlan *job, GError **error)
{
	g_autoptr(GArray) groups = g_array_new(FALSE, FALSE, sizeof(struct group));
	g_autoptr(TachoPlan) plan = plan_new(job ? job->n_ranks : 1);
	g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
	gboolean is_mapping = g_str_has_prefix(text, "{");
	gboolean is_partition = g_str_has_prefix(text, PARTITION_PREFIX);

	g_array_set_clear_func(groups, group_clear);
	if (!is_mapping && !is_partition)
		return parse_clusters(lines, plan, error) ? g_steal_pointer(&plan) : NULL;
	if (!job) {
		refuse(error, "tensors of such a file have no sizes: name a run of the job, too");
		return NULL;
	}
	g_array_append_vals(plan->gradients, job->gradients->data, job->gradients->len);
	if (!(is_mapping ? parse_mapping(text, groups, error)
			 : parse_partition(lines, groups, error)) ||
	    !take_groups(plan, groups, is_partition, error))
		return NULL;
	return g_steal_pointer(&plan);
}
