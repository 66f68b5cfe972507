#include "trace/seen_folder.h"

#include <sys/stat.h>

#define NS_PER_S   G_GINT64_CONSTANT(1000000000)
#define SETTLED_NS NS_PER_S		 /* (1) */
#define RELOOK_US  (10 * G_USEC_PER_SEC) /* (2) */

gboolean seen_folder_is_same(struct seen_folder *folder, const gchar *path)
{
	gint64 now_us = g_get_monotonic_time(), changed_ns;
	struct stat status;

	if (stat(path, &status) < 0)
		return FALSE;
	changed_ns = status.st_mtim.tv_sec * NS_PER_S + status.st_mtim.tv_nsec;
	if (folder->is_settled && folder->changed_ns == changed_ns &&
	    now_us - folder->looked_us < RELOOK_US)
		return TRUE;
	folder->looked_us = now_us;
	folder->changed_ns = changed_ns;
	folder->is_settled = g_get_real_time() * 1000 - changed_ns > SETTLED_NS;
	return FALSE;
}
