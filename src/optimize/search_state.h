/* search_state: what a search has found, as a file of text, so that a later one goes on from it.
 *
 *     tacho_search 1 GRADIENTS DIGEST          the problem: another one's file is refused
 *     tries N
 *     kept STEP_NS STRATEGY END END ...        the best partitions, the best first
 *
 * Chains and trees begin anew, from the best that is known; what is kept is judged anew, by whatever judges now. */
#ifndef TACHO_SEARCH_STATE_H
#define TACHO_SEARCH_STATE_H

#include <stdio.h>

#include "optimize/bucket_search.h"

/* Failed writes are the caller's to see, of `out`. */
void search_state_write(const struct bucket_search *search, FILE *out);
/* Try what the text holds, and count its tries as done before. TACHO_PLAN_ERROR_FORMAT: it is none, or of another problem. */
gboolean search_state_read(struct bucket_search *search, const gchar *text, GError **error);

#endif
