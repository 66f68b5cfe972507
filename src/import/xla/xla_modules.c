#include "import/xla/xla_modules.h"

#include "base/for_each.h"
#include "base/order.h"

#include <string.h>

struct module_run {
	guint64 run, ordinal;
	guint32 module; /* string id */
	guint32 unused;
	gint64 start_ns, end_ns;
};

struct xla_modules {
	GHashTable *runs; /* struct module_run, owned, by its first fields */
};

static guint hash_run(gconstpointer key)
{
	const struct module_run *run = key;

	return (guint)(run->run ^ run->run >> 32) * 31 + (guint)run->ordinal * 7 + run->module;
}

static gboolean is_same_run(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, offsetof(struct module_run, unused)) == 0;
}

struct xla_modules *xla_modules_new(void)
{
	struct xla_modules *modules = g_new0(struct xla_modules, 1);

	modules->runs = g_hash_table_new_full(hash_run, is_same_run, g_free, NULL);
	return modules;
}

void xla_modules_free(struct xla_modules *modules)
{
	if (!modules)
		return;
	g_hash_table_unref(modules->runs);
	g_free(modules);
}

void xla_modules_note(struct xla_modules *modules, const struct xplane_stats *stats,
		      gint64 start_ns, gint64 duration_ns)
{
	struct module_run key = { .run = stats->numbers[XPLANE_STAT_RUN],
				  .ordinal = stats->numbers[XPLANE_STAT_ORDINAL],
				  .module = stats->texts[XPLANE_STAT_HLO_MODULE] };
	struct module_run *run;
	gint64 end_ns;

	if (!key.module || __builtin_add_overflow(start_ns, duration_ns, &end_ns))
		return;
	run = g_hash_table_lookup(modules->runs, &key);
	if (!run) {
		run = g_memdup2(&key, sizeof(key));
		run->start_ns = start_ns;
		run->end_ns = end_ns;
		g_hash_table_add(modules->runs, run);
	}
	run->start_ns = MIN(run->start_ns, start_ns);
	run->end_ns = MAX(run->end_ns, end_ns);
}

static gint compare_runs(gconstpointer a, gconstpointer b)
{
	const struct module_run *x = a, *y = b;

	return ORDER(x->ordinal, y->ordinal) ?: ORDER(x->start_ns, y->start_ns) ?:
	       ORDER(x->run, y->run) ?: ORDER(x->module, y->module);
}

void xla_modules_add(const struct xla_modules *modules, struct import *import, guint32 process)
{
	g_autoptr(GArray) runs = g_array_new(FALSE, FALSE, sizeof(struct module_run));
	guint32 track = TACHO_NONE;

	FOR_EACH_ENTRY(entry, modules->runs)
		g_array_append_vals(runs, entry.key, 1);
	g_array_sort(runs, compare_runs);
	FOR_EACH_AT(const struct module_run, run, i, runs) {
		if (!i || run[-1].ordinal != run->ordinal)
			track = import_add_track(import, TACHO_TRACK_ASYNC, process,
						 (guint32)run->ordinal, "XLA Modules");
		tacho_timeline_add_slice(import->timeline, TACHO_SLICE_ANNOTATION, track,
					 run->module, run->start_ns, run->end_ns - run->start_ns, 0,
					 0);
	}
}
