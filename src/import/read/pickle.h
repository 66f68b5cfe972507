/* pickle: the plain values in a pickle of Python's: dictionaries, lists, tuples, texts, numbers, None.
 *
 * A pickle is a program, and most loaders run it. This one knows only the opcodes that make plain values; at
 * any other (GLOBAL, REDUCE, BUILD, INST ...) it stops with an error that names the byte: nothing that a file
 * says is ever called, imported or executed.
 *
 * (1) Values are numbered; a container has the numbers of what is in it. A value may be in several containers, or
 *     in itself: whoever walks them must not recurse without a limit.
 * (2) Binary protocols, 2 to 5.
 * (3) Who expects objects of certain classes names those: a symbol, and the call of one, are then values, of which the reader of the file
 *     makes what he likes. They are still never looked up or called. */
#ifndef TACHO_PICKLE_H
#define TACHO_PICKLE_H

#include <glib.h>

typedef struct _Pickle Pickle;

enum pickle_type {
	PICKLE_NONE,
	PICKLE_BOOLEAN,
	PICKLE_INTEGER, /* those beyond 64 bits are the nearest that fits */
	PICKLE_FLOAT,
	PICKLE_TEXT, /* and bytes */
	PICKLE_LIST, /* and tuples */
	PICKLE_DICTIONARY,
	PICKLE_SYMBOL, /* one of those expected; a text */
	PICKLE_CALL, /* a list: the symbol, its arguments, and what was set of its result, if anything was */
};

/* Read the file at `path`, decoded where it is compressed. The error names file and byte offset. */
Pickle *pickle_open(const gchar *path, GError **error);
/* The same of `n` bytes, which are copied, that are called `path` in errors. `symbols` are those expected, as in "numpy dtype", up to NULL;
 * itself NULL: none is. */
Pickle *pickle_parse(const guint8 *bytes, gsize n, const gchar *path, const gchar *const *symbols,
		     GError **error);
void pickle_close(Pickle *pickle);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Pickle, pickle_close)

/* What the pickle is of. */
guint32 pickle_root(const Pickle *pickle);
enum pickle_type pickle_type_of(const Pickle *pickle, guint32 value);
/* The length of a list or a call; 0 for anything else. */
guint32 pickle_length(const Pickle *pickle, guint32 value);
guint32 pickle_element(const Pickle *pickle, guint32 list, guint32 index);
/* The value of that key of a dictionary; false: there is none, or it is no dictionary. */
gboolean pickle_find(const Pickle *pickle, guint32 dictionary, const gchar *key,
		     guint32 *ret_value);
/* How many keys a dictionary has, 0 for anything else, and one of them with its value. */
guint32 pickle_n_keys(const Pickle *pickle, guint32 value);
void pickle_entry(const Pickle *pickle, guint32 dictionary, guint32 index, guint32 *ret_key,
		  guint32 *ret_value);
/* A number as an integer, also true and false; `otherwise` of anything else. */
gint64 pickle_integer(const Pickle *pickle, guint32 value, gint64 otherwise);
/* The bytes of a text or a symbol, with no NUL behind them; NULL of anything else. */
const gchar *pickle_text(const Pickle *pickle, guint32 value, gsize *ret_n);

/* The same of what a dictionary has under a key. */
gint64 pickle_find_integer(const Pickle *pickle, guint32 dictionary, const gchar *key,
			   gint64 otherwise);
const gchar *pickle_find_text(const Pickle *pickle, guint32 dictionary, const gchar *key,
			      gsize *ret_n);

/* The value as JSON, as deep as `max_depth`; what is deeper is null. To be freed with g_free(). */
gchar *pickle_to_json(const Pickle *pickle, guint32 value, guint max_depth);

#endif
