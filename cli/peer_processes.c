#include "peer_processes.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "peers/peers_mpi.h"

/* What a launcher sets, and the libraries of the MPIs that it can be of, the likelier first. */
static const struct launcher {
	const gchar *size, *rank, *flavours[3];
} launchers[] = {
	{ "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", { "openmpi" } },
	{ "PMI_SIZE", "PMI_RANK", { "mpich" } },
	{ "SLURM_STEP_NUM_TASKS", "PMIX_RANK", { "openmpi", "mpich" } },
};

/* How the programs are called that start the processes of a job, each on its host. */
static const gchar *const starters[] = { "mpirun", "mpiexec",	 "orte",      "prte",	 "prun",
					 "hydra",  "slurmstepd", "pmi_proxy", "pmi-srv", "pals" };

static struct {
	TachoPeers *peers;
	int (*gather)(const void *bytes, size_t n_bytes, void *ret_all);
	int (*share)(int from, void *bytes, size_t n_bytes);
	int (*bring)(int from, void *bytes, size_t n_bytes);
	int (*end)(void);
} joined;

static gint64 number_of(const gchar *variable)
{
	const gchar *text = g_getenv(variable);
	gint64 number;

	return text && g_ascii_string_to_signed(text, 10, 0, G_MAXINT, &number, NULL) ? number : -1;
}

/* The launcher that says that there are several processes; NULL: none does. */
static const struct launcher *find_launcher(void)
{
	for (guint i = 0; i < G_N_ELEMENTS(launchers); i++)
		if (number_of(launchers[i].size) > 1 && number_of(launchers[i].rank) >= 0)
			return &launchers[i];
	return NULL;
}

/* Whether the launcher has started this very program. Its variables are inherited by all that its processes start. */
static gboolean is_started_by_it(void)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/comm", (gint)getppid());
	g_autofree gchar *name = NULL;

	if (!g_file_get_contents(path, &name, NULL, NULL))
		return TRUE; /* it is outside this container: only a launcher's agent can be */
	for (guint i = 0; i < G_N_ELEMENTS(starters); i++)
		if (g_str_has_prefix(name, starters[i]))
			return TRUE;
	return FALSE;
}

static gboolean gather(gpointer data, gconstpointer bytes, gsize n_bytes, gpointer ret_all)
{
	(void)data;
	return joined.gather(bytes, n_bytes, ret_all) == 0;
}

static gboolean share(gpointer data, guint from, gpointer bytes, gsize n_bytes)
{
	(void)data;
	return joined.share((int)from, bytes, n_bytes) == 0;
}

static gboolean bring(gpointer data, guint from, gpointer bytes, gsize n_bytes)
{
	(void)data;
	return joined.bring((int)from, bytes, n_bytes) == 0;
}

/* The library of one of the launcher's MPIs; NULL: none is there. */
static void *load(const struct launcher *launcher, GString *causes)
{
	void *library = NULL;

	for (const gchar *const *flavour = launcher->flavours; *flavour && !library; flavour++) {
		g_autofree gchar *name = g_strdup_printf("libtacho_peers_%s.so", *flavour);
		g_autofree gchar *path = g_build_filename(cli_prefix(), "lib", "tacho", name, NULL);

		/* MPI's own plug-ins look for its symbols */
		library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
		if (!library)
			g_string_append_printf(causes, "%s%s", causes->len ? "; " : "", dlerror());
	}
	return library;
}

static gboolean begin(void *library)
{
	static const TachoPeerCalls calls = { gather, share, bring };
	int (*begin)(int *, int *) = NULL;
	int index = -1, n = 0;

	*(void **)&begin = dlsym(library, "tacho_peers_mpi_begin");
	*(void **)&joined.gather = dlsym(library, "tacho_peers_mpi_gather");
	*(void **)&joined.share = dlsym(library, "tacho_peers_mpi_share");
	*(void **)&joined.bring = dlsym(library, "tacho_peers_mpi_bring");
	*(void **)&joined.end = dlsym(library, "tacho_peers_mpi_end");
	if (!begin || !joined.gather || !joined.share || !joined.bring || !joined.end ||
	    begin(&index, &n) != 0 || index < 0 || index >= n)
		return FALSE;
	joined.peers = tacho_peers_new((guint)index, (guint)n, &calls, NULL);
	return TRUE;
}

/* Only process 0 prints. */
static gboolean be_silent(void)
{
	return freopen("/dev/null", "w", stdout) != NULL;
}

static gboolean asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (g_str_has_prefix(argv[i], "--help") || strcmp(argv[i], "-h") == 0 ||
		    strcmp(argv[i], "-?") == 0)
			return TRUE;
	return FALSE;
}

/* All do the same, or nothing. */
static void check_arguments(int argc, char **argv)
{
	gint64 own = argc, least;

	for (int i = 0; i < argc; i++)
		own = (gint64)((guint64)own * 33 + g_str_hash(argv[i]));
	least = own;
	if (tacho_peers_least(joined.peers, "arguments", &least) && least != own)
		tacho_peers_fail(joined.peers, "its processes were not given the same arguments");
}

/* srun starts processes that cannot find each other where it is not told to help them. */
static void warn_alone(const gchar *command)
{
	gint64 n = number_of("SLURM_STEP_NUM_TASKS");

	if (n > 1 && number_of("SLURM_PROCID") == 0 && is_started_by_it())
		g_printerr("tacho %s: srun started %" G_GINT64_FORMAT
			   " processes that cannot reach each other, and each does all; add "
			   "--mpi=pmi2 or --mpi=pmix to srun, or run it once, without srun\n",
			   command, n);
}

gboolean peer_processes_begin(const gchar *command, int argc, char **argv)
{
	const struct launcher *launcher = find_launcher();
	g_autoptr(GString) causes = g_string_new(NULL);
	void *library;

	if (!launcher)
		warn_alone(command);
	if (!launcher || !is_started_by_it())
		return TRUE;
	if (number_of(launcher->rank) > 0 && !be_silent())
		return FALSE;
	if (asks_for_help(argc, argv))
		return TRUE;
	library = load(launcher, causes);
	if (library && begin(library)) {
		check_arguments(argc, argv);
		return TRUE;
	}
	if (number_of(launcher->rank) == 0)
		cli_fail(command,
			 "it was started as %" G_GINT64_FORMAT
			 " processes, which cannot reach each other: %s. Build tacho where that "
			 "MPI's mpi.h is, or run it as one process, without the launcher",
			 number_of(launcher->size), library ? "MPI does not start" : causes->str);
	return FALSE;
}

TachoPeers *peer_processes_borrow(void)
{
	return joined.peers;
}

gboolean peer_processes_agree(void)
{
	guint64 nothing = 0;

	return !joined.peers || tacho_peers_sum(joined.peers, "agreement", &nothing, 1);
}

int peer_processes_end(const gchar *command, int status)
{
	TachoPeers *peers = g_steal_pointer(&joined.peers);
	int code;

	if (!peers)
		return status;
	code = tacho_peers_end(peers, status);
	if (code < 0) {
		if (tacho_peers_index(peers) == 0)
			cli_fail(command, "%s", tacho_peers_failure(peers));
		code = CLI_BAD;
	}
	tacho_peers_free(peers);
	joined.end();
	return code;
}
