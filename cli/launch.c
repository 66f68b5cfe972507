#include "launch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

#define FIRST_PORT   20000
#define N_PORT_TRIES 64

/* What signal handlers need: the children alive now. */
static pid_t *children;
static volatile sig_atomic_t n_children;

static const int passed_on[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT };
static const int from_terminal[] = { SIGINT, SIGQUIT };

static void pass_on(int signal_number)
{
	int cause = errno;

	for (int i = 0; i < n_children; i++)
		if (children[i] > 0)
			kill(children[i], signal_number);
	errno = cause;
}

/* Ctrl-C reaches the children by itself; a signal that another process sent us does not. */
static void pass_on_if_sent(int signal_number, siginfo_t *info, void *unused)
{
	(void)unused;
	if (info->si_code == SI_USER || info->si_code == SI_QUEUE)
		pass_on(signal_number);
}

/* What is ignored (nohup, a shell's background jobs) stays so, here and in the job. */
static void catch_signal(int signal_number, const struct sigaction *action)
{
	struct sigaction old;

	if (sigaction(signal_number, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(signal_number, action, NULL);
}

static void catch_signals(void)
{
	struct sigaction action = { .sa_flags = SA_RESTART };

	action.sa_handler = pass_on;
	for (guint i = 0; i < G_N_ELEMENTS(passed_on); i++)
		catch_signal(passed_on[i], &action);
	action.sa_flags |= SA_SIGINFO;
	action.sa_sigaction = pass_on_if_sent;
	for (guint i = 0; i < G_N_ELEMENTS(from_terminal); i++)
		catch_signal(from_terminal[i], &action);
}

/* --- a port for the ranks to meet at -------------------------------------------------------- */

/* Bind to the port (0: any) on all addresses and let go of it again; the port, or 0: it is taken. */
static guint try_port(guint port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((guint16)port) };
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	guint found = 0;

	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, length) == 0 &&
	    getsockname(fd, (struct sockaddr *)&address, &length) == 0)
		found = ntohs(address.sin_port);
	if (fd >= 0)
		close(fd);
	return found;
}

/* The first port that the kernel hands out by itself. */
static guint first_ephemeral_port(void)
{
	g_autofree gchar *text = NULL;

	if (!g_file_get_contents("/proc/sys/net/ipv4/ip_local_port_range", &text, NULL, NULL))
		return 32768; /* Linux's default */
	return (guint)MIN(g_ascii_strtoull(text, NULL, 10), G_MAXUINT16);
}

/* A port that nobody listens on now. The ranks come to it seconds later: it is none that the kernel
 * would hand out meanwhile for somebody's connection, as long as there are others. */
static guint free_port(void)
{
	guint end = first_ephemeral_port(), port = 0;

	for (guint i = 0; i < N_PORT_TRIES && !port && end > FIRST_PORT; i++)
		port = try_port((guint)g_random_int_range(FIRST_PORT, (gint32)end));
	if (!port)
		port = try_port(0);
	return port ? port : 29500;
}

/* --- starting ------------------------------------------------------------------------------- */

static void set_number(gchar ***environment, const gchar *name, guint number)
{
	gchar text[16];

	g_snprintf(text, sizeof(text), "%u", number);
	*environment = g_environ_setenv(*environment, name, text, TRUE);
}

/* As torchrun sets them, for one host. */
static gchar **rank_environment(const Launch *launch, guint rank, guint port)
{
	gchar **environment = g_strdupv(launch->environment);

	set_number(&environment, "RANK", rank);
	set_number(&environment, "LOCAL_RANK", rank);
	set_number(&environment, "WORLD_SIZE", launch->n_ranks);
	set_number(&environment, "LOCAL_WORLD_SIZE", launch->n_ranks);
	environment = g_environ_setenv(environment, "MASTER_ADDR", "127.0.0.1", FALSE);
	if (!g_environ_getenv(environment, "MASTER_PORT"))
		set_number(&environment, "MASTER_PORT", port);
	environment = g_environ_setenv(environment, "OMP_NUM_THREADS", "1", FALSE);
	return environment;
}

/* exec in a child; why it failed comes through a pipe that exec closes. */
static pid_t start(gchar **command, gchar **environment, GError **error)
{
	int report[2], cause = 0;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC) < 0 || (pid = fork()) < 0) {
		g_set_error(error, G_FILE_ERROR, errno, "cannot start a process: %s",
			    g_strerror(errno));
		return -1;
	}
	if (pid == 0) {
		cli_restore_write_signals();
		execvpe(command[0], command, environment);
		cause = errno;
		if (write(report[1], &cause, sizeof(cause)) < 0)
			_exit(126);
		_exit(127);
	}
	close(report[1]);
	if (read(report[0], &cause, sizeof(cause)) != sizeof(cause))
		cause = 0;
	close(report[0]);
	if (!cause)
		return pid;
	waitpid(pid, NULL, 0);
	g_set_error(error, G_FILE_ERROR, cause, "cannot run %s: %s", command[0], g_strerror(cause));
	return -1;
}

static gboolean start_all(const Launch *launch, guint n, GError **error)
{
	guint port = launch->n_ranks ? free_port() : 0;

	for (guint i = 0; i < n; i++) {
		g_auto(GStrv) environment = launch->n_ranks ? rank_environment(launch, i, port)
							    : g_strdupv(launch->environment);

		children[i] = start(launch->command, environment, error);
		if (children[i] < 0)
			return FALSE;
		n_children = (sig_atomic_t)i + 1;
		launch->began(i, children[i], launch->n_ranks ? (gint)i : -1, launch->data);
	}
	return TRUE;
}

static void kill_rest(int unused)
{
	(void)unused;
	pass_on(SIGKILL);
}

static void end_rest(void)
{
	struct sigaction action = { .sa_handler = kill_rest, .sa_flags = SA_RESTART };

	pass_on(SIGTERM);
	sigaction(SIGALRM, &action, NULL);
	alarm(LAUNCH_GRACE_S);
}

static int wait_for_all(const Launch *launch, guint n)
{
	int first_failed = 0, status;
	guint n_left = n;

	while (n_left) {
		pid_t pid = waitpid(-1, &status, 0);
		guint number = 0;

		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			break;
		while (number < n && children[number] != pid)
			number++;
		if (number == n) /* not started by us: inherited over an exec */
			continue;
		children[number] = 0;
		n_left--;
		launch->ended(number, status, launch->data);
		if (status != 0 && first_failed == 0) {
			first_failed = status;
			if (n_left)
				end_rest();
		}
	}
	alarm(0);
	return first_failed;
}

gboolean launch_run(const Launch *launch, int *ret_wait_status, GError **error)
{
	guint n = MAX(launch->n_ranks, 1);
	gboolean is_started;

	children = g_new0(pid_t, n);
	catch_signals();
	is_started = start_all(launch, n, error);
	if (is_started) {
		*ret_wait_status = wait_for_all(launch, n);
	} else if (n_children > 0) {
		end_rest();
		wait_for_all(launch, (guint)n_children);
	}
	n_children = 0;
	g_clear_pointer(&children, g_free);
	return is_started;
}

void launch_end_like(int wait_status)
{
	const struct rlimit no_core = { 0, 0 };

	if (WIFSIGNALED(wait_status)) {
		setrlimit(RLIMIT_CORE, &no_core); /* the job's own is there already */
		signal(WTERMSIG(wait_status), SIG_DFL);
		raise(WTERMSIG(wait_status));
		exit(128 + WTERMSIG(wait_status));
	}
	exit(WEXITSTATUS(wait_status));
}
