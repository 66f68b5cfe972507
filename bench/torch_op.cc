/* torch_op: what the torch probe costs an operation, beside an empty RecordFunction callback that
 * asks for the same (inputs and outputs), and beside none. Batches of the three alternate in one
 * process; the medians are printed. Run by torch_op.sh with the agent preloaded, so that the records
 * are written into files as in a job.
 *
 * An operation here is the RecordFunction part of the dispatcher alone: `n` tensor inputs of two
 * dimensions boxed, one output, no kernel. The first argument says what is measured: "compiled" (that probe), "asked"
 * or "unasked" (the plain probe in steps in which it asks for tensors, or does not). With "count" as second argument,
 * operations are only run, for callgrind to count their instructions. */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/record_function.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_DUMP_STATS
#endif

namespace
{

constexpr int N_BATCHES = 301;
constexpr int N_EVENTS = 1000; /* a batch: less than the memory that stands ready */

enum variant { NOTHING, EMPTY, PROBE, N_VARIANTS };

double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

std::unique_ptr<at::ObserverContext> empty_begin(const at::RecordFunction &)
{
	return nullptr;
}

void empty_end(const at::RecordFunction &, at::ObserverContext *)
{
}

template <int n_inputs> void run_op(const c10::FunctionSchema &schema, const at::Tensor &tensor)
{
	auto callbacks = at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION);

	if (!callbacks.has_value())
		return;
	at::RecordFunction guard(std::move(*callbacks));
	{
		std::array<c10::IValue, n_inputs> inputs;

		inputs.fill(tensor);
		guard.before(std::cref(schema),
			     c10::ArrayRef<const c10::IValue>(inputs.data(), n_inputs), -1);
	}
	if (guard.needsOutputs()) {
		std::vector<c10::IValue> outputs;

		outputs.emplace_back(tensor);
		guard.setOutputs(std::move(outputs));
	}
}

double median(std::vector<double> &values)
{
	std::nth_element(values.begin(), values.begin() + (long)values.size() / 2, values.end());
	return values[values.size() / 2];
}

/* The probe's callbacks for operations have been added before ours: by the compiled probe one, by the plain one that which asks for
 * tensors, that which does not, and one for regions. */
constexpr int MAX_BEFORE = 3;
int n_before; /* how long before ours the one that is measured was */

void select(enum variant variant, at::CallbackHandle empty)
{
	for (int before = 0; before <= MAX_BEFORE && empty > (at::CallbackHandle)before; before++) {
		at::CallbackHandle handle = empty - (at::CallbackHandle)before;

		if ((variant == EMPTY && before == 0) || (variant == PROBE && before == n_before))
			at::reenableCallback(handle);
		else
			at::disableCallback(handle);
	}
}

/* How long before ours the callback was added that the word means; 0: none. */
int before_of(const char *word)
{
	if (strcmp(word, "compiled") == 0)
		return 1;
	if (strcmp(word, "unasked") == 0)
		return 2;
	return strcmp(word, "asked") == 0 ? 3 : 0;
}

template <int n_inputs> void measure(const c10::FunctionSchema &schema, at::CallbackHandle empty)
{
	at::Tensor tensor = at::zeros({ 4, 4 });
	std::vector<double> times[N_VARIANTS];
	struct timespec pause = { 0, 1000000 };

	for (int batch = 0; batch < N_BATCHES * N_VARIANTS; batch++) {
		enum variant variant = (enum variant)(batch % N_VARIANTS);
		double start;

		select(variant, empty);
		nanosleep(&pause, NULL); /* the agent makes the next memory ready */
		for (int i = 0; i < 50; i++)
			run_op<n_inputs>(schema, tensor);
		start = now_ns();
		for (int i = 0; i < N_EVENTS; i++)
			run_op<n_inputs>(schema, tensor);
		times[variant].push_back((now_ns() - start) / N_EVENTS);
	}
	double nothing = median(times[NOTHING]), empty_ns = median(times[EMPTY]);
	double probe = median(times[PROBE]);

	printf("%6d %12.1f %12.1f %12.1f %12.1f\n", n_inputs, nothing, empty_ns, probe,
	       probe - empty_ns);
}

template <int n_inputs> void count_ops(const c10::FunctionSchema &schema, const at::Tensor &tensor)
{
	for (int i = 0; i < N_EVENTS; i++)
		run_op<n_inputs>(schema, tensor);
}

void count(const c10::FunctionSchema &schema, at::CallbackHandle empty)
{
	at::Tensor tensor = at::zeros({ 4, 4 });

	select(PROBE, empty);
	run_op<1>(schema, tensor); /* the name's first time is another matter */
	CALLGRIND_START_INSTRUMENTATION;
	count_ops<1>(schema, tensor);
	CALLGRIND_DUMP_STATS;
	count_ops<3>(schema, tensor);
	CALLGRIND_DUMP_STATS;
	count_ops<6>(schema, tensor);
	CALLGRIND_DUMP_STATS;
}

} // namespace

int main(int argc, char **argv)
{
	auto op = c10::Dispatcher::singleton().findSchema({ "aten::addcmul", "" });
	at::CallbackHandle empty;

	if (!op.has_value())
		return 1;
	empty = at::addGlobalCallback(at::RecordFunctionCallback(empty_begin, empty_end)
					      .needsInputs(true)
					      .needsOutputs(true));
	n_before = argc > 1 ? before_of(argv[1]) : 0;
	if (n_before == 0 || empty <= (at::CallbackHandle)n_before) {
		fprintf(stderr,
			"torch_op: say compiled, asked or unasked; or the probe is not there\n");
		return 1;
	}
	if (argc > 2 && strcmp(argv[2], "count") == 0) {
		count(op->schema(), empty);
		return 0;
	}
	printf("ns an operation, medians of %d batches of %d\n", N_BATCHES, N_EVENTS);
	printf("inputs  no callback  empty one    tacho's    above empty\n");
	measure<1>(op->schema(), empty);
	measure<3>(op->schema(), empty);
	measure<6>(op->schema(), empty);
	return 0;
}
