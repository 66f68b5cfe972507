/* unfinished: what a signal that ends the program (Ctrl-C) removes first, since it is not whole. SIGKILL leaves it. */
#ifndef TACHO_UNFINISHED_H
#define TACHO_UNFINISHED_H

#include <glib.h>
#include <signal.h>

/* No such signal comes between the making of something and the note of it: hold, make, note, let go. */
void unfinished_hold(sigset_t *ret_usual);
void unfinished_let_go(const sigset_t *usual);
/* A file, or a folder with nothing but files in it. One at a time; `path` stays until the next note. NULL: there is
 * nothing any more. */
void unfinished_note(const gchar *path);
/* What is to be `path` cannot be written, for the reason in errno. */
void unfinished_set_error(GError **error, const gchar *path);

#endif
