/* words: for who has mistyped one of several words. */
#ifndef TACHO_WORDS_H
#define TACHO_WORDS_H

#include <glib.h>

G_BEGIN_DECLS

/* The one of `words` (NULL-terminated) that was most likely meant: the one with the fewest letters added, left out,
 * changed or swapped, or the one that `word` begins. NULL: none is near. */
const gchar *tacho_nearest_word(const gchar *word, const gchar *const *words);

/* "; did you mean 'step'? There are: step, op, kernel", or "; there are: step, op, kernel". The caller's. */
gchar *tacho_did_you_mean(const gchar *word, const gchar *const *words);

G_END_DECLS

#endif
