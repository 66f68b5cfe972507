/* run_dealing: which of several processes reads which of a run's streams (run_share.h).
 *
 * (1) Ranks are dealt out in the order in which the reader has their processes, each whole, so that every process of tacho
 *     has about as many bytes to read.
 * (2) All come to the same by themselves, as long as they see the same files: that is asked first. */
#ifndef TACHO_RUN_DEALING_H
#define TACHO_RUN_DEALING_H

#include <tacho/peers.h>
#include <tacho/timeline.h>

/* Deal the opened `processes` (struct process_input, in their order) out, and begin the timeline's share; `peers` NULL: there
 * is nobody to share with, and nothing is done. */
gboolean run_dealing_begin(TachoTimeline *timeline, GArray *processes, TachoPeers *peers,
			   GError **error);
/* Once `processes` are those that the timeline will have: note which of them are this process's. */
void run_dealing_note_owned(TachoTimeline *timeline, const GArray *processes);
/* Once they have tracks: note which slices of its own tracks all others have, too. */
void run_dealing_note_kept(TachoTimeline *timeline, const GArray *processes);

#endif
