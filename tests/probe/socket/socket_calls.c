/* socket_calls: bytes through loopback connections in every way that the socket probe knows, and
 * through other things, which it must leave alone. Prints what came out of the calls: the same with
 * and without the probe. tests/job/socket_probe.sh knows which records are due. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char bytes[4096];

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("line %d: %s: %s\n", __LINE__, #condition, strerror(errno));        \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct pair {
	int client, server;
};

static struct pair connect_pair(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t length = sizeof(address);
	struct pair pair;
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(bind(listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	CHECK(listen(listener, 1) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
	pair.client = socket(AF_INET, SOCK_STREAM, 0);
	/* looked at before it is connected */
	CHECK(recv(pair.client, bytes, 1, MSG_DONTWAIT) < 0 && errno == ENOTCONN);
	CHECK(connect(pair.client, (struct sockaddr *)&address, sizeof(address)) == 0);
	pair.server = accept(listener, NULL, NULL);
	CHECK(pair.server >= 0);
	close(listener);
	return pair;
}

/* 1500 bytes, in five calls each way. */
static void every_call(struct pair pair)
{
	struct iovec parts[2] = { { bytes, 60 }, { bytes + 60, 140 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	CHECK(write(pair.client, bytes, 100) == 100);
	CHECK(writev(pair.client, parts, 2) == 200);
	CHECK(send(pair.client, bytes, 300, 0) == 300);
	CHECK(sendto(pair.client, bytes, 700, 0, NULL, 0) == 700);
	CHECK(sendmsg(pair.client, &message, 0) == 200);
	CHECK(recv(pair.server, bytes, 50, MSG_PEEK) == 50);
	CHECK(read(pair.server, bytes, 100) == 100);
	CHECK(readv(pair.server, parts, 2) == 200);
	CHECK(recv(pair.server, bytes, 300, MSG_WAITALL) == 300);
	CHECK(recvfrom(pair.server, bytes, 700, 0, NULL, NULL) == 700);
	CHECK(recvmsg(pair.server, &message, 0) == 200);
	puts("every call");
}

static void less_than_asked_for(struct pair pair)
{
	errno = 0;
	CHECK(recv(pair.server, bytes, 10, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	CHECK(send(pair.client, bytes, 31, 0) == 31);
	CHECK(recv(pair.server, bytes, 20, 0) == 20);
	CHECK(recv(pair.server, bytes, 4096, 0) == 11);
	CHECK(send(-1, bytes, 1, 0) < 0 && errno == EBADF);
	puts("less than asked for");
}

static void no_connection(void)
{
	int pipe_fds[2], unix_fds[2];

	CHECK(pipe(pipe_fds) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, unix_fds) == 0);
	CHECK(write(pipe_fds[1], bytes, 17) == 17 && read(pipe_fds[0], bytes, 17) == 17);
	CHECK(send(unix_fds[1], bytes, 17, 0) == 17 && recv(unix_fds[0], bytes, 17, 0) == 17);
	close(pipe_fds[0]), close(pipe_fds[1]), close(unix_fds[0]), close(unix_fds[1]);
	puts("no connection");
}

/* One number, and what is behind it changes in every way there is. */
static void one_number(struct pair pair)
{
	int pipe_fds[2], number = 100;
	FILE *stream;

	CHECK(pipe(pipe_fds) == 0);
	CHECK(dup2(pipe_fds[1], number) == number && write(number, bytes, 19) == 19);
	CHECK(dup2(pair.client, number) == number && write(number, bytes, 23) == 23);
	CHECK(dup2(pipe_fds[1], number) == number && write(number, bytes, 19) == 19);
	CHECK(dup3(pair.client, number, O_CLOEXEC) == number && write(number, bytes, 23) == 23);
	close(number);
	CHECK(dup2(pipe_fds[1], number) == number && write(number, bytes, 19) == 19);
	CHECK(dup2(pair.client, number) == number && write(number, bytes, 23) == 23);
	stream = fdopen(number, "w");
	CHECK(stream && fclose(stream) == 0);
	CHECK(fcntl(pipe_fds[1], F_DUPFD, number) == number && write(number, bytes, 19) == 19);
	CHECK(dup2(pair.client, number) == number && write(number, bytes, 23) == 23);
	CHECK(close_range((unsigned int)number, (unsigned int)number, 0) == 0);
	CHECK(fcntl(pipe_fds[1], F_DUPFD, number) == number && write(number, bytes, 19) == 19);
	CHECK(recv(pair.server, bytes, 92, MSG_WAITALL) == 92);
	close(number), close(pipe_fds[0]), close(pipe_fds[1]);
	puts("one number");
}

static pid_t receiver; /* atomic: 0 until it is about to receive */

static void *receive_late(void *pair)
{
	__atomic_store_n(&receiver, gettid(), __ATOMIC_RELEASE);
	CHECK(recv(((struct pair *)pair)->server, bytes, 13, 0) == 13);
	return NULL;
}

static bool is_asleep(pid_t thread)
{
	char path[64], text[256], *state;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	CHECK(length > 0);
	text[length] = '\0';
	state = strrchr(text, ')');
	return state && state[1] == ' ' && state[2] == 'S';
}

/* The receive begins long before what it waits for. */
static void blocked(struct pair pair)
{
	pthread_t thread;
	pid_t thread_id;

	CHECK(pthread_create(&thread, NULL, receive_late, &pair) == 0);
	while (!(thread_id = __atomic_load_n(&receiver, __ATOMIC_ACQUIRE)) || !is_asleep(thread_id))
		usleep(1000);
	usleep(60000);
	CHECK(send(pair.client, bytes, 13, 0) == 13);
	pthread_join(thread, NULL);
	puts("blocked");
}

static void waits(struct pair pair)
{
	struct pollfd fds[2] = { { .fd = -1 }, { .fd = pair.server, .events = POLLIN } };
	struct epoll_event event = { .events = EPOLLIN };
	int epoll_fd = epoll_create1(0), other_fd = epoll_create1(0), pipe_fds[2];

	CHECK(pipe(pipe_fds) == 0);
	CHECK(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, pair.server, &event) == 0);
	CHECK(epoll_ctl(other_fd, EPOLL_CTL_ADD, pipe_fds[0], &event) == 0);
	CHECK(epoll_wait(epoll_fd, &event, 1, 0) == 0);
	CHECK(epoll_wait(epoll_fd, &event, 1, 30) == 0);
	CHECK(epoll_pwait(epoll_fd, &event, 1, 30, NULL) == 0);
	CHECK(poll(fds, 2, 30) == 0);
	CHECK(epoll_wait(other_fd, &event, 1, 1) == 0);
	CHECK(send(pair.client, bytes, 5, 0) == 5);
	CHECK(epoll_pwait(epoll_fd, &event, 1, -1, NULL) == 1);
	CHECK(poll(fds, 2, -1) == 1);
	CHECK(recv(pair.server, bytes, 5, 0) == 5);
	fds[1].fd = pipe_fds[0];
	CHECK(poll(fds, 2, 1) == 0);
	close(epoll_fd), close(other_fd), close(pipe_fds[0]), close(pipe_fds[1]);
	puts("waits");
}

static struct pair signalled;

static void send_in_handler(int number)
{
	(void)number;
	CHECK(send(signalled.client, bytes, 29, 0) == 29);
}

/* A handler sends while the thread is in a receive, which it thereby ends. */
static void in_handler(struct pair pair)
{
	struct sigaction action = { .sa_handler = send_in_handler, .sa_flags = SA_RESTART };

	signalled = pair;
	sigaction(SIGALRM, &action, NULL);
	ualarm(20000, 0);
	CHECK(recv(pair.server, bytes, 29, 0) == 29);
	puts("in a handler");
}

static void children(struct pair pair)
{
	int status;
	pid_t child = vfork();

	if (child == 0) {
		dup2(pair.client, 0);
		close(pair.client);
		_exit(0);
	}
	waitpid(child, &status, 0);
	fflush(stdout);
	child = fork();
	if (child == 0) {
		CHECK(send(pair.client, bytes, 37, 0) == 37);
		exit(0);
	}
	CHECK(recv(pair.server, bytes, 37, 0) == 37);
	waitpid(child, &status, 0);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	puts("children");
}

int main(void)
{
	struct pair pair = connect_pair();

	every_call(pair);
	less_than_asked_for(pair);
	no_connection();
	one_number(pair);
	blocked(pair);
	waits(pair);
	in_handler(pair);
	children(pair);
	close(pair.client);
	CHECK(recv(pair.server, bytes, 1, 0) == 0);
	puts("end of the stream");
	return 0;
}
