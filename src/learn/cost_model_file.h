/* cost_model_file: a cost model as a file: JSON, of a version (docs/cost-models.md). It is data, and read as such. */
#ifndef TACHO_COST_MODEL_FILE_H
#define TACHO_COST_MODEL_FILE_H

#include "base/json_writer.h"
#include "learn/cost_model.h"

/* The version that is written, and the only one that is read.
 * Source: derived from docs/cost-models.md. */
#define COST_MODEL_VERSION 1

/* The size of a file, at most. Source: a rule: a million calls take as much. If wrong, a file is refused. */
#define COST_MODEL_MAX_BYTES (1u << 29)

void cost_model_write_json(const struct cost_model *model, JsonWriter *json);
/* `model` is initialised and empty; where it is refused, what was read of it stays in it. The message tells the byte. */
gboolean cost_model_parse(struct cost_model *model, const gchar *json, gsize n, GError **error);

#endif
