/* ort_profile: the nodes of sessions, by ONNX Runtime's own profiler, where `tacho record --onnx-nodes` asks for them
 * (docs/decisions/0049-nodes-of-onnxruntime.md).
 *
 *     options --clone--> with profiling --> session ... released, or the process exits --> RUN/traces/HOST-PID-onnx-N/
 *
 * (1) The program's options stay as they are: a copy has profiling switched on. Where the program itself has it on, nothing is done.
 * (2) The profile is ended when no run can be under way: one that is would fail. So a session that runs when the process exits is
 *     left as it is, and its profile is not laid in.
 * (3) A session that cannot be created with the copy is created with the program's options.
 * (4) ONNX Runtime keeps up to a million events in memory until then. */
#ifndef TACHO_ORT_PROFILE_H
#define TACHO_ORT_PROFILE_H

#include "onnxruntime/ort_session.h"

/* Whether nodes are wanted; read from the environment at the probe's start. */
void ort_profile_configure(void);
bool ort_profile_is_wanted(void);

/* What the program says of its own profiling. */
void ort_profile_enabled(const struct ort_options *options);
void ort_profile_disabled(const struct ort_options *options);
void ort_profile_cloned(const struct ort_options *from, const struct ort_options *to);

/* Options with profiling, to create a session with; NULL: with the program's. */
struct ort_options *ort_profile_options(const struct ort_library *library,
					const struct ort_options *options, uint32_t *ret_profile);
/* It was created with them: or was not, `known` NULL. */
void ort_profile_begun(const struct ort_library *library, struct ort_known_session *known,
		       uint32_t profile);
/* No run of the session is under way, and none will be: lay its profile in. */
void ort_profile_end(const struct ort_library *library, struct ort_known_session *known);

#endif
