/* grpc_core: gRPC's C interface without C++: a client and a server in one process, both by one queue; unary calls of messages of 1000 bytes, answered with 10.
 * Besides, a batch that is refused, and a call that never begins. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>

#define N_CALLS 8

#define CLIENT_TAG ((void *)1)
#define SERVER_TAG ((void *)2)
#define ANSWER_TAG ((void *)3)

static grpc_completion_queue *queue;

static gpr_timespec in_10_s(void)
{
	return gpr_time_add(gpr_now(GPR_CLOCK_REALTIME), gpr_time_from_seconds(10, GPR_TIMESPAN));
}

static grpc_byte_buffer *make_message(size_t bytes)
{
	grpc_slice slice = grpc_slice_malloc(bytes);
	grpc_byte_buffer *buffer = grpc_raw_byte_buffer_create(&slice, 1);

	memset(GRPC_SLICE_START_PTR(slice), 'x', bytes);
	grpc_slice_unref(slice);
	return buffer;
}

/* Until an event of `tag` has come; others are remembered. */
static void wait_for(void *tag)
{
	static int n_come[8];

	while (!n_come[(uintptr_t)tag]) {
		grpc_event event = grpc_completion_queue_next(queue, in_10_s(), NULL);

		assert(event.type == GRPC_OP_COMPLETE);
		n_come[(uintptr_t)event.tag]++;
	}
	n_come[(uintptr_t)tag]--;
}

struct answer {
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
};

static void ask_for_next(grpc_server *server, struct answer *answer)
{
	grpc_call_details_init(&answer->details);
	grpc_metadata_array_init(&answer->metadata);
	assert(grpc_server_request_call(server, &answer->call, &answer->details, &answer->metadata,
					queue, queue, SERVER_TAG) == GRPC_CALL_OK);
}

static void answer_it(struct answer *answer)
{
	grpc_byte_buffer *asked = NULL, *message = make_message(10);
	int is_cancelled = 0;
	grpc_op receive = { .op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &asked };
	grpc_op send[4] = { { .op = GRPC_OP_SEND_INITIAL_METADATA },
			    { .op = GRPC_OP_SEND_MESSAGE,
			      .data.send_message.send_message = message },
			    { .op = GRPC_OP_SEND_STATUS_FROM_SERVER,
			      .data.send_status_from_server.status = GRPC_STATUS_OK },
			    { .op = GRPC_OP_RECV_CLOSE_ON_SERVER,
			      .data.recv_close_on_server.cancelled = &is_cancelled } };

	assert(grpc_call_start_batch(answer->call, &receive, 1, ANSWER_TAG, NULL) == GRPC_CALL_OK);
	wait_for(ANSWER_TAG);
	assert(asked && grpc_byte_buffer_length(asked) == 1000);
	assert(grpc_call_start_batch(answer->call, send, 4, ANSWER_TAG, NULL) == GRPC_CALL_OK);
	wait_for(ANSWER_TAG);
	grpc_byte_buffer_destroy(asked);
	grpc_byte_buffer_destroy(message);
	grpc_call_details_destroy(&answer->details);
	grpc_metadata_array_destroy(&answer->metadata);
	grpc_call_unref(answer->call);
}

static void call_once(grpc_channel *channel, void *registered, grpc_server *server)
{
	grpc_metadata_array first, last;
	grpc_byte_buffer *message = make_message(1000), *answered = NULL;
	grpc_status_code status;
	grpc_slice details;
	struct answer answer;
	grpc_call *call;

	grpc_metadata_array_init(&first);
	grpc_metadata_array_init(&last);
	ask_for_next(server, &answer);
	call = registered ? grpc_channel_create_registered_call(channel, NULL, 0, queue, registered,
								in_10_s(), NULL)
			  : grpc_channel_create_call(channel, NULL, 0, queue,
						     grpc_slice_from_static_string("/core/Short"),
						     NULL, in_10_s(), NULL);
	grpc_op ops[] = { { .op = GRPC_OP_SEND_INITIAL_METADATA },
			  { .op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = message },
			  { .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT },
			  { .op = GRPC_OP_RECV_INITIAL_METADATA,
			    .data.recv_initial_metadata.recv_initial_metadata = &first },
			  { .op = GRPC_OP_RECV_MESSAGE,
			    .data.recv_message.recv_message = &answered },
			  { .op = GRPC_OP_RECV_STATUS_ON_CLIENT,
			    .data.recv_status_on_client = { &last, &status, &details, NULL } } };

	assert(grpc_call_start_batch(call, ops, 6, CLIENT_TAG, NULL) == GRPC_CALL_OK);
	/* refused: there is such a batch already */
	assert(grpc_call_start_batch(call, ops, 2, CLIENT_TAG, NULL) != GRPC_CALL_OK);
	wait_for(SERVER_TAG);
	answer_it(&answer);
	wait_for(CLIENT_TAG);
	assert(status == GRPC_STATUS_OK && grpc_byte_buffer_length(answered) == 10);
	grpc_byte_buffer_destroy(message);
	grpc_byte_buffer_destroy(answered);
	grpc_slice_unref(details);
	grpc_metadata_array_destroy(&first);
	grpc_metadata_array_destroy(&last);
	grpc_call_unref(call);
}

int main(void)
{
	grpc_server_credentials *server_credentials;
	grpc_channel_credentials *credentials;
	grpc_channel *channel;
	grpc_server *server;
	void *registered;
	char address[32];
	int port;

	grpc_init();
	queue = grpc_completion_queue_create_for_next(NULL);
	server = grpc_server_create(NULL, NULL);
	grpc_server_register_completion_queue(server, queue, NULL);
	server_credentials = grpc_insecure_server_credentials_create();
	port = grpc_server_add_http2_port(server, "127.0.0.1:0", server_credentials);
	grpc_server_start(server);
	snprintf(address, sizeof(address), "127.0.0.1:%d", port);
	credentials = grpc_insecure_credentials_create();
	channel = grpc_channel_create(address, credentials, NULL);
	registered = grpc_channel_register_call(
		channel, "/core/A_method_whose_name_does_not_fit_into_a_slice", NULL, NULL);
	for (int i = 0; i < N_CALLS; i++)
		call_once(channel, i % 2 ? registered : NULL, server);
	grpc_call_unref(grpc_channel_create_call(channel, NULL, 0, queue,
						 grpc_slice_from_static_string("/core/Never"), NULL,
						 in_10_s(), NULL));
	grpc_channel_destroy(channel);
	grpc_channel_credentials_release(credentials);
	grpc_server_credentials_release(server_credentials);
	grpc_server_shutdown_and_notify(server, queue, ANSWER_TAG);
	wait_for(ANSWER_TAG);
	grpc_server_destroy(server);
	grpc_completion_queue_shutdown(queue);
	while (grpc_completion_queue_next(queue, in_10_s(), NULL).type != GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(queue);
	grpc_shutdown();
	puts("done");
	return 0;
}
