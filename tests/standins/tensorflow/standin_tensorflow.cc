/* standin_tensorflow: stands in for TensorFlow's libraries: the functions by which tensors go between its devices and its processes, under
 * the names that TensorFlow's own have (probes/tensorflow/tensorflow_abi.h), with what they do with their arguments. A job calls
 * standin_run(), and what is told here is what the probe should have recorded.
 *
 * ABSEIL and IS_OLD say of which TensorFlow they are.
 *
 *     standin_run("rendezvous", 4)   senders and receivers meet, either of them first
 *     standin_run("requests", 4)     a client asks a server for tensors and for buffers
 *     standin_run("threads", 4)      the first, in four threads
 *     standin_run("race", 4)      one thread sends, another one receives, as fast as both can
 *     standin_run("names", 4)     so many tensors, each with a name of its own, twice
 *     standin_run("profile", 4)   events of its profiler begin in one thread and end in the next one
 *     standin_run("cost", 100000)  so many meet, and stderr gets what one took
 *     standin_run("strange", 4)      keys that are none, requests that are never answered, answers that are dropped, or given twice */
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#define EXPORTED __attribute__((visibility("default")))

namespace absl
{
inline namespace ABSEIL
{
class EXPORTED Status
{
      public:
	explicit Status(uintptr_t rep = 1) : rep_(rep)
	{
	}
	Status(const Status &other) : rep_(other.rep_)
	{
	}
	~Status()
	{
		rep_ = 0;
	}
	uintptr_t rep() const
	{
		return rep_;
	}

      private:
	uintptr_t rep_;
};
} // namespace ABSEIL
} // namespace absl

namespace google
{
namespace protobuf
{
class EXPORTED MessageLite
{
      public:
	virtual ~MessageLite()
	{
	}
	bool SerializeToArray(void *data, int size) const;

      protected:
	std::string wire_;
};

bool MessageLite::SerializeToArray(void *data, int size) const
{
	if ((size_t)size < wire_.size())
		return false;
	memcpy(data, wire_.data(), wire_.size());
	return true;
}
} // namespace protobuf
} // namespace google

namespace tsl
{
class CallOptions
{
};

namespace profiler
{
/* Its queues are copied where their vector grows, and those who end are found where they were before, as in TensorFlow. */
class EXPORTED TraceMeRecorder
{
      public:
	struct Event {
		std::string name;
		int64_t start_time;
		int64_t end_time;
	};
	struct ThreadEvents {
		uint32_t thread;
		std::deque<Event> events;
	};

	static void Record(Event &&event);
#ifdef IS_OLD
	std::vector<ThreadEvents> StopRecording();
#else
	static std::vector<ThreadEvents> Stop();
#endif

      private:
	static std::mutex lock;
	static std::map<std::thread::id, std::deque<Event>> recorded;
	static bool merge(std::map<int64_t, Event> *started, Event *event);
};

std::mutex TraceMeRecorder::lock;
std::map<std::thread::id, std::deque<TraceMeRecorder::Event>> TraceMeRecorder::recorded;

void TraceMeRecorder::Record(Event &&event)
{
	std::lock_guard<std::mutex> guard(lock);

	recorded[std::this_thread::get_id()].push_back(std::move(event));
}

bool TraceMeRecorder::merge(std::map<int64_t, Event> *started, Event *event)
{
	auto found = started->find(-event->start_time);

	if (found == started->end())
		return false;
	event->name = std::move(found->second.name);
	event->start_time = found->second.start_time;
	started->erase(found);
	return true;
}

#ifdef IS_OLD
std::vector<TraceMeRecorder::ThreadEvents> TraceMeRecorder::StopRecording()
#else
std::vector<TraceMeRecorder::ThreadEvents> TraceMeRecorder::Stop()
#endif
{
	std::lock_guard<std::mutex> guard(lock);
	std::vector<ThreadEvents> result;
	std::map<int64_t, Event> started;
	std::vector<Event *> ended;

	for (auto &thread : recorded) {
		std::deque<Event> events;

		for (Event &event : thread.second) {
			if (event.end_time < 0) {
				started.emplace(-event.end_time, std::move(event));
				continue;
			}
			events.push_back(std::move(event));
			if (events.back().start_time < 0 && !merge(&started, &events.back()))
				ended.push_back(&events.back());
		}
		result.push_back({ (uint32_t)result.size(), std::move(events) });
	}
	for (Event *event : ended)
		merge(&started, event);
	recorded.clear();
	return result;
}
} // namespace profiler
} // namespace tsl

namespace grpc
{
class ByteBuffer
{
};
} // namespace grpc

namespace tensorflow
{
using absl::Status;
#ifdef IS_OLD
using Encoded = void;
#else
using Encoded = Status;
#endif
using StatusCallback = std::function<void(const Status &)>;

class EXPORTED Tensor
{
      public:
	explicit Tensor(size_t bytes) : bytes_(bytes)
	{
	}
	size_t TotalBytes() const;

      private:
	size_t bytes_;
};

size_t Tensor::TotalBytes() const
{
	return bytes_;
}

class RendezvousInterface
{
      public:
	struct Args {
		void *device_context = nullptr;
	};

	class ParsedKey
	{
	      public:
		std::string_view src_device;
		uint64_t src_incarnation = 0;
		std::string_view edge_name;

		explicit ParsedKey(std::string text) : buf_(std::move(text))
		{
			src_device = std::string_view(buf_).substr(0, buf_.find(';'));
		}
		ParsedKey(const ParsedKey &) = delete;
		const std::string &FullKey() const
		{
			return buf_;
		}

	      private:
		std::string buf_;
	};

	using DoneCallback = std::function<void(const Status &, const Args &, const Args &,
						const Tensor &, const bool)>;
};

class EXPORTED LocalRendezvous
{
      public:
	Status Send(const RendezvousInterface::ParsedKey &key,
		    const RendezvousInterface::Args &args, const Tensor &tensor, bool is_dead);
	void RecvAsync(const RendezvousInterface::ParsedKey &key,
		       const RendezvousInterface::Args &args,
		       RendezvousInterface::DoneCallback done);

      private:
	std::mutex lock_;
	std::map<std::string, std::vector<Tensor>> sent_;
	std::map<std::string, std::vector<RendezvousInterface::DoneCallback>> wanted_;
};

Status LocalRendezvous::Send(const RendezvousInterface::ParsedKey &key,
			     const RendezvousInterface::Args &args, const Tensor &tensor,
			     bool is_dead)
{
	RendezvousInterface::DoneCallback done;
	{
		std::lock_guard<std::mutex> guard(lock_);
		auto &waiting = wanted_[key.FullKey()];

		if (waiting.empty()) {
			sent_[key.FullKey()].push_back(tensor);
			return Status(41);
		}
		done = std::move(waiting.back());
		waiting.pop_back();
	}
	done(Status(), args, args, tensor, is_dead);
	return Status(42);
}

void LocalRendezvous::RecvAsync(const RendezvousInterface::ParsedKey &key,
				const RendezvousInterface::Args &args,
				RendezvousInterface::DoneCallback done)
{
	std::unique_lock<std::mutex> guard(lock_);
	auto &sent = sent_[key.FullKey()];

	if (sent.empty()) {
		wanted_[key.FullKey()].push_back(std::move(done));
		return;
	}
	Tensor tensor = sent.back();
	sent.pop_back();
	guard.unlock();
	done(Status(), args, args, tensor, false);
}

/* A message with what its fields have: numbers, and texts. */
class Request : public google::protobuf::MessageLite
{
      public:
	void add(uint32_t field, uint64_t number)
	{
		add_number(field << 3);
		add_number(number);
	}
	void add(uint32_t field, const std::string &text)
	{
		add_number(field << 3 | 2);
		add_number(text.size());
		wire_ += text;
	}

      private:
	void add_number(uint64_t number)
	{
		for (; number > 127; number >>= 7)
			wire_.push_back((char)(number | 128));
		wire_.push_back((char)number);
	}
};

class RecvTensorRequest : public Request
{
};
class RecvBufRequest : public Request
{
};
class TensorResponse
{
};
class RecvBufResponse
{
};

namespace grpc
{
/* The name is the same whatever is returned. */
EXPORTED Encoded EncodeTensorToByteBuffer(bool is_dead, const Tensor &tensor, bool needs_ack,
					  ::grpc::ByteBuffer *result)
{
	(void)is_dead, (void)needs_ack, (void)result;
	if (tensor.TotalBytes() > 1000000)
		throw std::
			bad_function_call(); /* what TensorFlow throws passes through the probe */
	return Encoded();
}
} // namespace grpc

class EXPORTED GrpcWorker
{
      public:
	virtual ~GrpcWorker()
	{
	}
	virtual void GrpcRecvTensorAsync(tsl::CallOptions *opts, const RecvTensorRequest *request,
					 ::grpc::ByteBuffer *response, StatusCallback done);
	virtual void RecvBufAsync(tsl::CallOptions *opts, const RecvBufRequest *request,
				  RecvBufResponse *response, StatusCallback done);
};

void GrpcWorker::GrpcRecvTensorAsync(tsl::CallOptions *, const RecvTensorRequest *,
				     ::grpc::ByteBuffer *response, StatusCallback done)
{
	std::thread([response, done]() {
		usleep(2000);
		grpc::EncodeTensorToByteBuffer(false, Tensor(4096), false, response);
		done(Status());
	}).join();
}

void GrpcWorker::RecvBufAsync(tsl::CallOptions *, const RecvBufRequest *, RecvBufResponse *,
			      StatusCallback done)
{
	usleep(1000);
	done(Status());
}

class EXPORTED GrpcRemoteWorker
{
      public:
	virtual ~GrpcRemoteWorker()
	{
	}
	virtual void RecvTensorAsync(tsl::CallOptions *opts, const RecvTensorRequest *request,
				     TensorResponse *response, StatusCallback done);
	virtual void RecvBufAsync(tsl::CallOptions *opts, const RecvBufRequest *request,
				  RecvBufResponse *response, StatusCallback done);
	GrpcWorker *server = nullptr;
	int how_answered = 1; /* so many times */
};

void GrpcRemoteWorker::RecvTensorAsync(tsl::CallOptions *opts, const RecvTensorRequest *request,
				       TensorResponse *, StatusCallback done)
{
	if (how_answered != 1) {
		StatusCallback copy = done, another = copy;

		for (int i = 0; i < how_answered; i++)
			copy(Status(i));
		return;
	}
	usleep(500);
	server->GrpcRecvTensorAsync(opts, request, nullptr, [done](const Status &status) {
		usleep(500);
		done(status);
	});
}

void GrpcRemoteWorker::RecvBufAsync(tsl::CallOptions *opts, const RecvBufRequest *request,
				    RecvBufResponse *response, StatusCallback done)
{
	server->RecvBufAsync(opts, request, response, done);
}
} // namespace tensorflow

using namespace tensorflow;

static const RendezvousInterface::Args no_args;
static int failed;

static void wrong(const char *what)
{
	fprintf(stderr, "standin_tensorflow: %s\n", what);
	failed = 1;
}

static std::string key_of(const std::string &tensor)
{
	return "/job:worker/replica:0/task:0/device:CPU:0;00000000000000aa;/job:worker/replica:0/"
	       "task:0/device:CPU:1;" +
	       tensor + ";0:0";
}

static void meet(LocalRendezvous &rendezvous, const std::string &tensor, bool is_sender_first)
{
	RendezvousInterface::ParsedKey key(key_of(tensor));
	size_t got = 0;
	auto receive = [&]() {
		rendezvous.RecvAsync(
			key, no_args,
			[&got](const Status &status, const RendezvousInterface::Args &,
			       const RendezvousInterface::Args &, const Tensor &tensor_got,
			       bool) { got = status.rep() == 1 ? tensor_got.TotalBytes() : 0; });
	};
	auto send = [&](uintptr_t expected) {
		if (rendezvous.Send(key, no_args, Tensor(1024), false).rep() != expected)
			wrong("Send: another status came back");
	};

	if (is_sender_first)
		send(41);
	else
		receive();
	usleep(3000);
	if (is_sender_first)
		receive();
	else
		send(42);
	if (got != 1024)
		wrong("a tensor did not arrive");
}

static void run_rendezvous(int n)
{
	LocalRendezvous rendezvous;

	for (int i = 0; i < n; i++)
		meet(rendezvous, i % 2 ? "edge_1_late_consumer" : "edge_2_late_producer", i % 2);
}

static void run_race(int n)
{
	static const std::string iterations = "/job:a;0;/job:b;edge_6_race;0:";
	LocalRendezvous rendezvous;
	int n_received = 0; /* under the rendezvous' own order: each is done once */
	std::mutex lock;
	std::thread sender([&]() {
		for (int i = 0; i < n; i++)
			rendezvous.Send(
				RendezvousInterface::ParsedKey(iterations + std::to_string(i)),
				no_args, Tensor(8), false);
	});

	for (int i = 0; i < n; i++)
		rendezvous.RecvAsync(RendezvousInterface::ParsedKey(iterations + std::to_string(i)),
				     no_args,
				     [&](const Status &, const RendezvousInterface::Args &,
					 const RendezvousInterface::Args &, const Tensor &, bool) {
					     std::lock_guard<std::mutex> guard(lock);

					     n_received++;
				     });
	sender.join();
	if (n_received != n)
		wrong("a tensor did not arrive");
}

static void run_names(int n)
{
	LocalRendezvous rendezvous;

	for (int i = 0; i < 2 * n; i++) {
		RendezvousInterface::ParsedKey key(
			key_of("edge_" + std::to_string(i % n) + "_names"));

		rendezvous.Send(key, no_args, Tensor(8), false);
		rendezvous.RecvAsync(key, no_args,
				     [](const Status &, const RendezvousInterface::Args &,
					const RendezvousInterface::Args &, const Tensor &,
					bool) {});
	}
}

using tsl::profiler::TraceMeRecorder;

static std::vector<TraceMeRecorder::ThreadEvents> stop_profiler()
{
#ifdef IS_OLD
	return TraceMeRecorder().StopRecording();
#else
	return TraceMeRecorder::Stop();
#endif
}

static const char *const activities[] = { "short",
					  "one whose name is too long for the string itself" };

static void begin_activity(int64_t id)
{
	TraceMeRecorder::Record({ activities[id % 2], 1000 + id, -id });
}

static void end_activity(int64_t id)
{
	TraceMeRecorder::Record({ std::string(), -id, 2000 + id });
}

/* How many of the events are as they should be; none that is not whole, nor another one. */
static int count_whole(const std::vector<TraceMeRecorder::ThreadEvents> &threads)
{
	int n = 0;

	for (const auto &thread : threads)
		for (const auto &event : thread.events) {
			int64_t id = event.start_time - 1000;

			if (id <= 0 || event.end_time != 2000 + id ||
			    event.name != activities[id % 2])
				wrong("an event of the profiler is not whole");
			n++;
		}
	return n;
}

static void run_profile(int n)
{
	enum { N_THREADS = 20, STRIDE = 1000 };
	int64_t last = N_THREADS * STRIDE;
	std::vector<std::thread> threads;

	/* one after the other, each ends what the one before has begun */
	for (int64_t t = 1; t <= N_THREADS; t++) {
		std::thread thread([t, n] {
			for (int i = 1; i <= n; i++) {
				if (t > 1)
					end_activity((t - 1) * STRIDE + i);
				begin_activity(t * STRIDE + i);
				TraceMeRecorder::Record({ activities[i % 2], 1000 + i, 2000 + i });
			}
		});
		thread.join();
	}
	end_activity(999999); /* that had begun before */
	if (count_whole(stop_profiler()) != (2 * N_THREADS - 1) * n)
		wrong("events of the profiler are missing");
	for (int i = 1; i <= n; i++)
		end_activity(last + i);
	if (count_whole(stop_profiler()) != 0)
		wrong("what had begun before the profiler was stopped is in the next profile");
	/* all at once */
	for (int64_t t = 1; t <= 4; t++)
		threads.emplace_back([t, n] {
			for (int i = 1; i <= n; i++) {
				begin_activity(t * STRIDE + i);
				end_activity(t * STRIDE + i);
			}
		});
	for (std::thread &thread : threads)
		thread.join();
	if (count_whole(stop_profiler()) != 4 * n)
		wrong("events of the profiler are missing");
}

static void run_cost(int n)
{
	LocalRendezvous rendezvous;
	RendezvousInterface::ParsedKey key(key_of("edge_5_cost"));
	struct timespec begin, end;
	auto done = [](const Status &, const RendezvousInterface::Args &,
		       const RendezvousInterface::Args &, const Tensor &, bool) {};

	clock_gettime(CLOCK_MONOTONIC, &begin);
	for (int i = 0; i < n; i++) {
		rendezvous.Send(key, no_args, Tensor(8), false);
		rendezvous.RecvAsync(key, no_args, done);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	fprintf(stderr, "%.1f ns for two to meet\n",
		((double)(end.tv_sec - begin.tv_sec) * 1e9 +
		 (double)(end.tv_nsec - begin.tv_nsec)) /
			n);
}

static void run_requests(int n)
{
	GrpcWorker server;
	GrpcRemoteWorker client;
	tsl::CallOptions options;
	TensorResponse tensor;
	RecvBufResponse buffer;
	int n_done = 0;
	auto done = [&n_done](const Status &status) { n_done += status.rep() == 1; };

	client.server = &server;
	for (int i = 0; i < n; i++) {
		RecvTensorRequest ask;
		RecvBufRequest ask_buffer;

		ask.add(1, (uint64_t)i);
		ask.add(2, key_of("edge_3_weights"));
		ask.add(4, std::string("locality"));
		ask.add(7, UINT64_C(0x8123456789abcd00) + (uint64_t)i);
		client.RecvTensorAsync(&options, &ask, &tensor, done);
		ask_buffer.add(2, std::string("a key of this step"));
		ask_buffer.add(3, 65536);
		ask_buffer.add(10, UINT64_C(77700) + (uint64_t)i);
		client.RecvBufAsync(&options, &ask_buffer, &buffer, done);
	}
	if (n_done != 2 * n)
		wrong("a request was not answered");
}

static void count(int *n)
{
	++*n;
}

static void run_strange(int n)
{
	LocalRendezvous rendezvous;
	GrpcWorker server;
	GrpcRemoteWorker client;
	tsl::CallOptions options;
	TensorResponse response;
	int n_done = 0;

	for (const std::string &text :
	     { std::string(""), std::string("no key"), std::string(";;;;"),
	       "a;b;c;" + std::string(100000, 'x') + ";0:0" }) {
		RendezvousInterface::ParsedKey key(text);

		rendezvous.Send(key, no_args, Tensor(8), true);
	}
	client.server = &server;
	for (int answered : { 0, 2 }) {
		client.how_answered = answered;
		for (int i = 0; i < n; i++) {
			RecvTensorRequest ask;

			ask.add(2, i % 2 ? key_of("edge_4_strange") : std::string(5000, 'y'));
			client.RecvTensorAsync(&options, &ask, &response,
					       [&n_done](const Status &) { n_done++; });
			client.RecvTensorAsync(&options, &ask, &response,
					       std::bind(count, &n_done));
		}
	}
	if (n_done != 4 * n)
		wrong("answers are not handed on as they came");
	try {
		tensorflow::grpc::EncodeTensorToByteBuffer(false, Tensor(2000000), false, nullptr);
		wrong("an exception was lost");
	} catch (const std::bad_function_call &) {
	}
}

/* How many things went wrong. */
extern "C" EXPORTED int standin_run(const char *how, int n)
{
	std::vector<std::thread> threads;

	if (strcmp(how, "rendezvous") == 0)
		run_rendezvous(n);
	else if (strcmp(how, "requests") == 0)
		run_requests(n);
	else if (strcmp(how, "race") == 0)
		run_race(n);
	else if (strcmp(how, "names") == 0)
		run_names(n);
	else if (strcmp(how, "profile") == 0)
		run_profile(n);
	else if (strcmp(how, "cost") == 0)
		run_cost(n);
	else if (strcmp(how, "strange") == 0)
		run_strange(n);
	else if (strcmp(how, "threads") == 0)
		for (int i = 0; i < 4; i++)
			threads.emplace_back(run_rendezvous, n);
	else
		return 1;
	for (std::thread &thread : threads)
		thread.join();
	return failed;
}
