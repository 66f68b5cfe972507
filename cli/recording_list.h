/* recording_list: the runs that a command line names as recordings of one job. */
#ifndef TACHO_RECORDING_LIST_H
#define TACHO_RECORDING_LIST_H

#include <glib.h>
#include <tacho/replay.h>

typedef struct {
	GPtrArray *paths;     /* GStrv: the runs that a recording is of */
	GPtrArray *names;     /* gchar: what it is called */
	GPtrArray *timelines; /* TachoTimeline, as far as they are open */
} RecordingList;

/* List the recordings in the arguments, from argv[1] on, and the values of an option (NULL: none). An argument is a run, or the same part of
 * several recordings joined by commas; each value one more recording or more, joined by commas. A file of
 * that name is not taken apart. Prints what is wrong with `command` before it, and returns FALSE. */
gboolean recording_list_init(RecordingList *list, const gchar *command, int argc, char **argv,
			     gchar **more);
/* Takes all zeros, too. */
void recording_list_release(RecordingList *list);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(RecordingList, recording_list_release)

/* Open and correlate all of them; prints why not. */
gboolean recording_list_open(RecordingList *list, const gchar *command);

/* As the library takes them (TachoRecording), good for as long as the list; the array is the caller's. */
GArray *recording_list_recordings(const RecordingList *list);

#endif
