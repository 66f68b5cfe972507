/* chakra_args: the nodes of a Chakra trace (.et), read again from the file when asked for. */
#ifndef TACHO_CHAKRA_ARGS_H
#define TACHO_CHAKRA_ARGS_H

#include "import/execution/chakra.pb-c.h"
#include "trace/source.h"

enum {
	CHAKRA_MAX_MESSAGE = 64 * 1024 * 1024, /* a message this long is none */
	CHAKRA_MAX_UNPACKED = 4 * CHAKRA_MAX_MESSAGE,
	CHAKRA_MAX_VARINT = 10,
};

/* The varint at the begin of `bytes`; how long it is, 0: it is not complete or longer than any. */
gsize chakra_read_varint(const guint8 *bytes, gsize n, guint64 *ret_value);

/* A reader whose args_json() tells the node whose length stands at the place in the decoded file. */
struct foreign_reader *chakra_args_new(const gchar *path);

#endif
