/* graph_text: all that a graph and a replay of it have in their tables, as text: also what tacho_graph_dump() leaves out,
 * and nobody is shown. */
#ifndef TACHO_TEST_GRAPH_TEXT_H
#define TACHO_TEST_GRAPH_TEXT_H

#include <stdio.h>
#include <tacho/replay.h>

/* A line a row; of a frozen graph, the lists that a replay walks, too. */
void graph_text_print(const TachoGraph *graph, FILE *out);

/* When each node runs, and whose end let it begin; when the steps of each rank do; what devices lag and overlap. The
 * graph is frozen. */
void replay_text_print(const TachoReplay *replay, FILE *out);

#endif
