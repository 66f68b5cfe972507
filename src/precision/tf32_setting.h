/* tf32_setting: whether a process multiplies what is in fp32 in tf32 is one setting for all of it, so no worker can have operations that compute
 * in fp32 and others in tf32. A problem that allows both is searched twice, each time without one of them.
 *
 * (1) Of a worker the setting is on or off. On: nothing that a plan chooses computes in fp32. Off: nothing computes in tf32.
 * (2) An operation that has no other format, or keeps the recorded one since nothing is known of its harm, decides for its worker. */
#ifndef TACHO_TF32_SETTING_H
#define TACHO_TF32_SETTING_H

#include "precision/problem.h"

/* On some worker the plan has the choice. The harms are filled in. */
gboolean tf32_setting_is_open(const TachoPrecisionProblem *problem);

/* Forbid fp32 (is_on) or tf32 on each worker that can do without it, and on others the other one. What is forbidden now, struct
 * precision_cost *, for tf32_setting_release(). NULL, TACHO_PRECISION_ERROR_PROBLEM: operations of a worker need both. */
GPtrArray *tf32_setting_hold(TachoPrecisionProblem *problem, gboolean is_on, GError **error);
void tf32_setting_release(GPtrArray *held);

/* A worker has operations in fp32 and in tf32 by this plan. */
gboolean tf32_setting_is_broken(const TachoPrecisionProblem *problem, const guint8 *plan);

#endif
