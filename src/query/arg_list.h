/* arg_list: the args of one slice as keys and values of a type each, flattened as Perfetto does it:
 *
 *     inputs           "float32[64,3], int64[2]"      what slice_args.h says in short
 *     input[0].dtype   "float32"                      each tensor
 *     input[0].shape[1]  3
 *     args.a.b[2]                                     what a foreign trace said */
#ifndef TACHO_ARG_LIST_H
#define TACHO_ARG_LIST_H

#include "query/query_data.h"

enum arg_type {
	ARG_TYPE_INT,
	ARG_TYPE_UINT, /* the integer's bits */
	ARG_TYPE_REAL,
	ARG_TYPE_STRING,
	ARG_TYPE_BOOL,
};

struct arg {
	enum arg_type type;
	guint32 number;	       /* among the slice's, whichever parts were asked for */
	guint32 key, flat_key; /* offsets in the list's text; the flat key has no [N] */
	guint32 string;	       /* offset, of STRING */
	gint64 integer;	       /* of INT, UINT, BOOL */
	gdouble real;	       /* of REAL */
};

/* Where args come from. Those that are not asked for cost nothing: what a foreign trace said may lie far
 * off in a compressed file. */
enum arg_parts {
	ARG_PARTS_KNOWN = 1 << 0,   /* inputs, bytes ...: slice_args.h */
	ARG_PARTS_TENSORS = 1 << 1, /* input[0].dtype ... */
	ARG_PARTS_FOREIGN = 1 << 2, /* args. ... */
	ARG_PARTS_ALL = ARG_PARTS_KNOWN | ARG_PARTS_TENSORS | ARG_PARTS_FOREIGN,
};

struct arg_list {
	GArray *args; /* struct arg */
	GString *text;
	GString *path; /* storage */
	guint32 next_number;
};

void arg_list_init(struct arg_list *list);
void arg_list_release(struct arg_list *list);
/* Replaces what the list held. */
void arg_list_fill(struct arg_list *list, struct query_data *data, guint32 slice,
		   enum arg_parts parts);
/* The part that has `key`, if any has. */
enum arg_parts arg_list_part_of(const gchar *key);
/* The arg with that key, or NULL. */
const struct arg *arg_list_find(const struct arg_list *list, const gchar *key);
const struct arg *arg_list_borrow(const struct arg_list *list, guint index);
/* An arg's id is its slice's times ARGS_OF_SLICE plus its number, which is less, so ids of a slice's args ascend. */
#define ARGS_OF_SLICE (1 << 20)
static inline gint64 arg_id(guint32 slice, const struct arg *arg)
{
	return (gint64)slice * ARGS_OF_SLICE + arg->number;
}

/* The value as text, good as long as the list and `digits`. */
#define ARG_DIGITS_BYTES 40
const gchar *arg_list_display(const struct arg_list *list, const struct arg *arg,
			      gchar digits[ARG_DIGITS_BYTES]);
/* "int", "uint", "real", "string", "bool". */
const gchar *arg_type_name(enum arg_type type);
/* The value, as a result of SQL that outlives the list. */
void arg_list_result(const struct arg_list *list, const struct arg *arg, sqlite3_context *result);

#endif
