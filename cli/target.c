#include "target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/call_filters.h"

#define MAX_SYMBOLS	 (1u << 20)
#define MAX_STRING_BYTES (64u << 20)
#define MAX_SEGMENTS	 64
#define MAX_DYNAMIC	 512

static const gchar *const rank_names[] = {
	"RANK",		"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK",
	"HOROVOD_RANK", "SLURM_PROCID",		NULL
};
/* What is the same in all ranks of a job, and differs between jobs. */
static const gchar *const job_names[] = { "TORCHELASTIC_RUN_ID",
					  "SLURM_JOB_ID",
					  "PBS_JOBID",
					  "LSB_JOBID",
					  "JOB_ID",
					  "MASTER_ADDR",
					  "MASTER_PORT",
					  "WORLD_SIZE",
					  "PMIX_NAMESPACE",
					  "OMPI_COMM_WORLD_SIZE",
					  "PMI_SIZE",
					  NULL };

static gboolean refuse(GError **error, const gchar *format, ...) G_GNUC_PRINTF(2, 3);

static gboolean refuse(GError **error, const gchar *format, ...)
{
	va_list args;

	va_start(args, format);
	g_clear_error(error);
	if (error)
		*error = g_error_new_valist(TARGET_ERROR, 0, format, args);
	va_end(args);
	return FALSE;
}

/* --- /proc ---------------------------------------------------------------------------------- */

static gchar *read_proc(pid_t pid, const gchar *name, gsize *ret_length)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/%s", (int)pid, name);
	gchar *text = NULL;

	return g_file_get_contents(path, &text, ret_length, NULL) ? text : NULL;
}

/* What stands behind "\nKEY:\t"; 0 where the key is missing. */
static guint64 status_number(const gchar *status, const gchar *key)
{
	g_autofree gchar *line = g_strdup_printf("\n%s:", key);
	const gchar *place = strstr(status, line);

	return place ? g_ascii_strtoull(place + strlen(line), NULL, 10) : 0;
}

static gchar *variable_of(pid_t pid, const gchar *name, gboolean *ret_is_read)
{
	gsize length = 0, name_length = strlen(name);
	g_autofree gchar *text = read_proc(pid, "environ", &length);

	*ret_is_read = text != NULL;
	for (gsize i = 0; text && i < length; i += strlen(text + i) + 1)
		if (strncmp(text + i, name, name_length) == 0 && text[i + name_length] == '=')
			return g_strdup(text + i + name_length + 1);
	return NULL;
}

gchar *target_variable(pid_t pid, const gchar *name)
{
	gboolean is_read;

	return variable_of(pid, name, &is_read);
}

gchar **target_command(pid_t pid)
{
	gsize length = 0;
	g_autofree gchar *text = read_proc(pid, "cmdline", &length);
	g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);

	for (gsize i = 0; text && i < length; i += strlen(text + i) + 1)
		g_ptr_array_add(words, g_strdup(text + i));
	if (!words->len)
		return NULL;
	g_ptr_array_add(words, NULL);
	return (gchar **)g_ptr_array_free(g_steal_pointer(&words), FALSE);
}

gint target_rank(pid_t pid)
{
	for (guint i = 0; rank_names[i]; i++) {
		g_autofree gchar *value = target_variable(pid, rank_names[i]);

		if (value && g_ascii_isdigit(*value))
			return (gint)MIN(g_ascii_strtoull(value, NULL, 10), G_MAXINT);
	}
	return -1;
}

/* Fields of /proc/PID/stat behind the name, from 3 (the state) on. */
static gboolean read_stat(pid_t pid, gchar *ret_state, pid_t *ret_parent, guint64 *ret_start)
{
	g_autofree gchar *text = read_proc(pid, "stat", NULL);
	const gchar *fields = text ? strrchr(text, ')') : NULL;
	unsigned long long start;
	int parent;

	if (!fields || sscanf(fields + 1,
			      " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
			      "%*d %*d %llu",
			      ret_state, &parent, &start) != 3)
		return FALSE;
	*ret_parent = parent;
	*ret_start = start;
	return TRUE;
}

/* --- memory --------------------------------------------------------------------------------- */

gboolean target_read(const Target *target, guint64 address, gpointer to, gsize n_bytes)
{
	gchar *bytes = to;

	while (n_bytes) {
		ssize_t n = pread(target->memory, bytes, n_bytes, (off_t)address);

		if (n <= 0)
			return FALSE;
		bytes += n;
		address += (guint64)n;
		n_bytes -= (gsize)n;
	}
	return TRUE;
}

gboolean target_write(const Target *target, guint64 address, gconstpointer from, gsize n_bytes)
{
	const gchar *bytes = from;

	while (n_bytes) {
		ssize_t n = pwrite(target->memory, bytes, n_bytes, (off_t)address);

		if (n <= 0)
			return FALSE;
		bytes += n;
		address += (guint64)n;
		n_bytes -= (gsize)n;
	}
	return TRUE;
}

typedef struct {
	guint64 begin, end, offset;
	gboolean is_code;
	const gchar *path; /* "": none */
} Mapping;

typedef gboolean mapping_function(const Target *target, const Mapping *mapping, gpointer data);

/* The first mapping for which `is_wanted`; FALSE: none. */
static gboolean find_mapping(const Target *target, mapping_function *is_wanted, gpointer data,
			     Mapping *ret_mapping)
{
	g_autofree gchar *maps = read_proc(target->pid, "maps", NULL);
	g_auto(GStrv) lines = g_strsplit(maps ? maps : "", "\n", -1);

	for (guint i = 0; lines[i]; i++) {
		unsigned long long begin, end, offset;
		gchar mode[8];
		Mapping mapping;
		int length = 0;

		if (sscanf(lines[i], "%llx-%llx %7s %llx %*s %*u%n", &begin, &end, mode, &offset,
			   &length) < 4 ||
		    !length)
			continue;
		mapping.begin = begin;
		mapping.end = end;
		mapping.offset = offset;
		mapping.is_code = strchr(mode, 'x') != NULL;
		mapping.path = lines[i] + length + strspn(lines[i] + length, " ");
		if (is_wanted(target, &mapping, data)) {
			*ret_mapping = mapping;
			return TRUE;
		}
	}
	return FALSE;
}

/* "libtsan.so.2" is also libtsan.so.2.0.0; a file that is gone has " (deleted)" behind it. */
static gboolean is_library(const Target *target, const Mapping *mapping, gpointer name)
{
	const gchar *file = strrchr(mapping->path, '/');
	gsize length = strlen(name);

	(void)target;
	return file && strncmp(file + 1, name, length) == 0 &&
	       (!file[1 + length] || file[1 + length] == ' ' || file[1 + length] == '.');
}

/* Where it was loaded: its first part. Others may have mapped parts of the file to read them. */
static gboolean is_library_head(const Target *target, const Mapping *mapping, gpointer name)
{
	gchar magic[SELFMAG];

	return !mapping->offset && is_library(target, mapping, name) &&
	       target_read(target, mapping->begin, magic, SELFMAG) &&
	       memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static guint64 find_library(const Target *target, const gchar *name)
{
	Mapping mapping;

	return find_mapping(target, is_library_head, (gpointer)name, &mapping) ? mapping.begin : 0;
}

static gboolean is_room(const Target *target, const Mapping *mapping, gpointer magic)
{
	guint64 there;

	return mapping->is_code && !*mapping->path &&
	       target_read(target, mapping->begin, &there, sizeof(there)) &&
	       there == *(guint64 *)magic;
}

guint64 target_find_room(const Target *target, guint64 magic)
{
	Mapping mapping;

	return find_mapping(target, is_room, &magic, &mapping) ? mapping.begin : 0;
}

static gboolean is_code_at(const Target *target, const Mapping *mapping, gpointer address)
{
	guint64 at = *(guint64 *)address;

	(void)target;
	return mapping->is_code && at >= mapping->begin && at < mapping->end;
}

gboolean target_is_code(const Target *target, guint64 address)
{
	Mapping mapping;

	return find_mapping(target, is_code_at, &address, &mapping);
}

static gboolean is_around(const Target *target, const Mapping *mapping, gpointer address)
{
	(void)target;
	return *(guint64 *)address >= mapping->begin && *(guint64 *)address < mapping->end;
}

guint64 target_mapping_end(const Target *target, guint64 address)
{
	Mapping mapping;

	return find_mapping(target, is_around, &address, &mapping) ? mapping.end : 0;
}

struct code_search {
	guint64 address;
	TargetCode code;
};

static gboolean is_code_around(const Target *target, const Mapping *mapping,
			       gpointer search_pointer)
{
	struct code_search *search = search_pointer;

	if (!is_around(target, mapping, &search->address))
		return FALSE;
	if (strstr(mapping->path, "/ld-"))
		search->code = TARGET_CODE_LOADER;
	else if (is_library(target, mapping, (gpointer) "libc.so.6"))
		search->code = TARGET_CODE_LIBC;
	return TRUE;
}

TargetCode target_code_at(const Target *target, guint64 address)
{
	struct code_search search = { .address = address, .code = TARGET_CODE_OTHER };
	Mapping mapping;

	find_mapping(target, is_code_around, &search, &mapping);
	return search.code;
}

guint target_count_threads(const Target *target)
{
	g_autofree gchar *status = read_proc(target->pid, "status", NULL);

	return status ? (guint)status_number(status, "Threads") : 0;
}

/* --- symbols -------------------------------------------------------------------------------- */

struct dynamic {
	guint64 symbols, strings, string_bytes, hash;
};

static guint64 absolute(guint64 base, guint64 pointer)
{
	return pointer < base ? pointer + base : pointer;
}

static gboolean read_dynamic(const Target *target, guint64 base, struct dynamic *dynamic)
{
	ElfW(Ehdr) head;
	ElfW(Phdr) segment;
	ElfW(Dyn) entry;
	guint64 at = 0;

	memset(dynamic, 0, sizeof(*dynamic));
	if (!target_read(target, base, &head, sizeof(head)) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return FALSE;
	for (guint i = 0; i < MIN(head.e_phnum, MAX_SEGMENTS); i++) {
		if (!target_read(target, base + head.e_phoff + i * sizeof(segment), &segment,
				 sizeof(segment)))
			return FALSE;
		if (segment.p_type == PT_DYNAMIC)
			at = base + segment.p_vaddr;
	}
	for (guint i = 0; at && i < MAX_DYNAMIC; i++) {
		if (!target_read(target, at + i * sizeof(entry), &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			dynamic->symbols = absolute(base, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_STRTAB)
			dynamic->strings = absolute(base, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_STRSZ)
			dynamic->string_bytes = entry.d_un.d_val;
		else if (entry.d_tag == DT_HASH)
			dynamic->hash = absolute(base, entry.d_un.d_ptr);
	}
	return dynamic->symbols && dynamic->strings && dynamic->string_bytes <= MAX_STRING_BYTES;
}

/* Linkers put the strings behind the symbols; where not, all that the hash table has. */
static guint32 count_symbols(const Target *target, const struct dynamic *dynamic)
{
	guint32 head[2];

	if (dynamic->strings > dynamic->symbols)
		return (guint32)MIN((dynamic->strings - dynamic->symbols) / sizeof(ElfW(Sym)),
				    MAX_SYMBOLS);
	if (!dynamic->hash || !target_read(target, dynamic->hash, head, sizeof(head)))
		return 0;
	return MIN(head[1], MAX_SYMBOLS);
}

guint64 target_symbol(const Target *target, guint64 base, const gchar *name)
{
	g_autofree ElfW(Sym) *symbols = NULL;
	g_autofree gchar *strings = NULL;
	struct dynamic dynamic;
	guint32 n;

	if (!base || !read_dynamic(target, base, &dynamic))
		return 0;
	n = count_symbols(target, &dynamic);
	symbols = g_try_new(ElfW(Sym), n);
	strings = g_try_malloc0(dynamic.string_bytes + 1);
	if (!n || !symbols || !strings ||
	    !target_read(target, dynamic.symbols, symbols, n * sizeof(*symbols)) ||
	    !target_read(target, dynamic.strings, strings, dynamic.string_bytes))
		return 0;
	for (guint32 i = 0; i < n; i++)
		if (symbols[i].st_shndx != SHN_UNDEF && symbols[i].st_name < dynamic.string_bytes &&
		    strcmp(strings + symbols[i].st_name, name) == 0)
			return base + symbols[i].st_value;
	return 0;
}

/* --- whether it can be attached to ---------------------------------------------------------- */

static gboolean check_user(const gchar *status, GError **error)
{
	const gchar *line = strstr(status, "\nUid:");
	unsigned real, effective, saved;
	const struct passwd *user;

	if (!line || sscanf(line, "\nUid: %u %u %u", &real, &effective, &saved) != 3)
		return refuse(error, "cannot be read");
	if (real != effective || effective != saved)
		return refuse(error, "runs with another user's rights than those of who started it "
				     "(set-uid)");
	if (effective == geteuid())
		return TRUE;
	user = getpwuid(effective);
	return user ? refuse(error, "belongs to another user (%s): run tacho attach as that user",
			     user->pw_name)
		    : refuse(error, "belongs to another user (%u): run tacho attach as that user",
			     effective);
}

static gboolean check_status(pid_t pid, GError **error)
{
	g_autofree gchar *status = read_proc(pid, "status", NULL);
	guint64 filters, mode, tracer, group;

	if (!status)
		return refuse(error, "does not exist");
	group = status_number(status, "Tgid");
	if (group && group != (guint64)pid)
		return refuse(error, "is a thread of process %" G_GUINT64_FORMAT ": name that one",
			      group);
	if (pid == getpid())
		return refuse(error, "is this tacho itself");
	if (strstr(status, "\nState:\tZ") || strstr(status, "\nState:\tX"))
		return refuse(error, "has ended");
	if (!check_user(status, error))
		return FALSE;
	tracer = status_number(status, "TracerPid");
	if (tracer)
		return refuse(error,
			      "is traced already, by process %" G_GUINT64_FORMAT
			      " (gdb, strace ...): only one can",
			      tracer);
	if (strstr(status, "\nState:\tT") || strstr(status, "\nState:\tt"))
		return refuse(error, "is stopped (SIGSTOP): let it go on first (kill -CONT %d)",
			      (int)pid);
	mode = status_number(status, "Seccomp");
	filters = status_number(status, "Seccomp_filters");
	if (mode == 1 || (mode == 2 && filters > call_filters_count()))
		return refuse(error, "restricts its system calls (seccomp), and could be ended for "
				     "what tacho needs");
	return TRUE;
}

static const gchar *machine_name(guint machine)
{
	return machine == EM_X86_64    ? "x86-64"
	       : machine == EM_AARCH64 ? "AArch64"
	       : machine == EM_386     ? "32-bit x86"
	       : machine == EM_ARM     ? "32-bit ARM"
	       : machine == EM_RISCV   ? "RISC-V"
	       : machine == EM_PPC64   ? "POWER"
				       : "another processor";
}

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

static gboolean check_program(pid_t pid, GError **error)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/exe", (int)pid);
	ElfW(Ehdr) head;
	int fd = open(path, O_RDONLY | O_CLOEXEC), cause = errno;
	ssize_t length;

	if (fd < 0 && cause == ENOENT)
		return refuse(error, "is a thread of the kernel, or has ended");
	if (fd < 0)
		return refuse(error, "cannot be looked into: %s", g_strerror(cause));
	length = pread(fd, &head, sizeof(head), 0);
	close(fd);
	if (OWN_MACHINE == EM_NONE)
		return refuse(error,
			      "cannot be attached to: tacho attach is for x86-64 and AArch64");
	if (length != (ssize_t)sizeof(head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return refuse(error, "is no ELF program");
	if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != OWN_MACHINE)
		return refuse(error, "is a program for %s, which this tacho is not",
			      head.e_machine == OWN_MACHINE ? "32-bit"
							    : machine_name(head.e_machine));
	return TRUE;
}

static gboolean check_start(Target *target, GError **error)
{
	gsize length = 0;
	g_autofree gchar *text = read_proc(target->pid, "auxv", &length);
	const ElfW(auxv_t) *values = (gconstpointer)text;
	gboolean is_secure = FALSE;

	if (!text)
		return refuse(error, "cannot be looked into: %s", g_strerror(errno));
	for (gsize i = 0; (i + 1) * sizeof(*values) <= length; i++) {
		if (values[i].a_type == AT_SECURE)
			is_secure = values[i].a_un.a_val != 0;
		if (values[i].a_type == AT_BASE)
			target->loader = values[i].a_un.a_val;
	}
	if (is_secure)
		return refuse(error,
			      "is a set-uid or set-gid program, or has capabilities of its own");
	if (!target->loader)
		return refuse(error, "is statically linked: no library can be loaded into it");
	if (find_library(target, "libtsan.so.2") || find_library(target, "libtsan.so.0"))
		return refuse(error,
			      "runs under the thread sanitizer, which must know of every thread");
	target->libc = find_library(target, "libc.so.6");
	if (!target->libc)
		return refuse(error,
			      "does not use the GNU C library (it may be linked with musl, or "
			      "with a glibc older than 2.34)");
	return TRUE;
}

static guint64 inode_of(pid_t pid, const gchar *name)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/%s", (int)pid, name);
	struct stat status;

	return stat(path, &status) == 0 ? (guint64)status.st_ino ^ (guint64)status.st_dev << 32 : 0;
}

/* With its reason, where the kernel has one that it does not tell. */
static gboolean open_memory(Target *target, GError **error)
{
	g_autofree gchar *path = g_strdup_printf("/proc/%d/mem", (int)target->pid);

	target->memory = open(path, O_RDWR | O_CLOEXEC);
	if (target->memory >= 0)
		return TRUE;
	if (errno == EACCES || errno == EPERM)
		return refuse(error,
			      "may not be traced: it is not dumpable, or more privileged (its "
			      "memory cannot be opened)");
	return refuse(error, "cannot be looked into: %s", g_strerror(errno));
}

void target_find_agent(Target *target)
{
	target->agent = find_library(target, ATTACH_LIBRARY);
	target->state = target_symbol(target, target->agent, ATTACH_STATE);
}

Target *target_open(pid_t pid, GError **error)
{
	g_autoptr(Target) target = g_new0(Target, 1);
	gchar state;
	pid_t parent;

	target->pid = pid;
	target->memory = -1;
	if (!check_status(pid, error) || !check_program(pid, error) ||
	    !open_memory(target, error) || !check_start(target, error))
		return NULL;
	if (!read_stat(pid, &state, &parent, &target->age_ticks)) {
		refuse(error, "has ended");
		return NULL;
	}
	target->is_elsewhere = inode_of(pid, "ns/mnt") != inode_of(getpid(), "ns/mnt") ||
			       inode_of(pid, "root/") != inode_of(getpid(), "root/");
	target_find_agent(target);
	return g_steal_pointer(&target);
}

void target_close(Target *target)
{
	if (!target)
		return;
	if (target->memory >= 0)
		close(target->memory);
	g_free(target);
}

/* The last of NSpid is its own view. */
gboolean target_has_inner_pid(const Target *target, pid_t pid)
{
	g_autofree gchar *status = read_proc(target->pid, "status", NULL);
	const gchar *line = status ? strstr(status, "\nNSpid:") : NULL;
	pid_t inner = target->pid;

	if (line) {
		gsize length = strcspn(line + 1, "\n");
		g_autofree gchar *pids = g_strndup(line + 1, length);

		inner = (pid_t)g_ascii_strtoll(strrchr(pids, '\t') + 1, NULL, 10);
	}
	return inner == pid;
}

gboolean target_is_alive(const Target *target)
{
	guint64 start;
	pid_t parent;
	gchar state;

	return read_stat(target->pid, &state, &parent, &start) && start == target->age_ticks &&
	       state != 'Z' && state != 'X';
}

gboolean target_state(const Target *target, struct attach_state *ret_state)
{
	return target->state && target_read(target, target->state, ret_state, sizeof(*ret_state)) &&
	       ret_state->magic == ATTACH_MAGIC;
}

/* --- jobs ----------------------------------------------------------------------------------- */

static GArray *all_processes(void)
{
	GArray *pids = g_array_new(FALSE, FALSE, sizeof(pid_t));
	g_autoptr(GDir) proc = g_dir_open("/proc", 0, NULL);
	const gchar *name;

	while (proc && (name = g_dir_read_name(proc))) {
		pid_t pid = (pid_t)g_ascii_strtoll(name, NULL, 10);

		if (pid > 0 && pid != getpid())
			g_array_append_val(pids, pid);
	}
	return pids;
}

static gboolean is_below(pid_t pid, pid_t above)
{
	guint64 start;
	gchar state;

	for (guint depth = 0; pid > 1 && depth < 1000; depth++) {
		if (!read_stat(pid, &state, &pid, &start))
			return FALSE;
		if (pid == above)
			return TRUE;
	}
	return FALSE;
}

GArray *target_below(pid_t pid)
{
	g_autoptr(GArray) all = all_processes();
	GArray *below = g_array_new(FALSE, FALSE, sizeof(pid_t));

	for (guint i = 0; i < all->len; i++) {
		pid_t other = g_array_index(all, pid_t, i);

		if (is_below(other, pid))
			g_array_append_val(below, other);
	}
	return below;
}

static gboolean is_same_job(pid_t a, pid_t b)
{
	for (guint i = 0; job_names[i]; i++) {
		g_autofree gchar *left = target_variable(a, job_names[i]);
		g_autofree gchar *right = target_variable(b, job_names[i]);

		if (g_strcmp0(left, right) != 0)
			return FALSE;
	}
	return TRUE;
}

/* Not who was started by the rank and inherited its variables. */
static gboolean is_rank_itself(pid_t pid)
{
	gint rank = target_rank(pid);
	guint64 start;
	pid_t parent;
	gchar state;

	return rank >= 0 && read_stat(pid, &state, &parent, &start) &&
	       (target_rank(parent) != rank || !is_same_job(pid, parent));
}

static gint compare_ranks(gconstpointer a, gconstpointer b)
{
	return target_rank(*(const pid_t *)a) - target_rank(*(const pid_t *)b);
}

GArray *target_job(pid_t pid)
{
	g_autoptr(GArray) all = all_processes();
	GArray *job = g_array_new(FALSE, FALSE, sizeof(pid_t));
	gboolean has_rank = target_rank(pid) >= 0;

	for (guint i = 0; i < all->len; i++) {
		pid_t other = g_array_index(all, pid_t, i);

		if (is_rank_itself(other) &&
		    (has_rank ? is_same_job(pid, other) : is_below(other, pid)))
			g_array_append_val(job, other);
	}
	g_array_sort(job, compare_ranks);
	if (!job->len)
		g_array_append_val(job, pid);
	return job;
}
