#include "cost/kernel_efficiency.h"

#include <string.h>

#include "base/for_each.h"
#include "base/text_file.h"

/* The size of a file of efficiencies, at most.
 * Source: a rule: a file with a row for each class on a hundred devices is smaller. If wrong, it is refused. */
#define MAX_FILE_BYTES (1 << 20)
/* Source: a rule: what a file may say; a kernel may reach more than a stated peak, and with caches far more than memory. If wrong,
 * a true figure is refused, or one in another unit is taken. */
#define MAX_FLOOR_US	1e6   /* of a kernel */
#define MAX_OPS_SHARE	2.0   /* of the peak */
#define MAX_BYTES_SHARE 100.0 /* of the peak */
/* The least of a floor, us, and of a share. Source: a rule: less is no time and no rate; times by what is less are no numbers. If
 * wrong, such a figure is refused. */
#define MIN_FIGURE 1e-6

static const struct {
	const gchar *device;
	struct kernel_efficiency row;
} measured[] = {
#define EFFICIENCY(device, class, rate, floor_us, ops, bytes, kernels, source)                     \
	{ device, { NULL, KERNEL_##class, DEVICE_##rate, (floor_us)*1e3, ops, bytes } },
#define EFFICIENCY_ERROR(makers, ground, percent, of)
#include "cost/kernel_efficiencies.def"
#undef EFFICIENCY
#undef EFFICIENCY_ERROR
};

enum makers { MAKERS_ONE, MAKERS_TWO, N_MAKERS };

static const gdouble errors[N_MAKERS][EFFICIENCY_N_GROUNDS] = {
#define EFFICIENCY(device, class, rate, floor_us, ops, bytes, kernels, source)
#define EFFICIENCY_ERROR(makers, ground, percent, of)                                              \
	[MAKERS_##makers][EFFICIENCY_##ground] = percent,
#include "cost/kernel_efficiencies.def"
#undef EFFICIENCY
#undef EFFICIENCY_ERROR
};

void kernel_efficiencies_init_equal(struct kernel_efficiencies *table)
{
	table->rows = g_array_new(FALSE, FALSE, sizeof(struct kernel_efficiency));
}

void kernel_efficiencies_init(struct kernel_efficiencies *table)
{
	kernel_efficiencies_init_equal(table);
	for (guint i = 0; i < G_N_ELEMENTS(measured); i++) {
		struct kernel_efficiency row = measured[i].row;

		row.device = device_find(measured[i].device);
		g_assert(row.device);
		g_array_append_val(table->rows, row);
	}
}

void kernel_efficiencies_release(struct kernel_efficiencies *table)
{
	g_clear_pointer(&table->rows, g_array_unref);
}

/* --- files -------------------------------------------------------------------------------------- */

/* A number of a group, where it has one. */
static gboolean read_number(GKeyFile *file, const gchar *group, const gchar *key, gdouble most,
			    gdouble *ret, GError **error)
{
	g_autoptr(GError) cause = NULL;
	gdouble number;

	if (!g_key_file_has_key(file, group, key, NULL))
		return TRUE;
	number = g_key_file_get_double(file, group, key, &cause);
	if (!cause && number >= MIN_FIGURE && number <= most) {
		*ret = number;
		return TRUE;
	}
	g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_INVALID_VALUE,
		    "[%s]: %s must be a number from %g to %g", group, key, MIN_FIGURE, most);
	return FALSE;
}

/* "H100 gemm bf16", "H100 softmax". */
static gboolean read_name(const gchar *group, struct kernel_efficiency *row, GError **error)
{
	g_auto(GStrv) words = g_strsplit(group, " ", -1);
	guint n = g_strv_length(words);
	const struct device_peak *device = n > 0 ? device_find(words[0]) : NULL;

	row->device = device;
	row->class = n > 1 ? kernel_class_find(words[1]) : N_KERNEL_CLASSES;
	row->rate = n > 2 ? device_rate_find(words[2]) : DEVICE_N_RATES;
	if (device && row->class != N_KERNEL_CLASSES &&
	    (n == 2 || (row->rate != DEVICE_N_RATES && !words[3])))
		return TRUE;
	g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_GROUP_NOT_FOUND,
		    "[%s]: a section is called as its device, its class of kernels and its type "
		    "of numbers, as in [H100 gemm bf16] or [H100 softmax]",
		    group);
	return FALSE;
}

static gboolean read_row(GKeyFile *file, const gchar *group, struct kernel_efficiency *row,
			 GError **error)
{
	gdouble floor_us = 0;

	if (!read_name(group, row, error) ||
	    !read_number(file, group, "floor_us", MAX_FLOOR_US, &floor_us, error) ||
	    !read_number(file, group, "operations", MAX_OPS_SHARE, &row->ops_share, error) ||
	    !read_number(file, group, "bytes", MAX_BYTES_SHARE, &row->bytes_share, error))
		return FALSE;
	row->floor_ns = floor_us * 1e3;
	if (row->ops_share > 0 || row->bytes_share > 0)
		return TRUE;
	g_set_error(error, G_KEY_FILE_ERROR, G_KEY_FILE_ERROR_KEY_NOT_FOUND,
		    "[%s] has neither 'operations' nor 'bytes'", group);
	return FALSE;
}

gboolean kernel_efficiencies_read(struct kernel_efficiencies *table, const gchar *path,
				  GError **error)
{
	g_autoptr(GKeyFile) file = g_key_file_new();
	g_auto(GStrv) groups = NULL;
	gsize length;
	g_autofree gchar *text = text_file_read(path, MAX_FILE_BYTES, &length, error);

	kernel_efficiencies_init_equal(table);
	if (!text)
		return FALSE;
	if (!g_key_file_load_from_data(file, text, length, G_KEY_FILE_NONE, error)) {
		g_prefix_error(error, "%s: ", path);
		return FALSE;
	}
	groups = g_key_file_get_groups(file, NULL);
	for (guint i = 0; groups[i]; i++) {
		struct kernel_efficiency row = { 0 };

		if (!read_row(file, groups[i], &row, error)) {
			g_prefix_error(error, "%s: ", path);
			return FALSE;
		}
		g_array_append_val(table->rows, row);
	}
	return TRUE;
}

/* --- times on another device --------------------------------------------------------------------- */

/* How well a row fits what is asked for; 0: not at all. Of the device itself it fits better than of another device with
 * the same chip, and then better for such numbers than for all. */
static guint fit_of(const struct kernel_efficiency *row, const struct device_peak *device,
		    const struct kernel_demand *demand)
{
	guint fit = row->rate == demand->rate ? 2 : row->rate == DEVICE_N_RATES ? 1 : 0;

	if (row->class != demand->class || fit == 0)
		return 0;
	if (strcmp(row->device->name, device->name) == 0)
		return fit + 2;
	return strcmp(row->device->chip, device->chip) == 0 ? fit : 0;
}

const struct kernel_efficiency *kernel_efficiency_find(const struct kernel_efficiencies *table,
						       const struct device_peak *device,
						       const struct kernel_demand *demand)
{
	const struct kernel_efficiency *best = NULL;
	guint best_fit = 0;

	FOR_EACH(const struct kernel_efficiency, row, table->rows) {
		guint fit = fit_of(row, device, demand);

		if (fit <= best_fit)
			continue;
		best = row;
		best_fit = fit;
	}
	return best;
}

/* What both rows tell of one of their figures; else the same of both devices. */
static gboolean both_tell(gdouble *from, gdouble *to, gdouble otherwise)
{
	gboolean is_told = *from > 0 && *to > 0;

	if (!is_told)
		*from = *to = otherwise;
	return is_told;
}

/* The second term of the time, ns. Where the work is not known, that of a unit of what usually bounds the class. */
static gdouble bound_ns(const struct device_peak *device, const struct kernel_efficiency *row,
			const struct kernel_demand *demand)
{
	enum device_rate rate = demand->rate == DEVICE_N_RATES ? DEVICE_FP32 : demand->rate;
	gdouble ops_per_ns = device_ops_per_ns(device, rate) * row->ops_share;
	gdouble bytes_per_ns = device->gb_per_s * row->bytes_share;

	if (demand->flops > 0 || demand->bytes > 0)
		return MAX(demand->flops / ops_per_ns, demand->bytes / bytes_per_ns);
	return kernel_class_is_arithmetic(demand->class) ? 1 / ops_per_ns : 1 / bytes_per_ns;
}

gdouble kernel_efficiency_move(const struct kernel_efficiencies *table,
			       const struct device_peak *from, const struct device_peak *to,
			       const struct kernel_demand *demand, gdouble duration_ns,
			       enum efficiency_ground *ret_ground)
{
	const struct kernel_efficiency *row_from = kernel_efficiency_find(table, from, demand);
	const struct kernel_efficiency *row_to = kernel_efficiency_find(table, to, demand);
	struct kernel_efficiency before = { 0 }, after = { 0 };
	gboolean has_work = demand->flops > 0 || demand->bytes > 0;
	gboolean is_told;

	if (row_from && row_to) {
		before = *row_from;
		after = *row_to;
	}
	/* a floor that only one device tells is taken to be the other's, too */
	if (before.floor_ns <= 0 || after.floor_ns <= 0)
		before.floor_ns = after.floor_ns = MAX(before.floor_ns, after.floor_ns);
	is_told = both_tell(&before.ops_share, &after.ops_share, 1);
	is_told |= both_tell(&before.bytes_share, &after.bytes_share, 1);
	*ret_ground = is_told					  ? EFFICIENCY_MEASURED
		      : has_work || demand->class != KERNEL_OTHER ? EFFICIENCY_EQUAL
								  : EFFICIENCY_UNKNOWN;
	/* what took no time takes none: without a floor, 0 times it would be of 0 */
	if (from == to || duration_ns <= 0)
		return duration_ns;
	if (duration_ns <= before.floor_ns)
		return duration_ns * after.floor_ns / before.floor_ns;
	return after.floor_ns + (duration_ns - before.floor_ns) * bound_ns(to, &after, demand) /
					bound_ns(from, &before, demand);
}

gdouble kernel_efficiency_error(const struct device_peak *from, const struct device_peak *to,
				enum efficiency_ground ground)
{
	return errors[from->maker == to->maker ? MAKERS_ONE : MAKERS_TWO][ground];
}
