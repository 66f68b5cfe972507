/* query_prompt: a dialogue with the user: lines are edited and remembered, Tab completes names, Ctrl-C
 * ends the statement that runs, or the line that is typed. */
#ifndef TACHO_QUERY_PROMPT_H
#define TACHO_QUERY_PROMPT_H

#include "query_session.h"

/* Until .quit or the end of the input. Errors are printed, and the dialogue goes on. */
void query_prompt_run(struct query_session *session);

#endif
