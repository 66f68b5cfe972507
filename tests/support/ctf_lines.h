/* ctf_lines: a CTF trace written as text, for tests.
 *
 *     env hostname a
 *     pid 10
 *     100 7 tensorflowTracer:operation_start name=conv placement=/cpu:0
 *     140 7 tensorflowTracer:operation_end name=conv placement=/cpu:0
 *     stream cpu=1 discarded=3
 *     120 8 my_app:queue depth=u:5
 *
 * One line one thing; words are split as a shell does it, and `#` at the start of a word begins a comment.
 *
 *     env NAME VALUE          of the trace; before the first event
 *     offset NS               of its clock from 1970; else 0
 *     context WORD...         what the context of all events has: vtid vpid procname perf hostname ts; else vtid vpid
 *     pid N, procname NAME, perf N, hostname NAME, ts N     what the events below say there
 *     stream [cpu=N] [discarded=N]     the events below are of another stream; N events were lost before its first
 *     NS TID EVENT [FIELD=VALUE ...]
 *
 * VALUE is a text, or u:N, i:N, x:N (unsigned, signed, shown in hexadecimal; 64 bits), f:N, w:N,N ... (a sequence of
 * unsigned; w: is empty) or e:TEXT, in which \n is the end of a line and so on. All events of a name
 * have the fields of its first. Times of a stream do not go back. */
#ifndef TACHO_CTF_LINES_H
#define TACHO_CTF_LINES_H

#include <glib.h>

/* Write the trace into a folder, which is made. A mistake in the text ends the test and names the line. */
void ctf_lines_write(const gchar *folder, const gchar *text);
/* The same into a new folder for temporary files; its path. */
gchar *ctf_lines_new(const gchar *text);
/* Remove the folder and free its path. */
void ctf_lines_remove(gchar *folder);

#endif
