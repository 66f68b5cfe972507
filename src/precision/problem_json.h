/* problem_json: problems in files (docs/precision-problem.md). */
#ifndef TACHO_PROBLEM_JSON_H
#define TACHO_PROBLEM_JSON_H

#include "precision/problem.h"

/* The problem that a text is; the caller's. TACHO_PRECISION_ERROR: it is none, with the byte or what contradicts itself. */
TachoPrecisionProblem *precision_problem_parse(const gchar *text, gsize n, GError **error);

#endif
