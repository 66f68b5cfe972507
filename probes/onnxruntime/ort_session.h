/* ort_session: the sessions of the process: what each is called, found by its address without a lock.
 *
 * (1) A session has one of SESSION_WINDOW places behind the one that its address names. Where all are taken it is not known, and is
 *     called "a model".
 * (2) Who uses a session has not released it: its place stays as it is meanwhile. */
#ifndef TACHO_ORT_SESSION_H
#define TACHO_ORT_SESSION_H

#include "common/probe.h"
#include "onnxruntime/ort_library.h"

struct ort_known_session {
	struct ort_session *session; /* atomic; NULL: a free place */
	const struct ort_library *library;
	char name[64];	    /* the begin of the model's */
	uint32_t run_class; /* operation "onnxruntime: NAME" */
	uint32_t outputs_class;
	uint32_t async_class;	  /* the same as a span */
	uint32_t told_generation; /* atomic; in which process its tensors and costs were told */
	uint32_t n_running;	  /* atomic; runs that have not ended, where there is a profile */
	uint32_t profile;	  /* atomic; number of its profile (ort_profile.h), 0: none */
	uint64_t profile_begin_ns;
};

/* What is known of it; one that nobody saw created is called "a model". Never NULL. */
struct ort_known_session *ort_session_find(const struct ort_library *library,
					   struct ort_session *session);
/* The same; NULL: nothing is. */
struct ort_known_session *ort_session_known(struct ort_session *session);
/* It was created. */
struct ort_known_session *ort_session_add(const struct ort_library *library,
					  struct ort_session *session, const char *name);
/* It will be released. */
void ort_session_remove(struct ort_session *session);

/* Call `visit` with all that have a profile. */
void ort_session_each(void (*visit)(struct ort_known_session *known));

#endif
