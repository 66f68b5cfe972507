#include "live/other_load.h"

#include <stdio.h>
#include <string.h>
#include <tacho/info.h>
#include <unistd.h>

#include "base/for_each.h"

#define LOOK_US	   (2 * G_USEC_PER_SEC)
#define MUCH	   0.4 /* of a core */
#define TEXT_BYTES 1024

struct used {
	guint64 ticks;
	gdouble share; /* of a core, between the last two looks */
};

struct _OtherLoad {
	GHashTable *used; /* pid -> struct used */
	gint64 at_us;
	guint32 pid;
	gdouble share; /* of the process that uses most */
	gchar name[64];
};

OtherLoad *other_load_new(void)
{
	OtherLoad *load = g_new0(OtherLoad, 1);

	load->used = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	return load;
}

void other_load_free(OtherLoad *load)
{
	if (!load)
		return;
	g_hash_table_unref(load->used);
	g_free(load);
}

/* What the process has used, in ticks, and its name; false: it is gone. */
static gboolean read_used(guint32 pid, guint64 *ret_ticks, guint32 *ret_parent, gchar name[64])
{
	gchar path[64], text[TEXT_BYTES];
	unsigned long long user, system;
	gchar *begin, *end;
	FILE *file;
	gsize n;

	g_snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return FALSE;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	begin = strchr(text, '(');
	end = strrchr(text, ')');
	if (!begin || !end ||
	    sscanf(end + 1, " %*c %u %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", ret_parent,
		   &user, &system) != 3)
		return FALSE;
	*end = '\0';
	g_strlcpy(name, begin + 1, 64);
	*ret_ticks = user + system;
	return TRUE;
}

static gboolean is_of_job(const GArray *ranks, guint32 pid, guint32 parent)
{
	FOR_EACH(const TachoLiveRank, rank, ranks)
		if (rank->pid == pid || rank->pid == parent)
			return TRUE;
	return pid == (guint32)getpid();
}

static void look_at(OtherLoad *load, GHashTable *now, guint32 pid, const GArray *ranks,
		    gdouble seconds)
{
	struct used *before = g_hash_table_lookup(load->used, GUINT_TO_POINTER(pid));
	struct used *used = g_new0(struct used, 1);
	guint32 parent;
	gchar name[64];

	if (!read_used(pid, &used->ticks, &parent, name) || is_of_job(ranks, pid, parent)) {
		g_free(used);
		return;
	}
	if (before && used->ticks >= before->ticks)
		used->share = (gdouble)(used->ticks - before->ticks) /
			      (gdouble)sysconf(_SC_CLK_TCK) / seconds;
	if (used->share > load->share) {
		load->share = used->share;
		load->pid = pid;
		g_strlcpy(load->name, name, sizeof(load->name));
	}
	g_hash_table_insert(now, GUINT_TO_POINTER(pid), used);
}

void other_load_look(OtherLoad *load, const GArray *ranks)
{
	gint64 now_us = g_get_monotonic_time();
	gdouble seconds = (gdouble)(now_us - load->at_us) / 1e6;
	g_autoptr(GDir) folder = NULL;
	GHashTable *now;
	const gchar *name;

	if (now_us - load->at_us < LOOK_US)
		return;
	folder = g_dir_open("/proc", 0, NULL);
	now = g_hash_table_new_full(NULL, NULL, NULL, g_free);
	load->share = 0;
	while (folder && (name = g_dir_read_name(folder)))
		if (g_ascii_isdigit(*name))
			look_at(load, now, (guint32)g_ascii_strtoull(name, NULL, 10), ranks,
				seconds);
	g_hash_table_unref(load->used);
	load->used = now;
	load->at_us = now_us;
}

gchar *other_load_tell(const OtherLoad *load)
{
	g_autofree gchar *name = tacho_printable(load->name);

	return load->share < MUCH ? NULL
				  : g_strdup_printf("process %u (%s) used %.0f %% of a core",
						    load->pid, name, load->share * 100);
}
