#include "preloadable.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const gchar *why_not_elf(int fd, const Elf64_Ehdr *header)
{
	if (header->e_ident[EI_CLASS] == ELFCLASS32)
		return "is a 32-bit program";
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_phentsize != sizeof(Elf64_Phdr))
		return NULL;
	for (guint i = 0; i < header->e_phnum; i++) {
		Elf64_Phdr segment;

		if (pread(fd, &segment, sizeof(segment),
			  (off_t)(header->e_phoff + i * sizeof(segment))) != sizeof(segment) ||
		    segment.p_type == PT_INTERP)
			return NULL;
	}
	return "is statically linked";
}

const gchar *preloadable_why_not(const gchar *program)
{
	g_autofree gchar *path = g_find_program_in_path(program);
	struct stat status;
	Elf64_Ehdr header;
	const gchar *reason = NULL;
	int fd;

	if (!path || stat(path, &status) < 0)
		return NULL;
	if (((status.st_mode & S_ISUID) && status.st_uid != geteuid()) ||
	    ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) &&
	     status.st_gid != getegid()))
		return "is set-uid or set-gid";
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (pread(fd, &header, sizeof(header), 0) == sizeof(header) &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0)
		reason = why_not_elf(fd, &header);
	close(fd);
	return reason;
}
