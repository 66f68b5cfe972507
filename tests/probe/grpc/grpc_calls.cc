/* grpc_calls: a server and clients of gRPC that know what they do, for tests/job/grpc_probe.sh.
 *
 *     grpc_calls serve sync|async|callback ADDRESS     until stdin ends; says "port N"
 *     grpc_calls call HOW ADDRESS:PORT [COUNT]         HOW: unary, async, callback, stream, fail, deadline, cancel, nobody,
 *                                                  endless, timed
 *
 * Get answers with twice as many bytes as it is sent. Blobs have 100 bytes and more, so that a message is 2 bytes longer, from 128 on 3. */
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "blobs.grpc.pb.h"

using blobs::Blob;
using blobs::Store;
using std::string;

static Blob blob(size_t bytes)
{
	Blob made;

	made.set_data(string(bytes, 'x'));
	return made;
}

static Blob answer(const Blob &asked)
{
	return blob(asked.data().size() * 2);
}

/* --- servers -------------------------------------------------------------------------------- */

class SyncStore final : public Store::Service
{
	grpc::Status Get(grpc::ServerContext *, const Blob *asked, Blob *answered) override
	{
		*answered = answer(*asked);
		return grpc::Status::OK;
	}
	grpc::Status Fail(grpc::ServerContext *, const Blob *, Blob *) override
	{
		return grpc::Status(grpc::StatusCode::NOT_FOUND, "no such blob");
	}
	grpc::Status Wait(grpc::ServerContext *context, const Blob *, Blob *) override
	{
		while (!context->IsCancelled())
			usleep(1000);
		return grpc::Status::CANCELLED;
	}
	grpc::Status Flow(grpc::ServerContext *,
			  grpc::ServerReaderWriter<Blob, Blob> *stream) override
	{
		Blob asked;

		while (stream->Read(&asked))
			stream->Write(answer(asked));
		return grpc::Status::OK;
	}
};

class CallbackStore final : public Store::CallbackService
{
	grpc::ServerUnaryReactor *Get(grpc::CallbackServerContext *context, const Blob *asked,
				      Blob *answered) override
	{
		grpc::ServerUnaryReactor *reactor = context->DefaultReactor();

		*answered = answer(*asked);
		reactor->Finish(grpc::Status::OK);
		return reactor;
	}
	grpc::ServerUnaryReactor *Fail(grpc::CallbackServerContext *context, const Blob *,
				       Blob *) override
	{
		grpc::ServerUnaryReactor *reactor = context->DefaultReactor();

		reactor->Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, "no such blob"));
		return reactor;
	}
};

/* One call of Get after another, from the queue. */
struct AsyncGet {
	AsyncGet(Store::AsyncService *service, grpc::ServerCompletionQueue *queue)
	    : service(service), queue(queue), responder(&context)
	{
		service->RequestGet(&context, &asked, &responder, queue, queue, this);
	}
	void go_on()
	{
		if (is_answered) {
			delete this;
			return;
		}
		new AsyncGet(service, queue);
		is_answered = true;
		responder.Finish(answer(asked), grpc::Status::OK, this);
	}
	Store::AsyncService *service;
	grpc::ServerCompletionQueue *queue;
	grpc::ServerContext context;
	Blob asked;
	grpc::ServerAsyncResponseWriter<Blob> responder;
	bool is_answered = false;
};

static int serve(const string &how, const string &address)
{
	SyncStore sync;
	CallbackStore callback;
	Store::AsyncService async;
	grpc::ServerBuilder builder;
	std::unique_ptr<grpc::ServerCompletionQueue> queue;
	std::unique_ptr<grpc::Server> server;
	std::thread worker;
	char byte;
	int port = 0;

	builder.AddListeningPort(address + ":0", grpc::InsecureServerCredentials(), &port);
	if (how == "sync")
		builder.RegisterService(&sync);
	else if (how == "callback")
		builder.RegisterService(&callback);
	else {
		builder.RegisterService(&async);
		queue = builder.AddCompletionQueue();
	}
	server = builder.BuildAndStart();
	if (!server || !port)
		return 1;
	if (queue)
		worker = std::thread([&] {
			void *tag;
			bool is_ok;

			new AsyncGet(&async, queue.get());
			while (queue->Next(&tag, &is_ok)) {
				if (is_ok)
					static_cast<AsyncGet *>(tag)->go_on();
				else
					delete static_cast<AsyncGet *>(tag);
			}
		});
	printf("port %d\n", port);
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
	if (queue) {
		queue->Shutdown();
		worker.join();
	}
	return 0;
}

/* --- clients -------------------------------------------------------------------------------- */

static int unary(Store::Stub *stub, int count)
{
	for (int i = 0; i < count; i++) {
		grpc::ClientContext context;
		Blob answered;

		if (!stub->Get(&context, blob(100 + (size_t)i), &answered).ok() ||
		    answered.data().size() != 2 * (100 + (size_t)i))
			return 1;
	}
	return 0;
}

/* Calls of 100 bytes; says how many microseconds each took. */
static int timed(Store::Stub *stub, int count)
{
	auto begin = std::chrono::steady_clock::now();

	for (int i = 0; i < count; i++) {
		grpc::ClientContext context;
		Blob answered;

		if (!stub->Get(&context, blob(100), &answered).ok())
			return 1;
	}
	printf("%.2f\n",
	       std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
			       .count() /
		       count);
	return 0;
}

static int all_at_once(Store::Stub *stub, int count)
{
	struct Call {
		grpc::ClientContext context;
		Blob answered;
		grpc::Status status;
		std::unique_ptr<grpc::ClientAsyncResponseReader<Blob>> reader;
	};
	grpc::CompletionQueue queue;
	std::vector<Call> calls((size_t)count);
	void *tag;
	bool is_ok;

	for (int i = 0; i < count; i++) {
		calls[i].reader = stub->AsyncGet(&calls[i].context, blob(100 + (size_t)i), &queue);
		calls[i].reader->Finish(&calls[i].answered, &calls[i].status, &calls[i]);
	}
	for (int i = 0; i < count; i++)
		if (!queue.Next(&tag, &is_ok) || !static_cast<Call *>(tag)->status.ok())
			return 1;
	queue.Shutdown();
	return queue.Next(&tag, &is_ok);
}

static int called_back(Store::Stub *stub, int count)
{
	std::mutex lock;
	std::condition_variable changed;
	int n_ok = 0, n_done = 0;

	for (int i = 0; i < count; i++) {
		grpc::ClientContext context;
		Blob asked = blob(100 + (size_t)i), answered;
		std::unique_lock<std::mutex> held(lock);

		stub->async()->Get(&context, &asked, &answered, [&](grpc::Status status) {
			std::lock_guard<std::mutex> guard(lock);

			n_ok += status.ok();
			n_done++;
			changed.notify_one();
		});
		changed.wait(held, [&] { return n_done == i + 1; });
	}
	return n_ok != count;
}

static int stream(Store::Stub *stub, int count)
{
	grpc::ClientContext context;
	auto flow = stub->Flow(&context);
	Blob answered;

	for (int i = 0; i < count; i++)
		if (!flow->Write(blob(100 + (size_t)i)) || !flow->Read(&answered))
			return 1;
	flow->WritesDone();
	return !flow->Finish().ok();
}

static int fails(Store::Stub *stub)
{
	grpc::ClientContext context;
	Blob answered;

	return stub->Fail(&context, blob(100), &answered).error_code() !=
	       grpc::StatusCode::NOT_FOUND;
}

static int is_cut(Store::Stub *stub, bool is_cancelled)
{
	grpc::ClientContext context;
	Blob answered;
	std::thread canceller;
	grpc::Status status;

	if (is_cancelled)
		canceller = std::thread([&] {
			usleep(50000);
			context.TryCancel();
		});
	else
		context.set_deadline(std::chrono::system_clock::now() +
				     std::chrono::milliseconds(50));
	status = stub->Wait(&context, blob(100), &answered);
	if (canceller.joinable())
		canceller.join();
	return status.error_code() !=
	       (is_cancelled ? grpc::StatusCode::CANCELLED : grpc::StatusCode::DEADLINE_EXCEEDED);
}

static int waits(Store::Stub *stub)
{
	grpc::ClientContext context;
	Blob answered;

	return stub->Wait(&context, blob(100), &answered).ok();
}

static int nobody(Store::Stub *stub)
{
	grpc::ClientContext context;
	Blob answered;

	return stub->Get(&context, blob(100), &answered).error_code() !=
	       grpc::StatusCode::UNAVAILABLE;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	string how = argv[2], address = argv[3];
	int count = argc > 4 ? atoi(argv[4]) : 20;

	if (!strcmp(argv[1], "serve"))
		return serve(how, address);
	auto channel = grpc::CreateChannel(address, grpc::InsecureChannelCredentials());
	auto stub = Store::NewStub(channel);

	if (how == "unary")
		return unary(stub.get(), count);
	if (how == "timed")
		return timed(stub.get(), count);
	if (how == "async")
		return all_at_once(stub.get(), count);
	if (how == "callback")
		return called_back(stub.get(), count);
	if (how == "stream")
		return stream(stub.get(), count);
	if (how == "fail")
		return fails(stub.get());
	if (how == "endless")
		return waits(stub.get());
	if (how == "deadline" || how == "cancel")
		return is_cut(stub.get(), how == "cancel");
	return nobody(stub.get());
}
