/* library_key: which build of a shim belongs to which library file.
 *
 * A shim that must match another library's C++ ABI is compiled on the user's machine and kept in
 * a cache, in a folder named by the key of the library's file. The agent, inside the job, and
 * `tacho probe build` compute the same key without opening the file:
 *
 *     ABI-HASH    TACHO_PROBE_ABI, then FNV-1a 64 over "REALPATH|SIZE|MTIME_NS" in 16 hex digits
 *
 * so an upgraded library, another environment's library and a changed agent each get a build of
 * their own. C and C++; libc only. */
#ifndef TACHO_LIBRARY_KEY_H
#define TACHO_LIBRARY_KEY_H

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/probe.h"
#include "trace/text_hash.h"

#define LIBRARY_KEY_BYTES 32 /* a key and its NUL */

/* Write the key of the library file at `path` to `key`. Returns 0 or -errno. */
static inline int library_key(const char *path, char key[LIBRARY_KEY_BYTES])
{
	char real[PATH_MAX];
	char identity[PATH_MAX + 48];
	struct stat status;
	int length;

	if (!realpath(path, real) || stat(real, &status) < 0)
		return -errno;
	length = snprintf(identity, sizeof(identity), "%s|%" PRIu64 "|%" PRIu64, real,
			  (uint64_t)status.st_size,
			  (uint64_t)status.st_mtim.tv_sec * UINT64_C(1000000000) +
				  (uint64_t)status.st_mtim.tv_nsec);
	if (length < 0 || (size_t)length >= sizeof(identity))
		return -ENAMETOOLONG;
	snprintf(key, LIBRARY_KEY_BYTES, "%d-%016" PRIx64, TACHO_PROBE_ABI,
		 text_hash64_bytes(TEXT_HASH64_START, identity, (size_t)length));
	return 0;
}

#endif
