/* boosted_json: boosted trees as XGBoost writes them with save_model("x.json"): learner, gradient_booster, model, trees, and of each tree
 * its columns (https://xgboost.readthedocs.io/en/stable/tutorials/saving_model.html). What is written can be loaded there, and what was
 * trained there can be put in its place.
 *
 * Read are trees of numeric splits whose sum is the answer (booster gbtree; objectives reg:squarederror, reg:absoluteerror and
 * reg:pseudohubererror). All else is refused. */
#ifndef TACHO_BOOSTED_JSON_H
#define TACHO_BOOSTED_JSON_H

#include "base/json_writer.h"
#include "learn/boosted_trees.h"
#include "learn/model_reader.h"

void boosted_json_write(const struct boosted_trees *trees, const gchar *const *feature_names,
			JsonWriter *json);
/* `trees` is initialised and has no trees yet. FALSE: the reader's error is set. */
gboolean boosted_json_read(struct boosted_trees *trees, const gchar *const *feature_names,
			   struct model_reader *reader);

#endif
