/* socket_fds: which descriptors of the process are TCP connections, and between which ends.
 *
 * A descriptor is looked into once (a few system calls) and remembered in a table until a hook says
 * that it may have become something else: socket_fd_forget().
 *
 *     UNKNOWN --look--> OTHER | LISTENING            socket_fd_find()
 *     UNKNOWN --> FILLING --> CONNECTED              socket_fd_find()
 *     any     --> WAITS_FOR_TCP                      socket_fd_joins_epoll()
 *     any     --> UNKNOWN, one version on            socket_fd_forget()
 *     FILLING --> FILLING_STALE --> UNKNOWN          the same, while another thread fills
 *
 * (1) No lock: a state and its version are one word, and who finds a row being filled uses what it
 *     has looked up itself. So all of this may be called from signal handlers.
 * (2) A row's ends are read between two equal states: what is read belongs together.
 * (3) A socket that is not connected yet is not remembered: it may be, later, without a call.
 * (4) The child of a vfork() has descriptors of its own, but this table is its parent's: it does not
 *     remember what it finds. A forked child inherits both.
 * (5) errno is kept. */
#ifndef TACHO_SOCKET_FDS_H
#define TACHO_SOCKET_FDS_H

#include <stdbool.h>
#include <stdint.h>

/* Descriptors from here on are never found to be sockets. */
#define SOCKET_FDS 65536

enum socket_fd_kind {
	SOCKET_FD_OTHER,
	SOCKET_FD_UNCONNECTED, /* TCP, not connected or listening yet */
	SOCKET_FD_LISTENING,
	SOCKET_FD_CONNECTED,
};

/* The ends of a connection, as struct record_message has them. */
struct socket_ends {
	uint8_t local_address[16], peer_address[16];
	uint16_t local_port, peer_port;
	uint32_t reserved;
};

/* `ends` is set where the answer is SOCKET_FD_CONNECTED. */
enum socket_fd_kind socket_fd_find(int fd, struct socket_ends *ends);

/* The descriptors [first, last] may be something else from now on. */
void socket_fd_forget(int fd);
void socket_fd_forget_range(unsigned int first, unsigned int last);

/* `fd` was added to the epoll instance `epoll_fd`. */
void socket_fd_joins_epoll(int fd, int epoll_fd);
/* Whether a TCP socket was ever added to it. */
bool socket_fd_waits_for_tcp(int epoll_fd);

#endif
