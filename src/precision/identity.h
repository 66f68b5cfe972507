/* identity: the operations of a model by names that stay the same whatever they compute with: module path, kind, ordinal. As a
 * run's file precision.json tells (docs/precision.md), or as a recording shows (layers.h).
 *
 * (1) Operations stand in the order of one forward pass. An input of one is a tensor that an operation before it made, or
 *     IDENTITY_OUTSIDE: a batch, a parameter.
 * (2) No two have the same module, kind and ordinal. */
#ifndef TACHO_PRECISION_IDENTITY_H
#define TACHO_PRECISION_IDENTITY_H

#include <tacho/precision.h>

#include "precision/problem.h"

#define IDENTITY_FILE	   "precision.json"
#define IDENTITY_MAX_BYTES (256u * 1024 * 1024)
#define IDENTITY_OUTSIDE   G_MAXUINT32
/* Of a number of elements: 2^53, up to which a double is exact. */
#define IDENTITY_MAX_ELEMENTS 9007199254740992.0

struct identity_input {
	guint32 producer;
	gdouble elements;
};

struct identity_operation {
	gchar *module, *kind; /* owned */
	guint32 ordinal;
	enum precision_rule rule;
	guint allowed;				   /* bit f: enum number_format f */
	gdouble elements_in, elements_out, weight; /* of all calls; 0: not known, or none */
	guint32 n_calls;			   /* in a forward pass, 1 or more */
	guint32 first_input, n_inputs;		   /* in `inputs` */
};

struct identity {
	enum number_format
		format; /* of the run; N_NUMBER_FORMATS: not told, or several by a plan */
	GHashTable *
		roots; /* class of a module that the job calls itself -> what stands before its paths */
	GArray *operations; /* struct identity_operation, owned texts */
	GArray *inputs;	    /* struct identity_input */
	/* What a forward pass in the run's format keeps for the backward pass, without parameters and buffers. -1: not told. */
	gdouble kept_bytes;
};

typedef struct identity identity;

struct identity *identity_new(void);
void identity_free(struct identity *identity);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(identity, identity_free)

static inline struct identity_operation *identity_at(const struct identity *identity, guint32 i)
{
	return &g_array_index(identity->operations, struct identity_operation, i);
}
static inline struct identity_input *identity_input_at(const struct identity *identity, guint32 i)
{
	return &g_array_index(identity->inputs, struct identity_input, i);
}

/* It is in no recording, but stands for what comes from outside, or goes there. */
gboolean identity_is_border(const struct identity_operation *operation);

/* Add an operation whose ordinal is counted; returns its number. `counts` is g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
 * NULL), the same for all of one identity. */
guint32 identity_add(struct identity *identity, GHashTable *counts, const gchar *module,
		     const gchar *kind);

/* What a file holds, and where it is a run's, beside its traces. TACHO_PRECISION_ERROR_FORMAT or _VERSION names the byte; of
 * identity_read(), G_FILE_ERROR too. */
struct identity *identity_parse(const gchar *text, gsize n, GError **error);
struct identity *identity_read(const gchar *path, GError **error);

#endif
