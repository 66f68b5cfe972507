#include "import/launch_ranks.h"

#include <string.h>

#include "import/read/json_scan.h"

/* As the agent reads them (probes/agent/identity.c), the first that is there counts. */
static const gchar *const rank_variables[] = {
	"RANK",		"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
	"HOROVOD_RANK", "SLURM_PROCID"
};
static const gchar *const local_variables[] = { "LOCAL_RANK",	      "OMPI_COMM_WORLD_LOCAL_RANK",
						"MPI_LOCALRANKID",    "MV2_COMM_WORLD_LOCAL_RANK",
						"HOROVOD_LOCAL_RANK", "SLURM_LOCALID" };
static const gchar *const world_variables[] = { "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
						"HOROVOD_SIZE", "SLURM_NTASKS" };

static void note(const gchar *const *names, guint n_names, const gchar *variable, gint32 *value,
		 guint *order)
{
	const gchar *equals = strchr(variable, '=');
	gchar *end;
	guint64 number;

	for (guint i = 0; equals && i < n_names && i < *order; i++) {
		if (strlen(names[i]) != (gsize)(equals - variable) ||
		    strncmp(names[i], variable, (gsize)(equals - variable)) != 0)
			continue;
		number = g_ascii_strtoull(equals + 1, &end, 10);
		if (end == equals + 1 || *end || number > G_MAXINT32)
			return;
		*value = (gint32)number;
		*order = i;
	}
}

void launch_ranks_note(struct launch_ranks *ranks, const gchar *variable)
{
	note(rank_variables, G_N_ELEMENTS(rank_variables), variable, &ranks->rank,
	     &ranks->rank_order);
	note(local_variables, G_N_ELEMENTS(local_variables), variable, &ranks->local_rank,
	     &ranks->local_order);
	note(world_variables, G_N_ELEMENTS(world_variables), variable, &ranks->world_size,
	     &ranks->world_order);
}

/* The next value as text, where it is a string; others are no ranks. */
static void note_member(struct launch_ranks *ranks, struct json_scan *scan,
			const struct json_text *key)
{
	g_autofree gchar *variable = NULL;
	struct json_text text;

	if (json_peek(scan) != '"') {
		json_skip(scan);
		return;
	}
	if (!json_string(scan, &text) || text.n > 32)
		return;
	variable = g_strdup_printf("%.*s=%.*s", (int)MIN(key->n, 64), key->bytes, (int)text.n,
				   text.bytes);
	launch_ranks_note(ranks, variable);
}

void launch_ranks_note_json(struct launch_ranks *ranks, const gchar *json)
{
	gsize n = strlen(json);
	g_autofree gchar *padded = json_padded(json, n);
	struct json_scan scan = { .at = padded, .end = padded + n };
	struct json_text key;

	if (json_peek(&scan) != '{' || !json_take(&scan, '{'))
		return;
	while (json_member(&scan, &key))
		note_member(ranks, &scan, &key);
}

void launch_ranks_apply(const struct launch_ranks *ranks, TachoProcess *process)
{
	if (ranks->rank >= 0)
		process->rank = ranks->rank;
	if (ranks->local_rank >= 0)
		process->local_rank = ranks->local_rank;
	if (ranks->world_size > 0)
		process->world_size = ranks->world_size;
}
