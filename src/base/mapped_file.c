#include "base/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES	 4096
#define MAX_MAPPINGS	 65530 /* Linux's DEFAULT_MAX_MAP_COUNT, where it does not say */
#define LARGE_FILE_BYTES (64u * 1024u)

/* What the signal handler looks through. Regions are never freed, only used again. */
struct mapped_region {
	struct mapped_region *next;	 /* of all; atomic head, never removed */
	struct mapped_region *next_free; /* of those not in use; under the lock */
	guintptr begin, end;		 /* atomic; 0, 0: not in use */
};

static struct mapped_region *regions, *free_regions;
static pthread_mutex_t regions_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous_action;

/* --- shrinking files: (1) ------------------------------------------------------------------- */

static void fill_with_zeros(int signal_number, siginfo_t *info, void *context)
{
	guintptr address = (guintptr)info->si_addr;
	int cause = errno;

	(void)signal_number;
	(void)context;
	for (struct mapped_region *region = __atomic_load_n(&regions, __ATOMIC_ACQUIRE); region;
	     region = region->next) {
		guintptr end = __atomic_load_n(&region->end, __ATOMIC_ACQUIRE);
		guintptr page = address & ~(guintptr)(PAGE_BYTES - 1);

		if (address < __atomic_load_n(&region->begin, __ATOMIC_ACQUIRE) || address >= end)
			continue;
		if (mmap((void *)page, end - page, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			break;
		errno = cause;
		return;
	}
	sigaction(SIGBUS, &previous_action,
		  NULL); /* not ours: it happens again, to whom it belongs */
	errno = cause;
}

static void watch_for_sigbus(void)
{
	struct sigaction action = { .sa_sigaction = fill_with_zeros,
				    .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, &previous_action);
}

static struct mapped_region *take_region(void)
{
	struct mapped_region *region;

	pthread_mutex_lock(&regions_lock);
	region = free_regions;
	if (region) {
		free_regions = region->next_free;
	} else {
		region = g_new0(struct mapped_region, 1);
		region->next = regions;
		__atomic_store_n(&regions, region, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&regions_lock);
	return region;
}

static void give_back_region(struct mapped_region *region)
{
	__atomic_store_n(&region->end, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&region->begin, 0, __ATOMIC_RELEASE);
	pthread_mutex_lock(&regions_lock);
	region->next_free = free_regions;
	free_regions = region;
	pthread_mutex_unlock(&regions_lock);
}

/* --- how many may be mapped: (3) ------------------------------------------------------------ */

static guint n_mapped;	   /* atomic */
static guint max_mappings; /* of the process, for whatever */

static void find_max_mappings(void)
{
	g_autofree gchar *text = NULL;
	guint64 n = 0;

	if (g_file_get_contents("/proc/sys/vm/max_map_count", &text, NULL, NULL))
		n = g_ascii_strtoull(text, NULL, 10);
	max_mappings = n > 0 && n < G_MAXUINT ? (guint)n : MAX_MAPPINGS;
}

/* A quarter of all for files of any size, three for large ones; the rest is for memory. */
static gboolean is_to_be_mapped(gsize size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	guint quarter;

	pthread_once(&once, find_max_mappings);
	quarter = max_mappings / 4;
	return __atomic_load_n(&n_mapped, __ATOMIC_RELAXED) <
	       (size > LARGE_FILE_BYTES ? 3 * quarter : quarter);
}

/* --- opening -------------------------------------------------------------------------------- */

static gboolean fail(GError **error, int cause, const gchar *path)
{
	g_set_error(error, G_FILE_ERROR, g_file_error_from_errno(cause), "%s: %s", path,
		    g_strerror(cause));
	return FALSE;
}

/* A descriptor of the regular file, or -1. */
static int open_regular(const gchar *path, gsize *ret_size, GError **error)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		fail(error, errno, path);
		return -1;
	}
	if (fstat(fd, &status) < 0) {
		fail(error, errno, path);
	} else if (!S_ISREG(status.st_mode)) {
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_INVAL, "%s: not a regular file",
			    path);
	} else {
		*ret_size = (gsize)status.st_size;
		return fd;
	}
	close(fd);
	return -1;
}

/* Read up to `size` bytes at `offset`; how many there were, or -1. */
static gssize read_at(int fd, guint8 *buffer, gsize size, gsize offset)
{
	gsize done = 0;

	while (done < size) {
		gssize n = pread(fd, buffer + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		done += (gsize)n;
	}
	return (gssize)done;
}

static gboolean copy_whole(struct mapped_file *file, int fd, gsize size, const gchar *path,
			   GError **error)
{
	gsize head = MIN(size, PAGE_BYTES);
	guint8 *bytes = g_try_malloc(size);
	gssize n_head, n_rest;

	if (!bytes)
		return fail(error, ENOMEM, path);
	n_head = read_at(fd, bytes, head, 0);
	n_rest = n_head == (gssize)head ? read_at(fd, bytes + head, size - head, head) : 0;
	if (n_head < 0 || n_rest < 0) {
		fail(error, errno, path);
		g_free(bytes);
		return FALSE;
	}
	file->bytes = bytes;
	file->size_bytes = (gsize)(n_head + n_rest);
	return TRUE;
}

static gboolean map_whole(struct mapped_file *file, int fd, gsize size)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct mapped_region *region;
	void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);

	if (bytes == MAP_FAILED)
		return FALSE;
	pthread_once(&once, watch_for_sigbus);
	region = take_region();
	__atomic_store_n(&region->begin, (guintptr)bytes, __ATOMIC_RELEASE);
	__atomic_store_n(&region->end, (guintptr)bytes + size, __ATOMIC_RELEASE);
	file->bytes = bytes;
	file->size_bytes = size;
	file->region = region;
	__atomic_add_fetch(&n_mapped, 1, __ATOMIC_RELAXED);
	return TRUE;
}

static gboolean open_file(struct mapped_file *file, const gchar *path, gboolean may_map,
			  GError **error)
{
	gsize size = 0;
	int fd = open_regular(path, &size, error);
	gboolean is_done;

	if (fd < 0)
		return FALSE;
	*file = (struct mapped_file){ 0 };
	is_done = size == 0 || (may_map && is_to_be_mapped(size) && map_whole(file, fd, size)) ||
		  copy_whole(file, fd, size, path, error);
	close(fd);
	return is_done;
}

gboolean mapped_file_open(struct mapped_file *file, const gchar *path, GError **error)
{
	return open_file(file, path, TRUE, error);
}

gboolean mapped_file_open_copy(struct mapped_file *file, const gchar *path, GError **error)
{
	return open_file(file, path, FALSE, error);
}

void mapped_file_preload(const struct mapped_file *file, gsize n_bytes)
{
#ifdef MADV_POPULATE_READ
	/* Where the file has been cut it stops there, without a signal. */
	if (file->region && n_bytes)
		madvise((void *)file->bytes, MIN(n_bytes, file->size_bytes), MADV_POPULATE_READ);
#else
	(void)file;
	(void)n_bytes;
#endif
}

void mapped_file_expect_little(const struct mapped_file *file)
{
	static const int advices[] = { MADV_NOHUGEPAGE, MADV_RANDOM, MADV_DONTNEED };

	for (guint i = 0; file->region && i < G_N_ELEMENTS(advices); i++)
		madvise((void *)file->bytes, file->size_bytes, advices[i]);
}

void mapped_file_rest(const struct mapped_file *file)
{
	/* of a shared mapping only the mapping goes: what was in the pages is the file's, and where it was cut, zeros come again */
	if (file->region)
		madvise((void *)file->bytes, file->size_bytes, MADV_DONTNEED);
}

void mapped_file_close(struct mapped_file *file)
{
	if (file->region) {
		give_back_region(file->region);
		munmap((void *)file->bytes, file->size_bytes);
		__atomic_sub_fetch(&n_mapped, 1, __ATOMIC_RELAXED);
	} else {
		g_free((void *)file->bytes);
	}
	*file = (struct mapped_file){ 0 };
}
