/* comm_matrix: how many bytes went from each rank to each other one.
 *
 * Where messages were recorded, they say it: what a rank sent on connections whose other end is in the run. Where
 * none were, the collectives tell who worked with whom: between any two ranks of a process group stand the bytes
 * of the collectives of that group, of one rank's input each; how the library carried them out is not known. */
#ifndef TACHO_COMM_MATRIX_H
#define TACHO_COMM_MATRIX_H

#include <tacho/export.h>

#include "base/json_writer.h"
#include "export/export_scope.h"

#define COMM_MATRIX_MAX_RANKS 1024

enum comm_matrix_source {
	COMM_MATRIX_NOTHING, /* neither, or one rank, or more than COMM_MATRIX_MAX_RANKS */
	COMM_MATRIX_MESSAGES,
	COMM_MATRIX_COLLECTIVES,
};

struct comm_matrix {
	enum comm_matrix_source source;
	guint n_ranks;
	guint64 *bytes;	   /* [from * n_ranks + to], by rank index */
	guint64 n_outside; /* messages sent to nobody in the run */
};

void comm_matrix_init(struct comm_matrix *matrix, const struct export_scope *scope);
void comm_matrix_release(struct comm_matrix *matrix);
/* An object: {"source":"messages","ranks":[0,1],"bytes":[[0,1],[1,0]],"outside":0}. */
void comm_matrix_write_json(const struct comm_matrix *matrix, const TachoTimeline *timeline,
			    JsonWriter *json);

#endif
