/* cost_model: how long operations take, as learned of calls; and how far off that is on what was held out.
 *
 * Four ways, of which the last three also answer what was never seen:
 *
 *   table     the time of the same call on the same device
 *   roofline  floor + max(operations / (peak * share), bytes / (bandwidth * share)) of the call's class and type of numbers
 *             (cost/kernel_efficiency.h has the same form): figures of the device, or where it has none the middle of all devices'
 *   nearest   the call of the class that is nearest by the logarithms of its features: as much slower than the roofline
 *   trees     boosted_trees of the features: how much slower than the roofline of the middle of all devices
 *
 * (1) Each way is held against calls of devices that it was not fitted on, and against calls of shapes that it was not fitted on, class
 *     by class. Which is taken for a class and a device is what was less off there: nothing else decides.
 * (2) Training draws nothing: the same calls give the same model. */
#ifndef TACHO_COST_MODEL_H
#define TACHO_COST_MODEL_H

#include "learn/boosted_trees.h"
#include "learn/cost_calls.h"

#define COST_WAYS(WAY)                                                                             \
	WAY(TABLE, "table")                                                                        \
	WAY(ROOFLINE, "roofline")                                                                  \
	WAY(NEAREST, "nearest")                                                                    \
	WAY(TREES, "trees")

enum cost_way {
#define COST_WAY_ENUM(enumerator, name) COST_BY_##enumerator,
	COST_WAYS(COST_WAY_ENUM)
#undef COST_WAY_ENUM
		N_COST_WAYS
};

/* What calls were held out of training. */
enum cost_fold {
	HELD_OUT_DEVICE, /* those of one device after the other */
	HELD_OUT_SHAPE,	 /* those of a fifth of the shapes after the other, on all devices */
	N_COST_FOLDS
};

struct cost_error {
	guint n_calls;		      /* that were held out; 0: it was not tried */
	gdouble mean_pct, median_pct; /* of |predicted / measured - 1| */
};

struct cost_roofline {
	enum kernel_class class;
	enum device_rate rate;
	guint32 device; /* COST_MAX_DEVICES: the middle of all devices */
	gdouble floor_ns;
	gdouble ops_share; /* 0: of such a class only bytes count */
	gdouble bytes_share;
	guint n_calls;
};

struct cost_class {
	gboolean has_trees;
	struct boosted_trees trees;
	guint n_calls, n_devices;
	struct cost_error errors[N_COST_FOLDS][N_COST_WAYS];
};

struct cost_model {
	struct cost_calls calls;
	GArray *rooflines; /* struct cost_roofline */
	struct cost_class classes[N_KERNEL_CLASSES];
	GArray *links;	     /* struct link_cost (learn/link_cost.h) */
	GArray *corrections; /* struct correction (learn/correction.h) */
};

const gchar *cost_way_name(enum cost_way way);
const gchar *cost_fold_name(enum cost_fold fold);

void cost_model_init(struct cost_model *model);
void cost_model_release(struct cost_model *model);

/* Fit everything to the calls, which are finished, and hold it against those held out. */
void cost_model_train(struct cost_model *model, const struct boosting *how);
/* What training takes if nothing else is asked for. */
struct boosting cost_model_boosting(void);

/* How long the call takes, whose device is one of the model's and whose features are set, in ns. NAN: that way does not tell. */
gdouble cost_model_ns(const struct cost_model *model, const struct cost_call *call,
		      enum cost_way way);
/* The way that was least off on what was held out, for this class and device, of those that tell something (cost_model_ns() of each); the
 * table where it has the call. N_COST_WAYS: none. */
enum cost_way cost_model_choose(const struct cost_model *model, const struct cost_call *call,
				const gdouble by_way_ns[N_COST_WAYS]);
/* Whether calls of that class on that device are in the model. */
gboolean cost_model_knows(const struct cost_model *model, enum kernel_class class, guint32 device);
/* The error of that way as it was held against what fits the question; n_calls 0: not known. */
struct cost_error cost_model_error(const struct cost_model *model, const struct cost_call *call,
				   enum cost_way way);

#endif
