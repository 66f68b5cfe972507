#include "onnxruntime/ort_session.h"

#include <stdio.h>
#include <string.h>

#define N_SESSIONS     1024 /* a power of two */
#define SESSION_WINDOW 16
#define NAME_BYTES     256

static struct ort_known_session sessions[N_SESSIONS];
static struct ort_known_session unknown; /* all for which there is no place */
static struct ort_session *const taken = (struct ort_session *)&unknown; /* a place being filled */

static struct ort_known_session *place(struct ort_session *session, uint32_t i)
{
	uint64_t hash = (uint64_t)(uintptr_t)session * UINT64_C(0x9e3779b97f4a7c15);

	return &sessions[((hash >> 32) + i) & (N_SESSIONS - 1)];
}

struct naming {
	struct ort_known_session *known;
	const char *name;
};

static void name_classes(void *naming_pointer)
{
	const struct naming *naming = naming_pointer;
	char text[NAME_BYTES];
	size_t length;

	snprintf(naming->known->name, sizeof(naming->known->name), "%s", naming->name);
	snprintf(text, sizeof(text), "onnxruntime: %s", naming->name);
	length = strlen(text);
	naming->known->run_class = tacho_class(TRACE_KIND_OP, text, length);
	naming->known->outputs_class = tacho_class(TRACE_KIND_OUTPUTS, "outputs", 7);
	naming->known->async_class = tacho_class(TRACE_KIND_SPAN, text, length);
}

struct ort_known_session *ort_session_known(struct ort_session *session)
{
	for (uint32_t i = 0; i < SESSION_WINDOW; i++)
		if (__atomic_load_n(&place(session, i)->session, __ATOMIC_ACQUIRE) == session)
			return place(session, i);
	return NULL;
}

static struct ort_known_session *take_place(struct ort_session *session)
{
	for (uint32_t i = 0; i < SESSION_WINDOW; i++) {
		struct ort_session *nobody = NULL;

		if (__atomic_compare_exchange_n(&place(session, i)->session, &nobody, taken, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return place(session, i);
	}
	return NULL;
}

struct ort_known_session *ort_session_add(const struct ort_library *library,
					  struct ort_session *session, const char *name)
{
	struct ort_known_session *known = ort_session_known(session);
	struct naming naming = { .known = known ? known : take_place(session), .name = name };

	if (!naming.known) {
		naming = (struct naming){ .known = &unknown, .name = "a model" };
		if (!unknown.run_class)
			tacho_run_aside(name_classes, &naming);
		return &unknown;
	}
	naming.known->library = library;
	naming.known->told_generation = 0;
	naming.known->n_running = 0;
	naming.known->profile = 0;
	tacho_run_aside(name_classes, &naming);
	__atomic_store_n(&naming.known->session, session, __ATOMIC_RELEASE);
	return naming.known;
}

struct ort_known_session *ort_session_find(const struct ort_library *library,
					   struct ort_session *session)
{
	struct ort_known_session *known = ort_session_known(session);

	return TACHO_UNLIKELY(!known) ? ort_session_add(library, session, "a model") : known;
}

void ort_session_remove(struct ort_session *session)
{
	struct ort_known_session *known = ort_session_known(session);

	if (known)
		__atomic_store_n(&known->session, NULL, __ATOMIC_RELEASE);
}

void ort_session_each(void (*visit)(struct ort_known_session *known))
{
	for (size_t i = 0; i < N_SESSIONS; i++)
		if (__atomic_load_n(&sessions[i].session, __ATOMIC_ACQUIRE) &&
		    __atomic_load_n(&sessions[i].profile, __ATOMIC_RELAXED))
			visit(&sessions[i]);
}
