#include "grpc/grpc_peer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "common/real_function.h"

#define N_CONNECTIONS 64       /* of which the port is kept */
#define N_FDS	      4096     /* that are looked at for one */
#define SEARCH_NS     50000000 /* no search for the same end sooner after one that found none */

static struct real_function real_length = REAL_FUNCTION_INIT("grpc_byte_buffer_length");
static struct real_function real_peer = REAL_FUNCTION_INIT("grpc_call_get_peer");
static struct real_function real_free = REAL_FUNCTION_INIT("gpr_free");

struct end {
	uint8_t address[16];
	uint16_t port;
};

/* A connection to `peer`; under the lock. */
struct connection {
	struct end peer, local; /* local.port 0: it was not found, or there were several */
	int fd;
	uint64_t inode;
	uint64_t searched_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct connection connections[N_CONNECTIONS];
static unsigned n_connections; /* ever */

void grpc_peers_forget(void)
{
	pthread_mutex_init(&lock, NULL);
	n_connections = 0;
}

uint64_t grpc_buffer_bytes(struct grpc_buffer *buffer, const void *caller)
{
	typedef size_t length(struct grpc_buffer * buffer);
	length *function = buffer ? (length *)real_function(&real_length, caller) : NULL;

	return function ? function(buffer) : 0;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* "%5B::1%5D" -> "[::1]": some versions quote it. */
static void unquote(char *text)
{
	char *out = text;

	for (; *text; out++) {
		if (strncmp(text, "%5B", 3) == 0 || strncmp(text, "%5D", 3) == 0) {
			*out = text[2] == 'B' ? '[' : ']';
			text += 3;
		} else {
			*out = *text++;
		}
	}
	*out = '\0';
}

/* "ipv4:10.0.0.1:50051", "ipv6:[::1]:50051". */
static bool parse(const char *text, struct end *end)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	char copy[96], *colon, *host = copy + strlen("ipv4:");
	bool is_ipv6 = strncmp(text, "ipv6:", 5) == 0;
	long port;

	if ((!is_ipv6 && strncmp(text, "ipv4:", 5) != 0) || strlen(text) >= sizeof(copy))
		return false;
	strcpy(copy, text);
	unquote(copy);
	colon = strrchr(host, ':');
	port = colon ? strtol(colon + 1, NULL, 10) : 0;
	if (port <= 0 || port > 65535)
		return false;
	*colon = '\0';
	end->port = (uint16_t)port;
	if (!is_ipv6) {
		memcpy(end->address, mapped, sizeof(mapped));
		return inet_pton(AF_INET, host, end->address + 12) == 1;
	}
	if (*host == '[')
		host++;
	host[strcspn(host, "]%")] = '\0'; /* nor the scope */
	return inet_pton(AF_INET6, host, end->address) == 1;
}

/* --- sockets ---------------------------------------------------------------------------------- */

typedef int get_name(int fd, struct sockaddr *address, socklen_t *length);

static bool read_end(get_name *get, int fd, struct end *end)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	const struct sockaddr_in *ipv4 = (const void *)&address;
	const struct sockaddr_in6 *ipv6 = (const void *)&address;

	if (get(fd, (struct sockaddr *)&address, &length) != 0)
		return false;
	if (address.ss_family == AF_INET) {
		memcpy(end->address, mapped, sizeof(mapped));
		memcpy(end->address + 12, &ipv4->sin_addr, 4);
		end->port = ntohs(ipv4->sin_port);
	} else if (address.ss_family == AF_INET6) {
		memcpy(end->address, &ipv6->sin6_addr, 16);
		end->port = ntohs(ipv6->sin6_port);
	} else {
		return false;
	}
	return true;
}

static int get_peer_name(int fd, struct sockaddr *address, socklen_t *length)
{
	return getpeername(fd, address, length);
}

static int get_own_name(int fd, struct sockaddr *address, socklen_t *length)
{
	return getsockname(fd, address, length);
}

static bool is_same(const struct end *a, const struct end *b)
{
	return a->port == b->port && memcmp(a->address, b->address, sizeof(a->address)) == 0;
}

static void search(struct connection *connection)
{
	struct end peer;
	struct stat status;
	int n = 0;

	for (int fd = 0; fd < N_FDS && n < 2; fd++) {
		if (!read_end(get_peer_name, fd, &peer) || !is_same(&peer, &connection->peer))
			continue;
		n++;
		connection->fd = fd;
	}
	connection->local.port = 0;
	if (n != 1 || fstat(connection->fd, &status) != 0 ||
	    !read_end(get_own_name, connection->fd, &connection->local))
		connection->local.port = 0;
	else
		connection->inode = status.st_ino;
}

static bool is_still_there(const struct connection *connection)
{
	struct stat status;

	return connection->local.port && fstat(connection->fd, &status) == 0 &&
	       status.st_ino == connection->inode;
}

static struct connection *find(const struct end *peer)
{
	unsigned n = n_connections < N_CONNECTIONS ? n_connections : N_CONNECTIONS;
	struct connection *connection;

	for (unsigned i = 0; i < n; i++)
		if (is_same(&connections[i].peer, peer))
			return &connections[i];
	connection = &connections[n_connections++ % N_CONNECTIONS];
	memset(connection, 0, sizeof(*connection));
	connection->peer = *peer;
	return connection;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct end own_end(const struct end *peer)
{
	struct connection *connection;
	struct end own;

	pthread_mutex_lock(&lock);
	connection = find(peer);
	if (!is_still_there(connection) &&
	    (connection->local.port || now_ns() - connection->searched_ns > SEARCH_NS)) {
		search(connection);
		connection->searched_ns = now_ns();
	}
	own = connection->local;
	pthread_mutex_unlock(&lock);
	return own;
}

/* --- a call ----------------------------------------------------------------------------------- */

void grpc_peer_tell(struct record_request *request, struct grpc_call *call, const void *caller)
{
	typedef char *get_peer(struct grpc_call * call);
	typedef void free_text(void *text);
	get_peer *get = (get_peer *)real_function(&real_peer, caller);
	free_text *give_back = (free_text *)real_function(&real_free, caller);
	struct end peer, own = { .port = 0 };
	int saved_errno = errno;
	char *text;

	if (!get || !give_back)
		return;
	text = get(call);
	if (text && parse(text, &peer)) {
		if (request->side == TRACE_SIDE_CLIENT)
			own = own_end(&peer);
		memcpy(request->peer_address, peer.address, sizeof(peer.address));
		request->peer_port = peer.port;
		if (own.port)
			memcpy(request->local_address, own.address, sizeof(own.address));
		request->local_port = own.port;
	}
	give_back(text);
	errno = saved_errno;
}
