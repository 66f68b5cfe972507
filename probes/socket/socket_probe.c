/* socket_probe: stands before the functions of libc that move bytes through a descriptor or wait for
 * it, and records those calls that do so on a TCP connection.
 *
 * (1) What is called is the next definition behind ours, with the arguments as they came; results and
 *     errno come back as they are.
 * (2) A descriptor that is no TCP connection costs a look into a table (socket_fds.h), a wait for
 *     none the same; nothing else is done for them.
 * (3) The functions that make a descriptor into another one are here so that the table hears of it.
 * (4) A hook may run before this library's constructor, in a signal handler, or in the child of a
 *     vfork(): until the constructor has run it only hands on. */
#undef _FORTIFY_SOURCE /* its inline functions would be what is defined here */

#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/probe.h"
#include "socket/socket_call.h"

/* Receives that leave the bytes where they are, or that receive something else. */
#define NO_BYTES_TAKEN (MSG_PEEK | MSG_ERRQUEUE)

/* What programs built with _FORTIFY_SOURCE call. */
ssize_t __read_chk(int fd, void *buffer, size_t size, size_t buffer_bytes);
ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t buffer_bytes, int flags);
ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t buffer_bytes, int flags,
		       __SOCKADDR_ARG address, socklen_t *length);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t fds_bytes);

/* MESSAGE_HOOK(function, name of its records), WAIT_HOOK(the same), TABLE_HOOK(function) */
#define HOOKS(MESSAGE_HOOK, WAIT_HOOK, TABLE_HOOK)                                                 \
	MESSAGE_HOOK(read, "read")                                                                 \
	MESSAGE_HOOK(__read_chk, "read")                                                           \
	MESSAGE_HOOK(readv, "readv")                                                               \
	MESSAGE_HOOK(recv, "recv")                                                                 \
	MESSAGE_HOOK(__recv_chk, "recv")                                                           \
	MESSAGE_HOOK(recvfrom, "recvfrom")                                                         \
	MESSAGE_HOOK(__recvfrom_chk, "recvfrom")                                                   \
	MESSAGE_HOOK(recvmsg, "recvmsg")                                                           \
	MESSAGE_HOOK(write, "write")                                                               \
	MESSAGE_HOOK(writev, "writev")                                                             \
	MESSAGE_HOOK(send, "send")                                                                 \
	MESSAGE_HOOK(sendto, "sendto")                                                             \
	MESSAGE_HOOK(sendmsg, "sendmsg")                                                           \
	WAIT_HOOK(epoll_wait, "epoll_wait")                                                        \
	WAIT_HOOK(epoll_pwait, "epoll_pwait")                                                      \
	WAIT_HOOK(poll, "poll")                                                                    \
	WAIT_HOOK(__poll_chk, "poll")                                                              \
	TABLE_HOOK(epoll_ctl)                                                                      \
	TABLE_HOOK(socket)                                                                         \
	TABLE_HOOK(connect)                                                                        \
	TABLE_HOOK(accept)                                                                         \
	TABLE_HOOK(accept4)                                                                        \
	TABLE_HOOK(dup)                                                                            \
	TABLE_HOOK(dup2)                                                                           \
	TABLE_HOOK(dup3)                                                                           \
	TABLE_HOOK(close)                                                                          \
	TABLE_HOOK(close_range)                                                                    \
	TABLE_HOOK(closefrom)                                                                      \
	TABLE_HOOK(fclose)

#define NAMED_MEMBER(function, name) __typeof__(function) *function;
#define MEMBER(function)	     __typeof__(function) *function;
static struct {
	HOOKS(NAMED_MEMBER, NAMED_MEMBER, MEMBER)
} functions;

#define CLASS_MEMBER(function, name) uint32_t function;
#define NO_MEMBER(function)
static struct {
	HOOKS(CLASS_MEMBER, CLASS_MEMBER, NO_MEMBER)
} classes;

static bool is_found;	/* the functions */
static bool is_started; /* the classes are there: calls may be recorded */

static void __attribute__((noinline)) find_functions(void)
{
#define FIND(function)		   functions.function = (__typeof__(function) *)dlsym(tacho_scope(), #function);
#define FIND_NAMED(function, name) FIND(function)
	HOOKS(FIND_NAMED, FIND_NAMED, FIND)
	__atomic_store_n(&is_found, true, __ATOMIC_RELEASE);
}

static inline __typeof__(functions) *real(void)
{
	if (TACHO_UNLIKELY(!__atomic_load_n(&is_found, __ATOMIC_ACQUIRE)))
		find_functions();
	return &functions;
}

/* What became of the descriptors meanwhile was not seen. */
static void attached_changed(bool is_attached)
{
	if (is_attached)
		socket_fd_forget_range(0, SOCKET_FDS - 1);
}

static void __attribute__((constructor)) start(void)
{
	find_functions();
	if (!tacho_is_alive())
		return;
#define DECLARE_MESSAGE(function, name)                                                            \
	classes.function = tacho_class(TRACE_KIND_MESSAGE, name, strlen(name));
#define DECLARE_WAIT(function, name)                                                               \
	classes.function = tacho_class(TRACE_KIND_WAIT, name, strlen(name));
	HOOKS(DECLARE_MESSAGE, DECLARE_WAIT, NO_MEMBER)
	tacho_watch_attached(attached_changed);
	__atomic_store_n(&is_started, true, __ATOMIC_RELEASE);
}

static inline bool is_wanted(void)
{
	return __atomic_load_n(&is_started, __ATOMIC_ACQUIRE) && tacho_is_recording_all() &&
	       !tacho_writer.is_inside;
}

/* --- messages ------------------------------------------------------------------------------- */

static inline bool begin_message(struct socket_call *call, int fd)
{
	return is_wanted() && socket_fd_find(fd, &call->ends) == SOCKET_FD_CONNECTED &&
	       socket_call_begin(call);
}

#define HAND_ON_AND_RECORD(function, is_receive, is_taken, fd, ...)                                \
	do {                                                                                       \
		struct socket_call call;                                                           \
		ssize_t result;                                                                    \
                                                                                                   \
		if (!(is_taken) || !begin_message(&call, fd))                                      \
			return real()->function(fd, __VA_ARGS__);                                  \
		result = real()->function(fd, __VA_ARGS__);                                        \
		if (result > 0)                                                                    \
			socket_call_end_message(&call, classes.function, fd, (uint64_t)result,     \
						is_receive);                                       \
		return result;                                                                     \
	} while (0)

TACHO_EXPORT ssize_t read(int fd, void *buffer, size_t size)
{
	HAND_ON_AND_RECORD(read, true, true, fd, buffer, size);
}

TACHO_EXPORT ssize_t __read_chk(int fd, void *buffer, size_t size, size_t buffer_bytes)
{
	HAND_ON_AND_RECORD(__read_chk, true, true, fd, buffer, size, buffer_bytes);
}

TACHO_EXPORT ssize_t readv(int fd, const struct iovec *parts, int n)
{
	HAND_ON_AND_RECORD(readv, true, true, fd, parts, n);
}

TACHO_EXPORT ssize_t recv(int fd, void *buffer, size_t size, int flags)
{
	HAND_ON_AND_RECORD(recv, true, !(flags & NO_BYTES_TAKEN), fd, buffer, size, flags);
}

TACHO_EXPORT ssize_t __recv_chk(int fd, void *buffer, size_t size, size_t buffer_bytes, int flags)
{
	HAND_ON_AND_RECORD(__recv_chk, true, !(flags & NO_BYTES_TAKEN), fd, buffer, size,
			   buffer_bytes, flags);
}

TACHO_EXPORT ssize_t recvfrom(int fd, void *buffer, size_t size, int flags, __SOCKADDR_ARG address,
			      socklen_t *length)
{
	HAND_ON_AND_RECORD(recvfrom, true, !(flags & NO_BYTES_TAKEN), fd, buffer, size, flags,
			   address, length);
}

TACHO_EXPORT ssize_t __recvfrom_chk(int fd, void *buffer, size_t size, size_t buffer_bytes,
				    int flags, __SOCKADDR_ARG address, socklen_t *length)
{
	HAND_ON_AND_RECORD(__recvfrom_chk, true, !(flags & NO_BYTES_TAKEN), fd, buffer, size,
			   buffer_bytes, flags, address, length);
}

TACHO_EXPORT ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	HAND_ON_AND_RECORD(recvmsg, true, !(flags & NO_BYTES_TAKEN), fd, message, flags);
}

TACHO_EXPORT ssize_t write(int fd, const void *bytes, size_t size)
{
	HAND_ON_AND_RECORD(write, false, true, fd, bytes, size);
}

TACHO_EXPORT ssize_t writev(int fd, const struct iovec *parts, int n)
{
	HAND_ON_AND_RECORD(writev, false, true, fd, parts, n);
}

TACHO_EXPORT ssize_t send(int fd, const void *bytes, size_t size, int flags)
{
	HAND_ON_AND_RECORD(send, false, true, fd, bytes, size, flags);
}

TACHO_EXPORT ssize_t sendto(int fd, const void *bytes, size_t size, int flags,
			    __CONST_SOCKADDR_ARG address, socklen_t length)
{
	HAND_ON_AND_RECORD(sendto, false, true, fd, bytes, size, flags, address, length);
}

TACHO_EXPORT ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	HAND_ON_AND_RECORD(sendmsg, false, true, fd, message, flags);
}

/* --- waits ---------------------------------------------------------------------------------- */

/* A look that does not wait is not recorded: who polls that way does so all the time. */
static inline bool begin_epoll(struct socket_call *call, int fd, int timeout)
{
	return timeout && is_wanted() && socket_fd_waits_for_tcp(fd) &&
	       socket_call_begin_wait(call);
}

static inline bool begin_poll(struct socket_call *call, const struct pollfd *fds, nfds_t n,
			      int timeout)
{
	if (!timeout || !is_wanted())
		return false;
	for (nfds_t i = 0; i < n; i++)
		if (fds[i].fd >= 0 && socket_fd_find(fds[i].fd, &call->ends) != SOCKET_FD_OTHER)
			return socket_call_begin_wait(call);
	return false;
}

#define HAND_ON_AND_RECORD_WAIT(function, begins, ...)                                             \
	do {                                                                                       \
		struct socket_call call;                                                           \
		int result;                                                                        \
                                                                                                   \
		if (!(begins))                                                                     \
			return real()->function(__VA_ARGS__);                                      \
		result = real()->function(__VA_ARGS__);                                            \
		if (result >= 0)                                                                   \
			socket_call_end_wait(&call, classes.function);                             \
		return result;                                                                     \
	} while (0)

TACHO_EXPORT int epoll_wait(int fd, struct epoll_event *events, int n, int timeout)
{
	HAND_ON_AND_RECORD_WAIT(epoll_wait, begin_epoll(&call, fd, timeout), fd, events, n,
				timeout);
}

TACHO_EXPORT int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout,
			     const sigset_t *mask)
{
	HAND_ON_AND_RECORD_WAIT(epoll_pwait, begin_epoll(&call, fd, timeout), fd, events, n,
				timeout, mask);
}

TACHO_EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	HAND_ON_AND_RECORD_WAIT(poll, begin_poll(&call, fds, n, timeout), fds, n, timeout);
}

TACHO_EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t fds_bytes)
{
	HAND_ON_AND_RECORD_WAIT(__poll_chk, begin_poll(&call, fds, n, timeout), fds, n, timeout,
				fds_bytes);
}

/* --- descriptors that become others --------------------------------------------------------- */

TACHO_EXPORT int epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
	int result = real()->epoll_ctl(epoll_fd, operation, fd, event);

	if (result == 0 && operation == EPOLL_CTL_ADD && is_wanted())
		socket_fd_joins_epoll(fd, epoll_fd);
	return result;
}

TACHO_EXPORT int socket(int domain, int type, int protocol)
{
	int fd = real()->socket(domain, type, protocol);

	socket_fd_forget(fd);
	return fd;
}

TACHO_EXPORT int connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
	int result = real()->connect(fd, address, length);

	socket_fd_forget(fd);
	return result;
}

TACHO_EXPORT int accept(int fd, __SOCKADDR_ARG address, socklen_t *length)
{
	int accepted = real()->accept(fd, address, length);

	socket_fd_forget(accepted);
	return accepted;
}

TACHO_EXPORT int accept4(int fd, __SOCKADDR_ARG address, socklen_t *length, int flags)
{
	int accepted = real()->accept4(fd, address, length, flags);

	socket_fd_forget(accepted);
	return accepted;
}

TACHO_EXPORT int dup(int fd)
{
	int copy = real()->dup(fd);

	socket_fd_forget(copy);
	return copy;
}

TACHO_EXPORT int dup2(int fd, int copy)
{
	int result = real()->dup2(fd, copy);

	socket_fd_forget(result);
	return result;
}

TACHO_EXPORT int dup3(int fd, int copy, int flags)
{
	int result = real()->dup3(fd, copy, flags);

	socket_fd_forget(result);
	return result;
}

/* Before it is closed: afterwards the number may be another's already. */
TACHO_EXPORT int close(int fd)
{
	socket_fd_forget(fd);
	return real()->close(fd);
}

TACHO_EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	socket_fd_forget_range(first, last);
	return real()->close_range(first, last, flags);
}

TACHO_EXPORT void closefrom(int first)
{
	socket_fd_forget_range(first > 0 ? (unsigned int)first : 0, SOCKET_FDS - 1);
	real()->closefrom(first);
}

/* libc closes the descriptor of a stream without a call that could be seen. */
TACHO_EXPORT int fclose(FILE *stream)
{
	socket_fd_forget(fileno(stream));
	return real()->fclose(stream);
}
