/* complete: the words that shells complete, from the tables that the commands themselves go by, so that completions
 * need no lists of their own: "tacho --complete KIND". For completions/, not for people. */
#ifndef TACHO_COMPLETE_H
#define TACHO_COMPLETE_H

#include <glib.h>

/* Print the words of that kind, one a line: views, diff-views, exports, what-ifs (each with the '=' or ':' behind its
 * key), query-formats, metrics. CLI_BAD: there is no such kind. */
int complete_print(const gchar *kind);

#endif
