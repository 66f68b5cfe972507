#include "socket/socket_fds.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/probe.h"

/* A state is a version and one of these. */
enum {
	UNKNOWN,
	FILLING,
	FILLING_STALE,
	OTHER,
	LISTENING,
	CONNECTED,
	WAITS_FOR_TCP,
	STATUS_MASK = 7,
	NEXT_VERSION = 8,
};

#define WORDS (sizeof(struct socket_ends) / sizeof(uint64_t))
_Static_assert(sizeof(struct socket_ends) % sizeof(uint64_t) == 0, "ends are copied by words");

static uint32_t states[SOCKET_FDS];
static uint64_t rows[SOCKET_FDS][WORDS];
static uint32_t n_used; /* states from here on are as in the beginning */

static inline bool is_in_table(int fd)
{
	return (unsigned int)fd < SOCKET_FDS;
}

static inline bool replace(int fd, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&states[fd], &from, to, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static inline uint32_t with_status(uint32_t state, uint32_t status)
{
	return (state & ~(uint32_t)STATUS_MASK) | status;
}

/* --- looking at the descriptor itself ------------------------------------------------------- */

static void put_address(const struct sockaddr_storage *from, uint8_t address[16], uint16_t *port)
{
	if (from->ss_family == AF_INET) {
		const struct sockaddr_in *ipv4 = (const struct sockaddr_in *)from;

		memset(address, 0, 10);
		memset(address + 10, 0xff, 2);
		memcpy(address + 12, &ipv4->sin_addr, 4);
		*port = ntohs(ipv4->sin_port);
	} else {
		const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)from;

		memcpy(address, &ipv6->sin6_addr, 16);
		*port = ntohs(ipv6->sin6_port);
	}
}

static int option_of(int fd, int option)
{
	int value = -1;
	socklen_t length = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &length) == 0 ? value : -1;
}

static enum socket_fd_kind look(int fd, struct socket_ends *ends)
{
	struct sockaddr_storage local, peer;
	socklen_t local_length = sizeof(local), peer_length = sizeof(peer);
	int domain;

	if (option_of(fd, SO_TYPE) != SOCK_STREAM)
		return SOCKET_FD_OTHER;
	domain = option_of(fd, SO_DOMAIN);
	if (domain != AF_INET && domain != AF_INET6)
		return SOCKET_FD_OTHER;
	if (option_of(fd, SO_ACCEPTCONN) == 1)
		return SOCKET_FD_LISTENING;
	if (getpeername(fd, (struct sockaddr *)&peer, &peer_length) < 0 ||
	    getsockname(fd, (struct sockaddr *)&local, &local_length) < 0)
		return SOCKET_FD_UNCONNECTED;
	put_address(&local, ends->local_address, &ends->local_port);
	put_address(&peer, ends->peer_address, &ends->peer_port);
	ends->reserved = 0;
	return SOCKET_FD_CONNECTED;
}

/* --- remembering ---------------------------------------------------------------------------- */

/* Whether this is not the child of a vfork(): (4). Generation and pid are kept in one word. */
static bool is_own_table(void)
{
	static uint64_t owner;
	uint64_t kept = __atomic_load_n(&owner, __ATOMIC_RELAXED);
	uint64_t self = (uint64_t)tacho_generation() << 32 | (uint32_t)getpid();

	if (kept >> 32 != self >> 32) {
		__atomic_store_n(&owner, self, __ATOMIC_RELAXED);
		return true;
	}
	return kept == self;
}

static void note_used(int fd)
{
	uint32_t used = __atomic_load_n(&n_used, __ATOMIC_RELAXED);

	while (used <= (uint32_t)fd &&
	       !__atomic_compare_exchange_n(&n_used, &used, (uint32_t)fd + 1, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

static void fill_row(int fd, uint32_t state, const struct socket_ends *ends)
{
	uint64_t words[WORDS];

	if (!replace(fd, state, with_status(state, FILLING)))
		return;
	memcpy(words, ends, sizeof(words));
	__atomic_thread_fence(__ATOMIC_RELEASE);
	for (size_t i = 0; i < WORDS; i++)
		__atomic_store_n(&rows[fd][i], words[i], __ATOMIC_RELAXED);
	if (!replace(fd, with_status(state, FILLING), with_status(state, CONNECTED)))
		__atomic_store_n(&states[fd], with_status(state + NEXT_VERSION, UNKNOWN),
				 __ATOMIC_RELEASE);
}

static void remember(int fd, uint32_t state, enum socket_fd_kind kind,
		     const struct socket_ends *ends)
{
	if ((state & STATUS_MASK) != UNKNOWN || kind == SOCKET_FD_UNCONNECTED || !is_own_table())
		return;
	note_used(fd);
	if (kind == SOCKET_FD_CONNECTED)
		fill_row(fd, state, ends);
	else
		replace(fd, state,
			with_status(state, kind == SOCKET_FD_LISTENING ? LISTENING : OTHER));
}

static bool copy_row(int fd, uint32_t state, struct socket_ends *ends)
{
	uint64_t words[WORDS];

	for (size_t i = 0; i < WORDS; i++)
		words[i] = __atomic_load_n(&rows[fd][i], __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (__atomic_load_n(&states[fd], __ATOMIC_RELAXED) != state)
		return false;
	memcpy(ends, words, sizeof(words));
	return true;
}

enum socket_fd_kind socket_fd_find(int fd, struct socket_ends *ends)
{
	enum socket_fd_kind kind;
	uint32_t state;
	int saved_errno;

	if (!is_in_table(fd))
		return SOCKET_FD_OTHER;
	state = __atomic_load_n(&states[fd], __ATOMIC_ACQUIRE);
	switch (state & STATUS_MASK) {
	case OTHER:
	case WAITS_FOR_TCP:
		return SOCKET_FD_OTHER;
	case LISTENING:
		return SOCKET_FD_LISTENING;
	case CONNECTED:
		if (copy_row(fd, state, ends))
			return SOCKET_FD_CONNECTED;
		break;
	default:
		break;
	}
	saved_errno = errno;
	kind = look(fd, ends);
	remember(fd, state, kind, ends);
	errno = saved_errno;
	return kind;
}

void socket_fd_forget(int fd)
{
	uint32_t state, status, next;

	if (!is_in_table(fd))
		return;
	do {
		state = __atomic_load_n(&states[fd], __ATOMIC_RELAXED);
		status = state & STATUS_MASK;
		if (status == FILLING || status == FILLING_STALE)
			next = with_status(state, FILLING_STALE);
		else
			next = with_status(state + NEXT_VERSION, UNKNOWN);
	} while (!replace(fd, state, next));
}

void socket_fd_forget_range(unsigned int first, unsigned int last)
{
	unsigned int used = __atomic_load_n(&n_used, __ATOMIC_RELAXED);

	for (unsigned int fd = first; fd <= last && fd < used; fd++)
		socket_fd_forget((int)fd);
}

/* --- epoll ---------------------------------------------------------------------------------- */

void socket_fd_joins_epoll(int fd, int epoll_fd)
{
	struct socket_ends ends;
	uint32_t state;

	if (!is_in_table(epoll_fd) || socket_fd_find(fd, &ends) == SOCKET_FD_OTHER)
		return;
	note_used(epoll_fd);
	state = __atomic_load_n(&states[epoll_fd], __ATOMIC_RELAXED);
	replace(epoll_fd, state, with_status(state, WAITS_FOR_TCP));
}

bool socket_fd_waits_for_tcp(int epoll_fd)
{
	return is_in_table(epoll_fd) && (__atomic_load_n(&states[epoll_fd], __ATOMIC_RELAXED) &
					 STATUS_MASK) == WAITS_FOR_TCP;
}
