/* ctf_sessions: calls of TensorFlow's session.run: annotations, and the training steps of a process.
 *
 * (1) A thread runs one session at a time: one that begins while another is open tells that the other's end was lost.
 * (2) Threads of input queues run sessions of their own. The steps are those of the thread that the process began
 *     with, where it has any, else of the thread that ran most.
 * (3) A step is what lies between both ends. One whose end is not there begins a step that ends nobody knows when:
 *     at the next one, or, where it is the last, it is not complete. */
#include "import/ctf/ctf_import.h"
#include "trace/mark_kind.h"

#include "base/for_each.h"

struct ctf_session {
	struct ctf_thread *thread;
	gint64 number, start_ns, end_ns;
	gboolean is_whole;
};

static struct ctf_session *open_session(const struct ctf_import *ctf)
{
	guint index = ctf->thread->open_session;

	return index ? &g_array_index(ctf->sessions, struct ctf_session, index - 1) : NULL;
}

void ctf_handle_session_start(struct ctf_import *ctf, const struct ctf_plan *plan,
			      const struct ctf_event *event)
{
	struct ctf_session session = { .thread = ctf->thread, .start_ns = event->time_ns };

	session.number = ctf_event_integer(event, plan->key_field);
	if (ctf->thread->open_session && ctf_pop_frame(ctf, ctf->thread, plan->pair, 0, event))
		ctf->n_unended++; /* (1) */
	ctf_handle_begin(ctf, plan, event);
	g_array_append_val(ctf->sessions, session);
	ctf->thread->open_session = ctf->sessions->len;
}

void ctf_handle_session_end(struct ctf_import *ctf, const struct ctf_plan *plan,
			    const struct ctf_event *event)
{
	struct ctf_session *session = open_session(ctf);

	if (session &&
	    (plan->key_field < 0 || session->number == ctf_event_integer(event, plan->key_field))) {
		session->end_ns = event->time_ns;
		session->is_whole = TRUE;
		ctf->thread->open_session = 0;
	}
	ctf_handle_end(ctf, plan, event);
}

/* --- steps ---------------------------------------------------------------------------------- */

/* (2): the thread of each process whose sessions are steps. */
static GHashTable *choose_threads(const struct ctf_import *ctf)
{
	GHashTable *chosen = g_hash_table_new(NULL, NULL);

	for (guint i = 0; i < ctf->sessions->len; i++)
		g_array_index(ctf->sessions, struct ctf_session, i).thread->n_sessions++;
	for (guint i = 0; i < ctf->sessions->len; i++) {
		struct ctf_thread *thread =
			g_array_index(ctf->sessions, struct ctf_session, i).thread;
		const struct ctf_thread *best = g_hash_table_lookup(chosen, thread->owner);
		gboolean is_first = thread->owner->pid && thread->tid == thread->owner->pid;
		gboolean best_is_first = best && best->owner->pid && best->tid == best->owner->pid;

		if (!best || is_first || (!best_is_first && thread->n_sessions > best->n_sessions))
			g_hash_table_insert(chosen, thread->owner, thread);
	}
	return chosen;
}

void ctf_sessions_finish(struct ctf_import *ctf)
{
	g_autoptr(GHashTable) chosen = choose_threads(ctf);

	FOR_EACH(const struct ctf_session, session, ctf->sessions) {
		TachoMark mark = { .time_ns = session->start_ns, .first = session->number };

		if (g_hash_table_lookup(chosen, session->thread->owner) != session->thread)
			continue;
		mark.track = ctf_thread_track(ctf, session->thread);
		mark_step(ctf->timeline, &mark,
			  session->is_whole &&
				  !__builtin_sub_overflow(session->end_ns, session->start_ns,
							  &mark.second)); /* (3) */
		g_array_append_val(ctf->timeline->marks, mark);
	}
}

GArray *ctf_sessions_new(void)
{
	return g_array_new(FALSE, FALSE, sizeof(struct ctf_session));
}
