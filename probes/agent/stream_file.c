#include "agent/stream_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/declared_clock.h"
#include "agent/engine.h"
#include "agent/file_fault.h"
#include "agent/process_trace.h"
#include "common/probe.h"
#include "trace/packet_cut.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

#define PAGE_BYTES  4096
#define ZEROS_BYTES 65536

struct file_name {
	char text[PATH_MAX + 64];
};

/* No descriptor is kept open: a job that closes all it finds would make us write into whatever took
 * the number next. */
static int open_file(const struct stream_file *file, struct file_name *name, const char *hidden,
		     int flags)
{
	int length = snprintf(name->text, sizeof(name->text), "%s/%s%u-%u.%u", process_trace_path(),
			      hidden, file->stream, file->tid, file->index);

	if (length < 0 || (size_t)length >= sizeof(name->text)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(name->text, flags | O_CLOEXEC, 0600);
}

/* Have the file's pages in memory, and room for them on the disk: by zeros over what nobody has touched yet. Reserving blocks and
 * touching the pages would do the same, but each such page is read, with more around it, from blocks that hold nothing, and
 * cutting the file gives the blocks back: five times as long, and a hundred times (docs/performance.md). */
static int write_zeros(int fd, size_t offset, size_t length)
{
	static char zeros[ZEROS_BYTES];
	size_t done = 0;
	ssize_t written;

	while (done < length) {
		size_t part = length - done < ZEROS_BYTES ? length - done : ZEROS_BYTES;

		written = pwrite(fd, zeros, part, (off_t)(offset + done));
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -ENOSPC;
		done += (size_t)written;
	}
	return 0;
}

static void touch_pages(char *begin, size_t length)
{
	if (madvise(begin, length, MADV_POPULATE_WRITE) == 0)
		return;
	for (size_t i = 0; i < length; i += PAGE_BYTES)
		*(volatile char *)(begin + i) = 0;
}

static int make_ready(struct stream_file *file, int fd, size_t more_bytes)
{
	size_t from = file->ready_bytes;
	int status;

	if (more_bytes > file->size_bytes - from)
		more_bytes = file->size_bytes - from;
	if (!more_bytes)
		return 0;
	status = write_zeros(fd, from, more_bytes);
	if (status < 0)
		return status;
	touch_pages((char *)file->packet + from, more_bytes);
	__atomic_store_n(&file->ready_bytes, from + more_bytes, __ATOMIC_SEQ_CST);
	return 0;
}

int stream_file_make_ready(struct stream_file *file, size_t more_bytes)
{
	struct file_name name;
	int fd = open_file(file, &name, "", O_RDWR);
	int status;

	if (fd < 0)
		return -errno;
	status = make_ready(file, fd, more_bytes);
	close(fd);
	return status;
}

static void fill_header(struct packet_header *packet, const struct stream_file *file,
			size_t packet_bytes)
{
	memset(packet, 0, sizeof(*packet));
	packet->magic = TRACE_PACKET_MAGIC;
	memcpy(packet->uuid, process_trace_uuid(), sizeof(packet->uuid));
	packet->packet_bits = (uint64_t)packet_bytes * 8;
	packet->content_bits = sizeof(*packet) * 8;
	packet->pair_mono_ns = declared_clock_system_ns(CLOCK_MONOTONIC);
	packet->pair_ticks = tacho_ticks();
	packet->stream = file->stream;
	packet->index = file->index;
	packet->tid = file->tid;
}

static int fill_file(struct stream_file *file, int fd, size_t ready_bytes)
{
	int status;

	if (ftruncate(fd, (off_t)file->size_bytes) < 0)
		return -errno;
	file->packet = mmap(NULL, file->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (file->packet == MAP_FAILED) {
		file->packet = NULL;
		return -errno;
	}
	file->fault_number = file_fault_watch(file->packet, file->size_bytes);
	status = make_ready(file, fd, ready_bytes);
	if (status < 0)
		return status;
	fill_header(file->packet, file, file->size_bytes);
	return 0;
}

/* Memory at a multiple of ENGINE_FILE_BYTES, by which who has a record finds its file; what describes it is at its end. */
static struct stream_file *new_memory(uint32_t stream, uint32_t index, uint32_t tid)
{
	size_t mapped = 2 * ENGINE_FILE_BYTES, before;
	char *begin = mmap(NULL, mapped, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct stream_file *file;

	if (begin == MAP_FAILED)
		return NULL;
	before = -(uintptr_t)begin & (ENGINE_FILE_BYTES - 1);
	if (before)
		munmap(begin, before);
	munmap(begin + before + ENGINE_FILE_BYTES, ENGINE_FILE_BYTES - before);
	file = (struct stream_file *)(begin + before + ENGINE_FILE_BYTES - sizeof(*file));
	file->packet = (struct packet_header *)(begin + before);
	file->size_bytes = file->ready_bytes = ENGINE_FILE_BYTES - sizeof(*file);
	file->stream = stream;
	file->index = index;
	file->tid = tid;
	file->is_memory = true;
	file->fault_number = file_fault_watch(file->packet, file->size_bytes);
	fill_header(file->packet, file, file->size_bytes);
	return file;
}

static int make_file(struct stream_file *file, size_t ready_bytes)
{
	struct file_name hidden, final;
	int fd, status;

	snprintf(final.text, sizeof(final.text), "%s/%u-%u.%u", process_trace_path(), file->stream,
		 file->tid, file->index);
	fd = open_file(file, &hidden, ".", O_RDWR | O_CREAT | O_EXCL);
	status = fd < 0 ? -errno : fill_file(file, fd, ready_bytes);
	if (status == 0 && rename(hidden.text, final.text) < 0)
		status = -errno;
	if (fd >= 0)
		close(fd);
	if (fd >= 0 && status < 0)
		unlink(hidden.text);
	return status;
}

struct stream_file *stream_file_new(uint32_t stream, uint32_t index, uint32_t tid,
				    size_t size_bytes, size_t ready_bytes)
{
	struct stream_file *file;
	int status;

	if (tacho_has_engine)
		return new_memory(stream, index, tid);
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->stream = stream;
	file->index = index;
	file->tid = tid;
	file->size_bytes = size_bytes;
	file->fault_number = -1;
	status = make_file(file, ready_bytes);
	if (status == 0)
		return file;
	stream_file_free(file);
	errno = -status;
	return NULL;
}

void stream_file_cut(struct stream_file *file, size_t keep_bytes)
{
	struct file_name name;
	int fd = file->is_memory ? -1 : open_file(file, &name, "", O_RDWR);

	if (fd < 0)
		return;
	if (keep_bytes <= sizeof(struct packet_header))
		unlink(name.text);
	else
		packet_cut(fd, file->packet, file->size_bytes, keep_bytes);
	close(fd);
}

void stream_file_rest(struct stream_file *file)
{
	madvise(file->packet, file->size_bytes, MADV_DONTNEED);
}

void stream_file_give_back(struct stream_file *file)
{
	file_fault_forget(file->fault_number);
	madvise(file->packet, ENGINE_FILE_BYTES, MADV_DONTNEED);
}

void stream_file_disown(struct stream_file *file)
{
	/* the last page of memory alone has this file in it */
	size_t size = file->is_memory ? ENGINE_FILE_BYTES - PAGE_BYTES : file->size_bytes;

	mmap(file->packet, size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

void stream_file_free(struct stream_file *file)
{
	if (!file)
		return;
	if (file->packet) {
		file_fault_forget(file->fault_number);
		if (file->is_memory) {
			munmap(file->packet, ENGINE_FILE_BYTES);
			return;
		}
		munmap(file->packet, file->size_bytes);
	}
	free(file);
}
