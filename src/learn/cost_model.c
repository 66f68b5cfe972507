#include "learn/cost_model.h"

#include <math.h>
#include <string.h>

#include "base/for_each.h"
#include "base/order_statistics.h"
#include "learn/correction.h"
#include "learn/link_cost.h"

/* Source: a rule: a roofline has three figures, trees far more. If wrong, a class with few calls is predicted worse than it could. */
#define MIN_ROOFLINE_CALLS 3
#define MIN_TREE_CALLS	   100

/* A roofline is fitted to as many calls of a device, evenly by time. Source: a rule, as in validate/device_fit.py: its three figures do
 * not move with more. If wrong, they are less exact. */
#define MAX_FITTED 400

/* Where a share is not told, it is near this; what that costs. Source: as in validate/device_fit.py. If wrong, shares that no call tells
 * are. */
#define TOWARDS_SHARE 0.5
#define RIDGE	      0.02

#define N_SHAPE_FOLDS                                                                              \
	5 /* Source: a rule: four fifths to fit, a fifth to try. If wrong, errors are a little higher or lower. */

static const gchar *const way_names[N_COST_WAYS] = {
#define COST_WAY_NAME(enumerator, name) name,
	COST_WAYS(COST_WAY_NAME)
#undef COST_WAY_NAME
};

/* Some calls of one class: those that are fitted to, or those that are tried. */
struct call_set {
	const struct cost_model *model;
	enum kernel_class class;
	GArray *rows; /* guint32, places in the model's calls */
};

/* What was fitted to a set. */
struct fitted {
	const struct call_set *set;
	GArray *rooflines; /* struct cost_roofline */
	struct boosted_trees trees;
	gboolean has_trees;
};

const gchar *cost_way_name(enum cost_way way)
{
	return way_names[way];
}

const gchar *cost_fold_name(enum cost_fold fold)
{
	return fold == HELD_OUT_DEVICE ? "device" : "shape";
}

void cost_model_init(struct cost_model *model)
{
	memset(model, 0, sizeof(*model));
	cost_calls_init(&model->calls);
	model->rooflines = g_array_new(FALSE, FALSE, sizeof(struct cost_roofline));
	model->links = link_costs_new();
	model->corrections = corrections_new();
	for (guint i = 0; i < N_KERNEL_CLASSES; i++)
		boosted_trees_init(&model->classes[i].trees, N_CALL_FEATURES);
}

void cost_model_release(struct cost_model *model)
{
	cost_calls_release(&model->calls);
	g_clear_pointer(&model->rooflines, g_array_unref);
	g_clear_pointer(&model->links, g_array_unref);
	g_clear_pointer(&model->corrections, g_array_unref);
	for (guint i = 0; i < N_KERNEL_CLASSES; i++)
		boosted_trees_release(&model->classes[i].trees);
}

struct boosting cost_model_boosting(void)
{
	/* Source: fitted by validate/cost_models.py on the half of the devices that is there for it. */
	return (struct boosting){
		.n_trees = 200, .depth = 5, .min_rows = 20, .rate = 0.1, .shrinkage = 1
	};
}

static const struct cost_call *call_at(const struct cost_model *model, guint32 index)
{
	return &g_array_index(model->calls.rows, struct cost_call, index);
}

/* --- rooflines ------------------------------------------------------------------------------------- */

static gdouble roofline_ns(const struct cost_roofline *roofline, const struct cost_call *call,
			   const struct cost_device *device)
{
	gdouble ops_ns = 0, bytes_ns = 0;

	if (roofline->ops_share > 0 && device->ops_per_ns[call->rate] > 0)
		ops_ns = call->flops / (device->ops_per_ns[call->rate] * roofline->ops_share);
	if (device->bytes_per_ns > 0)
		bytes_ns = call->bytes / (device->bytes_per_ns * roofline->bytes_share);
	return MAX(call->kernels, 1) * roofline->floor_ns + MAX(ops_ns, bytes_ns);
}

/* The mean of how far off the calls are, as logarithms, and what shares far from the usual cost. */
static gdouble roofline_loss(const struct cost_roofline *roofline, const struct cost_model *model,
			     const GArray *rows)
{
	gdouble sum = 0, loss;

	FOR_EACH(const guint32, row, rows) {
		const struct cost_call *call = call_at(model, *row);
		const struct cost_device *device =
			cost_calls_device_at(&model->calls, call->device);

		sum += fabs(log(call->time_ns / roofline_ns(roofline, call, device)));
	}
	loss = sum / rows->len + RIDGE * pow(log(roofline->bytes_share / TOWARDS_SHARE), 2);
	if (roofline->ops_share > 0)
		loss += RIDGE * pow(log(roofline->ops_share / TOWARDS_SHARE), 2);
	return loss;
}

static int compare_times(gconstpointer a, gconstpointer b, gpointer data)
{
	const struct cost_model *model = data;
	gdouble x = call_at(model, *(const guint32 *)a)->time_ns;
	gdouble y = call_at(model, *(const guint32 *)b)->time_ns;

	return x < y ? -1 : x > y;
}

/* At most MAX_FITTED of them, evenly by time. */
static GArray *thin(const struct cost_model *model, GArray *rows)
{
	GArray *few = g_array_new(FALSE, FALSE, sizeof(guint32));
	guint n = MIN(rows->len, MAX_FITTED);

	g_array_sort_with_data(rows, compare_times, (gpointer)model);
	for (guint i = 0; i < n; i++)
		g_array_append_val(
			few, g_array_index(rows, guint32, (guint)((guint64)i * rows->len / n)));
	return few;
}

/* Descent along one figure after the other, in steps that shrink. */
static void fit_roofline(struct cost_roofline *roofline, const struct cost_model *model,
			 GArray *all_rows)
{
	/* Source: a rule: wider than any device's. If wrong, a figure stops at its limit. */
	static const gdouble least[] = { 1, 1e-4, 1e-4 }, most[] = { 1e9, 2, 20 };
	g_autoptr(GArray) rows = thin(model, all_rows);
	gdouble *figures[] = { &roofline->floor_ns, &roofline->ops_share, &roofline->bytes_share };
	gboolean is_arithmetic = kernel_class_is_arithmetic(roofline->class);
	gdouble best, step = 2;

	roofline->n_calls = all_rows->len;
	roofline->floor_ns = call_at(model, g_array_index(rows, guint32, 0))->time_ns / 2;
	roofline->ops_share = is_arithmetic ? TOWARDS_SHARE : 0;
	roofline->bytes_share = TOWARDS_SHARE;
	best = roofline_loss(roofline, model, rows);
	while (step > 1.005) {
		gboolean is_better = FALSE;

		for (guint i = 0; i < G_N_ELEMENTS(figures); i++)
			for (gint way = -1; way <= 1; way += 2) {
				gdouble before = *figures[i], loss;

				if (i == 1 && !is_arithmetic)
					continue;
				*figures[i] = CLAMP(way > 0 ? before * step : before / step,
						    least[i], most[i]);
				loss = roofline_loss(roofline, model, rows);
				if (loss < best - 1e-9) {
					best = loss;
					is_better = TRUE;
				} else {
					*figures[i] = before;
				}
			}
		if (!is_better)
			step = sqrt(step);
	}
}

static gdouble middle_of(const GArray *rooflines, enum device_rate rate, gsize offset)
{
	g_autoptr(GArray) values = g_array_new(FALSE, FALSE, sizeof(gdouble));

	FOR_EACH(const struct cost_roofline, roofline, rooflines) {
		gdouble value = *(const gdouble *)(gconstpointer)((const gchar *)roofline + offset);

		if (roofline->rate == rate && roofline->device != COST_MAX_DEVICES)
			g_array_append_val(values, value);
	}
	return median_of_doubles(values);
}

/* One for each device and type of numbers with calls enough, and one for the middle of each type. */
static GArray *fit_rooflines(const struct call_set *set)
{
	GArray *rooflines = g_array_new(FALSE, FALSE, sizeof(struct cost_roofline));
	const struct cost_model *model = set->model;

	for (guint rate = 0; rate < DEVICE_N_RATES; rate++) {
		struct cost_roofline middle = {
			set->class, (enum device_rate)rate, COST_MAX_DEVICES, 0, 0, 0, 0
		};

		for (guint32 device = 0; device < model->calls.devices->len; device++) {
			g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(guint32));
			struct cost_roofline roofline = {
				set->class, (enum device_rate)rate, device, 0, 0, 0, 0
			};

			FOR_EACH(const guint32, row, set->rows)
				if (call_at(model, *row)->device == device &&
				    call_at(model, *row)->rate == rate)
					g_array_append_val(rows, *row);
			if (rows->len < MIN_ROOFLINE_CALLS)
				continue;
			fit_roofline(&roofline, model, rows);
			middle.n_calls += roofline.n_calls;
			g_array_append_val(rooflines, roofline);
		}
		if (middle.n_calls == 0)
			continue;
		middle.floor_ns = middle_of(rooflines, middle.rate,
					    G_STRUCT_OFFSET(struct cost_roofline, floor_ns));
		middle.ops_share = middle_of(rooflines, middle.rate,
					     G_STRUCT_OFFSET(struct cost_roofline, ops_share));
		middle.bytes_share = middle_of(rooflines, middle.rate,
					       G_STRUCT_OFFSET(struct cost_roofline, bytes_share));
		g_array_append_val(rooflines, middle);
	}
	return rooflines;
}

/* The device's, else that of the middle; of another type of numbers where there is none of this. */
static const struct cost_roofline *find_roofline(const GArray *rooflines,
						 const struct cost_call *call)
{
	const struct cost_roofline *best = NULL;
	gint best_fit = -1;

	FOR_EACH(const struct cost_roofline, roofline, rooflines) {
		gint fit = roofline->rate == call->rate ? 2 : 0;

		if (roofline->class != call->class ||
		    (roofline->device != COST_MAX_DEVICES && roofline->device != call->device))
			continue;
		fit += roofline->device != COST_MAX_DEVICES;
		if (fit > best_fit) {
			best = roofline;
			best_fit = fit;
		}
	}
	return best;
}

static gdouble by_roofline(const GArray *rooflines, const struct cost_model *model,
			   const struct cost_call *call)
{
	const struct cost_roofline *roofline = find_roofline(rooflines, call);

	return roofline ? roofline_ns(roofline, call,
				      cost_calls_device_at(&model->calls, call->device))
			: NAN;
}

/* --- the nearest ----------------------------------------------------------------------------------- */

/* The square of how far two calls are from each other; more than `limit` where that is passed on the way. */
static gdouble distance(const struct cost_call *a, const struct cost_call *b, gdouble limit)
{
	gdouble sum = a->rate == b->rate ? 0 : 4;

	for (guint i = 0; i < N_CALL_FEATURES && sum <= limit; i++) {
		gdouble difference = (gdouble)a->features[i] - b->features[i];

		sum += difference * difference;
	}
	return sum;
}

/* As much slower than the roofline as the nearest call; the first of several that are as near. */
static gdouble by_nearest(const GArray *rows, const GArray *rooflines,
			  const struct cost_model *model, const struct cost_call *call)
{
	const struct cost_call *nearest = NULL;
	gdouble least = INFINITY;

	FOR_EACH(const guint32, row, rows) {
		const struct cost_call *other = call_at(model, *row);
		gdouble far;

		if (other->class != call->class)
			continue;
		far = distance(call, other, least);
		if (far < least) {
			least = far;
			nearest = other;
		}
	}
	if (!nearest)
		return NAN;
	return nearest->time_ns * by_roofline(rooflines, model, call) /
	       by_roofline(rooflines, model, nearest);
}

/* --- trees ----------------------------------------------------------------------------------------- */

static void fit_trees(struct boosted_trees *trees, const struct call_set *set,
		      const GArray *rooflines, const struct boosting *how)
{
	guint n = set->rows->len;
	g_autofree gfloat *features = g_new(gfloat, (gsize)n * N_CALL_FEATURES);
	g_autofree gfloat *targets = g_new(gfloat, n);

	FOR_EACH_AT(const guint32, row, i, set->rows) {
		const struct cost_call *call = call_at(set->model, *row);

		memcpy(features + (gsize)i * N_CALL_FEATURES, call->features,
		       sizeof(call->features));
		targets[i] = (gfloat)log(call->time_ns / by_roofline(rooflines, set->model, call));
	}
	boosted_trees_fit(trees, features, targets, n, how);
}

static gdouble by_trees(const struct boosted_trees *trees, const GArray *rooflines,
			const struct cost_model *model, const struct cost_call *call)
{
	return by_roofline(rooflines, model, call) *
	       exp(boosted_trees_value(trees, call->features));
}

/* --- held out -------------------------------------------------------------------------------------- */

static void fitted_init(struct fitted *fitted, const struct call_set *set,
			const struct boosting *how)
{
	fitted->set = set;
	fitted->rooflines = fit_rooflines(set);
	fitted->has_trees = set->rows->len >= MIN_TREE_CALLS && fitted->rooflines->len > 0;
	boosted_trees_init(&fitted->trees, N_CALL_FEATURES);
	if (fitted->has_trees)
		fit_trees(&fitted->trees, set, fitted->rooflines, how);
}

static void fitted_release(struct fitted *fitted)
{
	g_array_unref(fitted->rooflines);
	boosted_trees_release(&fitted->trees);
}

static gdouble fitted_ns(const struct fitted *fitted, const struct cost_call *call,
			 enum cost_way way)
{
	const struct cost_model *model = fitted->set->model;

	switch (way) {
	case COST_BY_ROOFLINE:
		return by_roofline(fitted->rooflines, model, call);
	case COST_BY_NEAREST:
		return by_nearest(fitted->set->rows, fitted->rooflines, model, call);
	case COST_BY_TREES:
		return fitted->has_trees ? by_trees(&fitted->trees, fitted->rooflines, model, call)
					 : NAN;
	default:
		return NAN;
	}
}

/* What group of those that are held out together the call is of. */
static guint group_of(const struct cost_call *call, enum cost_fold fold)
{
	if (fold == HELD_OUT_DEVICE)
		return call->device;
	return (g_str_hash(call->shapes) * 31u + g_str_hash(call->op)) % N_SHAPE_FOLDS;
}

static void try_group(const struct call_set *all, enum cost_fold fold, guint group,
		      const struct boosting *how, GArray *errors[N_COST_WAYS])
{
	struct call_set rest = { all->model, all->class,
				 g_array_new(FALSE, FALSE, sizeof(guint32)) };
	g_autoptr(GArray) tried = g_array_new(FALSE, FALSE, sizeof(guint32));
	struct fitted fitted;

	FOR_EACH(const guint32, row, all->rows)
		g_array_append_val(group_of(call_at(all->model, *row), fold) == group ? tried
										      : rest.rows,
				   *row);
	if (tried->len > 0 && rest.rows->len >= MIN_ROOFLINE_CALLS) {
		fitted_init(&fitted, &rest, how);
		FOR_EACH(const guint32, row, tried)
			for (guint way = COST_BY_ROOFLINE; way < N_COST_WAYS; way++) {
				const struct cost_call *call = call_at(all->model, *row);
				gdouble ns = fitted_ns(&fitted, call, (enum cost_way)way);
				gdouble error_pct = 100 * fabs(ns / call->time_ns - 1);

				if (isfinite(error_pct))
					g_array_append_val(errors[way], error_pct);
			}
		fitted_release(&fitted);
	}
	g_array_unref(rest.rows);
}

static struct cost_error sum_up(GArray *errors_pct)
{
	struct cost_error error = { .n_calls = errors_pct->len };

	FOR_EACH(const gdouble, error_pct, errors_pct)
		error.mean_pct += *error_pct / errors_pct->len;
	error.median_pct = median_of_doubles(errors_pct);
	return error;
}

static void try_fold(const struct call_set *all, enum cost_fold fold, const struct boosting *how,
		     struct cost_error *ret_errors)
{
	GArray *errors[N_COST_WAYS];
	guint n_groups = fold == HELD_OUT_DEVICE ? all->model->calls.devices->len : N_SHAPE_FOLDS;

	for (guint way = 0; way < N_COST_WAYS; way++)
		errors[way] = g_array_new(FALSE, FALSE, sizeof(gdouble));
	for (guint group = 0; group < n_groups; group++)
		try_group(all, fold, group, how, errors);
	for (guint way = 0; way < N_COST_WAYS; way++) {
		ret_errors[way] = sum_up(errors[way]);
		g_array_unref(errors[way]);
	}
}

/* --- all of it ------------------------------------------------------------------------------------- */

static guint count_devices(const struct call_set *set)
{
	gboolean is_there[COST_MAX_DEVICES] = { FALSE };
	guint n = 0;

	FOR_EACH(const guint32, row, set->rows) {
		gboolean *is_known = &is_there[call_at(set->model, *row)->device];

		n += !*is_known;
		*is_known = TRUE;
	}
	return n;
}

static void train_class(struct cost_model *model, enum kernel_class class,
			const struct boosting *how)
{
	struct cost_class *learned = &model->classes[class];
	struct call_set set = { model, class, g_array_new(FALSE, FALSE, sizeof(guint32)) };
	struct fitted fitted;

	FOR_EACH_AT(const struct cost_call, call, i, model->calls.rows)
		if (call->class == class)
			g_array_append_val(set.rows, i);
	learned->n_calls = set.rows->len;
	learned->n_devices = count_devices(&set);
	if (set.rows->len >= MIN_ROOFLINE_CALLS) {
		if (learned->n_devices > 1)
			try_fold(&set, HELD_OUT_DEVICE, how, learned->errors[HELD_OUT_DEVICE]);
		try_fold(&set, HELD_OUT_SHAPE, how, learned->errors[HELD_OUT_SHAPE]);
		fitted_init(&fitted, &set, how);
		g_array_append_vals(model->rooflines, fitted.rooflines->data,
				    fitted.rooflines->len);
		g_array_unref(fitted.rooflines);
		boosted_trees_release(&learned->trees);
		learned->trees = fitted.trees;
		learned->has_trees = fitted.has_trees;
	}
	g_array_unref(set.rows);
}

void cost_model_train(struct cost_model *model, const struct boosting *how)
{
	g_array_set_size(model->rooflines, 0);
	for (guint class = 0; class < N_KERNEL_CLASSES; class ++)
		train_class(model, (enum kernel_class) class, how);
}

/* --- asked ----------------------------------------------------------------------------------------- */

static gdouble by_table(const struct cost_model *model, const struct cost_call *call)
{
	FOR_EACH(const struct cost_call, row, model->calls.rows)
		if (row->device == call->device && row->rate == call->rate && row->op == call->op &&
		    row->shapes == call->shapes) /* strings are kept once */
			return row->time_ns;
	return NAN;
}

gdouble cost_model_ns(const struct cost_model *model, const struct cost_call *call,
		      enum cost_way way)
{
	const struct cost_class *class = &model->classes[call->class];
	g_autoptr(GArray) rows = NULL;
	gdouble ns = NAN;

	switch (way) {
	case COST_BY_TABLE:
		ns = by_table(model, call);
		break;
	case COST_BY_ROOFLINE:
		ns = by_roofline(model->rooflines, model, call);
		break;
	case COST_BY_NEAREST:
		rows = g_array_new(FALSE, FALSE, sizeof(guint32));
		for (guint32 i = 0; i < model->calls.rows->len; i++)
			g_array_append_val(rows, i);
		ns = by_nearest(rows, model->rooflines, model, call);
		break;
	case COST_BY_TREES:
		if (class->has_trees)
			ns = by_trees(&class->trees, model->rooflines, model, call);
		break;
	default:
		break;
	}
	return isfinite(ns) && ns > 0 ? ns : NAN;
}

gboolean cost_model_knows(const struct cost_model *model, enum kernel_class class, guint32 device)
{
	FOR_EACH(const struct cost_call, call, model->calls.rows)
		if (call->class == class && call->device == device)
			return TRUE;
	return FALSE;
}

struct cost_error cost_model_error(const struct cost_model *model, const struct cost_call *call,
				   enum cost_way way)
{
	enum cost_fold fold = cost_model_knows(model, call->class, call->device) ? HELD_OUT_SHAPE
										 : HELD_OUT_DEVICE;

	return model->classes[call->class].errors[fold][way];
}

enum cost_way cost_model_choose(const struct cost_model *model, const struct cost_call *call,
				const gdouble by_way_ns[N_COST_WAYS])
{
	enum cost_way best = isfinite(by_way_ns[COST_BY_ROOFLINE]) ? COST_BY_ROOFLINE : N_COST_WAYS;
	gdouble least = INFINITY;

	if (isfinite(by_way_ns[COST_BY_TABLE]))
		return COST_BY_TABLE;
	for (guint way = COST_BY_ROOFLINE; way < N_COST_WAYS; way++) {
		struct cost_error error = cost_model_error(model, call, (enum cost_way)way);

		if (error.n_calls > 0 && error.mean_pct < least && isfinite(by_way_ns[way])) {
			least = error.mean_pct;
			best = (enum cost_way)way;
		}
	}
	return best;
}
