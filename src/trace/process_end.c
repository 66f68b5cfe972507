#include "trace/process_end.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S       G_GINT64_CONSTANT(1000000000)
#define START_SLACK_NS NS_PER_S

static gboolean is_this_host(const gchar *host, const gchar *boot_id)
{
	g_autofree gchar *own_boot_id = NULL;

	if (!g_file_get_contents("/proc/sys/kernel/random/boot_id", &own_boot_id, NULL, NULL))
		return FALSE;
	g_strchomp(own_boot_id);
	return strcmp(own_boot_id, boot_id) == 0 && strcmp(g_get_host_name(), host) == 0;
}

static gint64 clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Whether the process now called `pid` is alive and began before its trace did. A later one that
 * was given the same pid began after. */
static gboolean is_alive(guint32 pid, guint64 start_mono_ns)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%u/stat", pid);
	g_autofree gchar *text = NULL;
	const gchar *fields;
	unsigned long long start_ticks;
	gint64 start_ns;
	gchar state;

	if (!g_file_get_contents(path, &text, NULL, NULL))
		return FALSE;
	fields = strrchr(text, ')'); /* the name may hold anything */
	if (!fields || sscanf(fields + 1,
			      " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			      "%*d %*d %llu",
			      &state, &start_ticks) != 2)
		return FALSE;
	if (state == 'Z' || state == 'X')
		return FALSE;
	start_ns = (gint64)(start_ticks * (guint64)(NS_PER_S / sysconf(_SC_CLK_TCK)));
	start_ns -= clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC);
	return start_ns <= (gint64)MIN(start_mono_ns, G_MAXINT64 / 2) + START_SLACK_NS;
}

static gboolean read_launcher_status(const gchar *text, TachoEnd *ret_end, gint32 *ret_status)
{
	if (!text)
		return FALSE;
	if (g_str_has_prefix(text, "signal="))
		*ret_end = TACHO_END_KILLED;
	else if (g_str_has_prefix(text, "exit="))
		*ret_end = TACHO_END_EXITED;
	else
		return FALSE;
	*ret_status = (gint32)g_ascii_strtoll(strchr(text, '=') + 1, NULL, 10);
	return TRUE;
}

TachoEnd process_end_judge(const struct process_evidence *evidence, gint32 *ret_status)
{
	TachoEnd end;

	*ret_status = 0;
	if (evidence->is_replaced)
		return TACHO_END_EXITED;
	if (read_launcher_status(evidence->launcher_status, &end, ret_status))
		return end;
	if (evidence->has_exit_record) {
		*ret_status = (gint32)evidence->exit_status;
		return TACHO_END_EXITED;
	}
	if (evidence->was_stopped)
		return TACHO_END_STOPPED;
	if (is_this_host(evidence->host, evidence->boot_id) &&
	    is_alive(evidence->pid, evidence->start_mono_ns))
		return TACHO_END_RUNNING;
	return TACHO_END_UNKNOWN;
}

TachoEnd process_end_of_status(const gchar *launcher_status, gint32 *ret_status)
{
	TachoEnd end;

	*ret_status = 0;
	return read_launcher_status(launcher_status, &end, ret_status) ? end : TACHO_END_UNKNOWN;
}
