/* proto_text: protocol buffers in readable text, by the numbers of their fields.
 *
 *     1 { 2: "/host:CPU"  3 { 1: 7  3: -5  4: 2.5 } }     # up to the end of the line
 *
 * A whole number becomes a varint, one with a point a double, a text its bytes, braces a message. */
#ifndef TACHO_PROTO_TEXT_H
#define TACHO_PROTO_TEXT_H

#include <glib.h>

/* The bytes of a text; the test fails and ends if the text has another form. */
GByteArray *proto_text_bytes(const gchar *text);
/* A file of that name in a folder of its own, as foreign_write() makes it. */
gchar *proto_text_write(const gchar *name, const gchar *text);

#endif
