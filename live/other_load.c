#include "live/other_load.h"

#include <stdio.h>
#include <string.h>
#include <tacho/info.h>
#include <unistd.h>

#include "base/for_each.h"
#include "live/live_internal.h"
#include "live/proc_text.h"

#define LOOK_US (2 * G_USEC_PER_SEC)
#define MUCH	0.4 /* of a core */

/* A process, and what it has used. */
struct used {
	guint64 ticks;
	gdouble share; /* of a core, between the last two looks */
	guint32 parent;
	gchar name[64];
};

struct _OtherLoad {
	gint n_users;
	GHashTable *used; /* pid -> struct used */
	gint64 at_us;
};

OtherLoad *other_load_new(void)
{
	OtherLoad *load = g_new0(OtherLoad, 1);

	load->n_users = 1;
	load->used = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	return load;
}

OtherLoad *other_load_ref(OtherLoad *load)
{
	load->n_users++;
	return load;
}

void other_load_unref(OtherLoad *load)
{
	if (!load || --load->n_users)
		return;
	g_hash_table_unref(load->used);
	g_free(load);
}

/* False: the process is gone. */
static gboolean read_used(guint32 pid, struct used *used)
{
	gchar text[PROC_TEXT_BYTES];
	unsigned long long user, system;
	gchar *begin, *end;

	if (!proc_text_read(pid, "stat", text))
		return FALSE;
	begin = strchr(text, '(');
	end = strrchr(text, ')');
	if (!begin || !end ||
	    sscanf(end + 1, " %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &used->parent,
		   &user, &system) != 3)
		return FALSE;
	*end = '\0';
	g_strlcpy(used->name, begin + 1, sizeof(used->name));
	used->ticks = user + system;
	return TRUE;
}

static void look_at(const OtherLoad *load, GHashTable *now, guint32 pid, gdouble seconds)
{
	const struct used *before = g_hash_table_lookup(load->used, GUINT_TO_POINTER(pid));
	struct used used = { 0 };

	if (!read_used(pid, &used))
		return;
	if (before && used.ticks >= before->ticks)
		used.share = (gdouble)(used.ticks - before->ticks) / (gdouble)sysconf(_SC_CLK_TCK) /
			     seconds;
	g_hash_table_insert(now, GUINT_TO_POINTER(pid), g_memdup2(&used, sizeof(used)));
}

void other_load_look(OtherLoad *load)
{
	gint64 now_us = g_get_monotonic_time();
	gdouble seconds = (gdouble)(now_us - load->at_us) / 1e6;
	g_autoptr(GDir) folder = NULL;
	GHashTable *now;
	const gchar *name;

	if (now_us - load->at_us < (load->n_users > LIVE_MANY_JOBS ? 2 : 1) * LOOK_US)
		return;
	folder = g_dir_open("/proc", 0, NULL);
	now = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	while (folder && (name = g_dir_read_name(folder)))
		if (g_ascii_isdigit(*name))
			look_at(load, now, (guint32)g_ascii_strtoull(name, NULL, 10), seconds);
	g_hash_table_unref(load->used);
	load->used = now;
	load->at_us = now_us;
}

static gboolean is_of_job(const GArray *ranks, guint32 pid, guint32 parent)
{
	FOR_EACH(const TachoLiveRank, rank, ranks)
		if (rank->pid == pid || rank->pid == parent)
			return TRUE;
	return pid == (guint32)getpid();
}

gchar *other_load_tell(const OtherLoad *load, const GArray *ranks)
{
	const struct used *most = NULL;
	g_autofree gchar *name = NULL;
	guint32 pid = 0;

	FOR_EACH_ENTRY(entry, load->used) {
		const struct used *used = entry.value;

		if (used->share < (most ? most->share : MUCH) ||
		    is_of_job(ranks, GPOINTER_TO_UINT(entry.key), used->parent))
			continue;
		most = used;
		pid = GPOINTER_TO_UINT(entry.key);
	}
	if (!most)
		return NULL;
	name = tacho_printable(most->name);
	return g_strdup_printf("process %u (%s) used %.0f %% of a core", pid, name,
			       most->share * 100);
}
