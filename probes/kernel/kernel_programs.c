#include "kernel/kernel_programs.h"

#include <stdio.h>

#ifndef TACHO_HAVE_BPF

struct kernel_programs *kernel_programs_load(int launcher, const int *pids, unsigned n_pids,
					     char *why, size_t why_bytes)
{
	(void)launcher, (void)pids, (void)n_pids;
	snprintf(why, why_bytes, "tacho was built without libbpf, or without clang");
	return NULL;
}

void kernel_programs_drain(struct kernel_programs *programs,
			   void (*take)(void *data, const void *event, size_t size_bytes),
			   void *data)
{
	(void)programs, (void)take, (void)data;
}

uint64_t kernel_programs_lost(const struct kernel_programs *programs)
{
	(void)programs;
	return 0;
}

const char *kernel_programs_missing(const struct kernel_programs *programs)
{
	(void)programs;
	return "";
}

void kernel_programs_unload(struct kernel_programs *programs)
{
	(void)programs;
}

#else

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <dirent.h>
#include <errno.h>
#include <linux/types.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel/kernel_events.h"

#define BTF_FILE	"/sys/kernel/btf/vmlinux"

/* The object file that the build made of kernel.bpf.c (CMakeLists.txt). */
extern const unsigned char kernel_object[];
extern const size_t kernel_object_bytes;

struct kernel_programs {
	struct bpf_object *object;
	struct ring_buffer *ring;
	struct bpf_link *links[32];
	unsigned n_links;
	const uint64_t *n_lost;
	char missing[512];
	void (*take)(void *data, const void *event, size_t size_bytes);
	void *data;
};

/* What libbpf last complained of: it tells causes by printing them. */
static char complaint[256];

static int keep_complaint(enum libbpf_print_level level, const char *format, va_list args)
{
	size_t n;

	if (level != LIBBPF_WARN)
		return 0;
	vsnprintf(complaint, sizeof(complaint), format, args);
	n = strlen(complaint);
	if (n && complaint[n - 1] == '\n')
		complaint[n - 1] = '\0';
	return 0;
}

/* --- what this kernel has ------------------------------------------------------------------- */

static int has_tracepoint(const struct btf *kernel, const char *name)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(kernel, type, BTF_KIND_TYPEDEF) > 0;
}

/* Each program stands in a section "tp_btf/TRACEPOINT". Of those that say who uses a socket, one is enough. */
static void choose_programs(struct kernel_programs *programs, const struct btf *kernel)
{
	int has_lengths = has_tracepoint(kernel, "sock_recv_length");
	struct bpf_program *program;

	bpf_object__for_each_program(program, programs->object)
	{
		const char *section = bpf_program__section_name(program);
		const char *name = strchr(section, '/');
		int is_old_way, is_new_way, is_there;
		size_t n = strlen(programs->missing);

		if (!name)
			continue;
		name++;
		is_old_way = strcmp(name, "tcp_rcv_space_adjust") == 0;
		is_new_way = strncmp(name, "sock_", 5) == 0;
		is_there = has_tracepoint(kernel, name);
		bpf_program__set_autoload(program, is_there && !(is_old_way && has_lengths));
		if (!is_there && !is_new_way)
			snprintf(programs->missing + n, sizeof(programs->missing) - n, "%s%s",
				 n ? ", " : "", name);
	}
}

/* --- loading -------------------------------------------------------------------------------- */

static void say_why(char *why, size_t why_bytes, const char *what, int error)
{
	if (error == EPERM || error == EACCES)
		snprintf(why, why_bytes,
			 "loading programs into the kernel takes root, or CAP_BPF and CAP_PERFMON");
	else if (complaint[0])
		snprintf(why, why_bytes, "%s: %s", what, complaint);
	else
		snprintf(why, why_bytes, "%s: %s", what, strerror(error));
}

static int set_settings(struct kernel_programs *programs, int launcher)
{
	struct bpf_map *map = bpf_object__find_map_by_name(programs->object, ".rodata");
	struct kernel_settings settings = { .launcher = (__u32)launcher };
	struct stat namespace;
	size_t size_bytes = 0;
	void *initial;

	if (stat("/proc/self/ns/pid", &namespace) < 0)
		return -errno;
	settings.namespace_inode = namespace.st_ino;
	initial = map ? (void *)bpf_map__initial_value(map, &size_bytes) : NULL;
	if (!initial || size_bytes < sizeof(settings))
		return -EINVAL;
	memcpy(initial, &settings, sizeof(settings));
	return 0;
}

static int attach_all(struct kernel_programs *programs)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, programs->object)
	{
		struct bpf_link *link;

		if (!bpf_program__autoload(program))
			continue;
		if (programs->n_links == sizeof(programs->links) / sizeof(*programs->links))
			return -E2BIG;
		link = bpf_program__attach(program);
		if (!link)
			return -errno;
		programs->links[programs->n_links++] = link;
	}
	return 0;
}

static int take_event(void *programs_pointer, void *event, size_t size_bytes)
{
	struct kernel_programs *programs = programs_pointer;

	programs->take(programs->data, event, size_bytes);
	return 0;
}

static int open_ring(struct kernel_programs *programs)
{
	int events = bpf_object__find_map_fd_by_name(programs->object, "events");
	struct bpf_map *counters = bpf_object__find_map_by_name(programs->object, ".bss");
	size_t size_bytes = 0;

	if (events < 0 || !counters)
		return -ENOENT;
	programs->n_lost = bpf_map__initial_value(counters, &size_bytes);
	if (!programs->n_lost || size_bytes < sizeof(*programs->n_lost))
		return -EINVAL;
	programs->ring = ring_buffer__new(events, take_event, programs, NULL);
	return programs->ring ? 0 : -errno;
}

/* As struct thread of kernel.bpf.c begins: the rest is 0. Only in the kernel's own namespace are the numbers its own. */
struct known_thread {
	__u64 out_ns, wake_ns, reclaim_ns;
	__u32 pid, tid;
};

static int add_threads(struct kernel_programs *programs, int pid)
{
	struct bpf_map *map = bpf_object__find_map_by_name(programs->object, "threads");
	size_t size_bytes = map ? bpf_map__value_size(map) : 0;
	char path[64], *value;
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	value = calloc(1, size_bytes + sizeof(struct known_thread));
	if (!tasks || !map || !value) {
		free(value);
		if (tasks)
			closedir(tasks);
		return -ESRCH;
	}
	while ((entry = readdir(tasks))) {
		__u32 tid = (__u32)atoi(entry->d_name);
		struct known_thread thread = { .pid = (__u32)pid, .tid = tid };

		memcpy(value, &thread, sizeof(thread));
		if (tid)
			bpf_map__update_elem(map, &tid, sizeof(tid), value, size_bytes,
					     BPF_NOEXIST);
	}
	closedir(tasks);
	free(value);
	return 0;
}

static int load(struct kernel_programs *programs, int launcher)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "tacho_kernel");
	struct btf *kernel = btf__load_vmlinux_btf();
	int error;

	if (!kernel)
		return -ENOENT;
	programs->object = bpf_object__open_mem(kernel_object, kernel_object_bytes, &options);
	error = programs->object ? 0 : -errno;
	if (!error)
		choose_programs(programs, kernel);
	btf__free(kernel);
	if (!error)
		error = set_settings(programs, launcher);
	if (!error)
		error = bpf_object__load(programs->object);
	if (!error)
		error = open_ring(programs);
	return error ? error : attach_all(programs);
}

/* PROC_PID_INIT_INO of linux/proc_ns.h */
#define FIRST_NAMESPACE 0xEFFFFFFCu

static int is_in_first_namespace(void)
{
	struct stat namespace;

	return stat("/proc/self/ns/pid", &namespace) == 0 && namespace.st_ino == FIRST_NAMESPACE;
}

struct kernel_programs *kernel_programs_load(int launcher, const int *pids, unsigned n_pids,
					     char *why, size_t why_bytes)
{
	struct kernel_programs *programs;
	int error;

	if (n_pids && !is_in_first_namespace()) {
		snprintf(why, why_bytes,
			 "in a namespace of processes, the kernel's numbers of threads that run "
			 "already are not known");
		return NULL;
	}
	programs = calloc(1, sizeof(*programs));
	if (!programs) {
		snprintf(why, why_bytes, "there is no memory for it");
		return NULL;
	}
	complaint[0] = '\0';
	libbpf_set_print(keep_complaint);
	error = load(programs, launcher);
	if (!error) {
		for (unsigned i = 0; i < n_pids; i++)
			add_threads(programs, pids[i]); /* one that is gone has no threads */
		return programs;
	}
	if (access(BTF_FILE, R_OK) < 0)
		snprintf(why, why_bytes, "this kernel does not describe its types (" BTF_FILE ")");
	else
		say_why(why, why_bytes, "the kernel does not take the programs", -error);
	kernel_programs_unload(programs);
	return NULL;
}

void kernel_programs_drain(struct kernel_programs *programs,
			   void (*take)(void *data, const void *event, size_t size_bytes),
			   void *data)
{
	programs->take = take;
	programs->data = data;
	ring_buffer__consume(programs->ring);
}

uint64_t kernel_programs_lost(const struct kernel_programs *programs)
{
	return __atomic_load_n(programs->n_lost, __ATOMIC_RELAXED);
}

const char *kernel_programs_missing(const struct kernel_programs *programs)
{
	return programs->missing;
}

void kernel_programs_unload(struct kernel_programs *programs)
{
	if (!programs)
		return;
	for (unsigned i = 0; i < programs->n_links; i++)
		bpf_link__destroy(programs->links[i]);
	ring_buffer__free(programs->ring);
	bpf_object__close(programs->object);
	free(programs);
}

#endif
