/* stand_in: a libtorch_cpu.so of our own, with the names that the plain torch probe looks for, for machines and layouts that no
 * PyTorch is at hand for. It does what PyTorch's RecordFunction does, in as few lines.
 *
 * STAND_IN_SURPRISE: which member is not where it is in PyTorch: 0 none; the probe must refuse all others. */
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#ifndef STAND_IN_SURPRISE
#define STAND_IN_SURPRISE 0
#endif
#define NAME		    1
#define SEQUENCE	    2
#define INPUTS		    3
#define FORWARD_THREAD	    4
#define SIZES		    5
#define DEVICE		    6
#define TAG		    7
#define IS_SURPRISE(member) (STAND_IN_SURPRISE == (member))

namespace c10
{
enum class ScalarType : int8_t { Short = 2, Double = 7, BFloat16 = 15 };
template <typename T> struct ArrayRef {
	const T *data;
	size_t n;
};
using Sizes = ArrayRef<int64_t>;
struct FunctionSchema {
	const char *name;
};

struct Storage {
	virtual ~Storage() = default;
	uint64_t counts = 1;
	void *data = nullptr;
};

struct TensorImpl {
	virtual ~TensorImpl() = default;
	uint64_t counts = 1;
	Storage *storage = nullptr;
	void *metas[5] = {};
#if IS_SURPRISE(SIZES)
	uint32_t n_dims = 0; /* of half the size, so that nothing else moves */
	uint32_t reserved = 7;
#else
	uint64_t n_dims = 0;
#endif
	union {
		int64_t *out_of_line;
		int64_t in_line[10];
	};
	int64_t offset = 0, n_elements = 0;
	uint16_t dtype = 0;
	int8_t device = 0, device_index = -1;
	bool has_device = true;
	uint8_t bits[3] = { 0x41, 0x01, 0 };
	uint64_t keys = 0;
};

struct UndefinedTensorImpl : TensorImpl {
	static UndefinedTensorImpl _singleton;
};
__attribute__((visibility("default"))) UndefinedTensorImpl UndefinedTensorImpl::_singleton;

struct Type {
	int kind = 1;
};
struct __attribute__((visibility("default"))) TensorType : Type {
	static const std::shared_ptr<TensorType> &get();
};
const std::shared_ptr<TensorType> &TensorType::get()
{
	static std::shared_ptr<TensorType> type = std::make_shared<TensorType>();

	return type;
}

constexpr uint32_t LIST_TAG = 14;
constexpr uint32_t TENSOR_TAG = IS_SURPRISE(TAG) ? 2 : 1;

struct List {
	void *methods;
	uint64_t counts;
	std::vector<char> elements;
	Type *type;
	void *is_shared;
};

struct __attribute__((visibility("default"))) IValue {
	void *payload = nullptr;
	uint32_t tag = 0;
	bool isTensorList() const;
};
bool IValue::isTensorList() const
{
	return tag == LIST_TAG && ((List *)payload)->type->kind == TensorType::get()->kind;
}
} // namespace c10

namespace at
{
#define EXPORT __attribute__((visibility("default")))
enum class RecordScope : uint8_t {};
struct RecordFunction;
struct ObserverContext {
	virtual ~ObserverContext() = default;
};
struct RecordFunctionCallback {
	std::unique_ptr<ObserverContext> (*start)(const RecordFunction &);
	void (*end)(const RecordFunction &, ObserverContext *);
	double probability;
	bool scopes[10];
	bool needs_inputs, needs_outputs, needs_ids;
};

struct Registered {
	RecordFunctionCallback callback;
	uint64_t handle;
	bool is_enabled, is_local;
};
static std::vector<Registered> registered;
static bool is_enabled = true;

static uint64_t add(const RecordFunctionCallback &callback, bool is_local)
{
	static uint64_t last;

	registered.push_back({ callback, ++last, true, is_local });
	return last;
}
EXPORT uint64_t addGlobalCallback(RecordFunctionCallback callback)
{
	return add(callback, false);
}
EXPORT uint64_t addThreadLocalCallback(RecordFunctionCallback callback)
{
	return add(callback, true);
}
EXPORT void removeCallback(uint64_t handle)
{
	for (size_t i = 0; i < registered.size(); i++)
		if (registered[i].handle == handle)
			registered.erase(registered.begin() + (long)i);
}
static void enable(uint64_t handle, bool is_enabled_now)
{
	for (Registered &one : registered)
		if (one.handle == handle)
			one.is_enabled = is_enabled_now;
}
EXPORT void disableCallback(uint64_t handle)
{
	enable(handle, false);
}
EXPORT void reenableCallback(uint64_t handle)
{
	enable(handle, true);
}
EXPORT void enableRecordFunction(bool enable)
{
	is_enabled = enable;
}
EXPORT bool isRecordFunctionEnabled()
{
	return is_enabled;
}

struct Pair {
	std::unique_ptr<ObserverContext> (*start)(const RecordFunction &);
	void (*end)(const RecordFunction &, ObserverContext *);
};

struct EXPORT RecordFunction {
	using Schema = std::reference_wrapper<const c10::FunctionSchema>;
	using Descriptor = std::variant<std::string_view, Schema>;

	explicit RecordFunction(RecordScope scope);
	virtual ~RecordFunction();
	void before(Descriptor descriptor, int64_t sequence);
	void _setAsync();
	bool isAsync() const;
	const char *name() const;
	size_t num_inputs() const;
	size_t num_outputs() const;
	static uint64_t currentThreadId();

	struct {
		void *begin;
		uint32_t n, capacity;
		Pair pairs[4];
	} callbacks = { nullptr, 0, 4, {} };
	uint64_t thread_id = 1;
	RecordScope scope;
	bool needs_inputs = false, needs_outputs = false, needs_ids = false;
	bool was_begun = false;
	struct {
		void *begin;
		uint32_t n, capacity;
		std::unique_ptr<ObserverContext> contexts[4];
	} contexts = {};
	std::variant<std::string, Schema> function;
#if IS_SURPRISE(SEQUENCE)
	int32_t sequence = -1;
#else
	int64_t sequence = -1;
#endif
#if IS_SURPRISE(INPUTS)
	size_t n_inputs = 0;
	const c10::IValue *inputs = nullptr;
#else
	const c10::IValue *inputs = nullptr;
	size_t n_inputs = 0;
#endif
	std::unordered_map<std::string, c10::IValue> named;
	std::vector<c10::IValue> outputs;
	uint64_t forward_thread = IS_SURPRISE(FORWARD_THREAD) ? 77 : 0;
	uint64_t handle = 0;
	bool is_async = false;
	int64_t debug_handle = -1;
};

RecordFunction::RecordFunction(RecordScope scope_) : scope(scope_)
{
	for (const Registered &one : registered) {
		if (!is_enabled || !one.is_enabled || !one.callback.scopes[(int)scope])
			continue;
		callbacks.pairs[callbacks.n++] = { one.callback.start, one.callback.end };
		needs_inputs |= one.callback.needs_inputs;
		needs_outputs |= one.callback.needs_outputs;
		needs_ids |= one.callback.needs_ids;
	}
	handle = needs_ids ? 42 : 0;
}

RecordFunction::~RecordFunction()
{
	for (uint32_t i = 0; was_begun && i < callbacks.n; i++)
		callbacks.pairs[i].end(*this, contexts.contexts[i].get());
}

void RecordFunction::before(Descriptor descriptor, int64_t sequence_)
{
	if (descriptor.index() == 0)
		function = std::string(std::get<0>(descriptor));
	else
		function = std::get<1>(descriptor);
	sequence = (decltype(sequence))sequence_;
	was_begun = true;
	for (uint32_t i = 0; i < callbacks.n; i++)
		contexts.contexts[i] = callbacks.pairs[i].start(*this);
}

void RecordFunction::_setAsync()
{
	is_async = true;
}
bool RecordFunction::isAsync() const
{
	return is_async;
}
const char *RecordFunction::name() const
{
	if (function.index() == 1)
		return std::get<1>(function).get().name;
	return IS_SURPRISE(NAME) ? "something else" : std::get<0>(function).c_str();
}
size_t RecordFunction::num_inputs() const
{
	return n_inputs;
}
size_t RecordFunction::num_outputs() const
{
	return outputs.size();
}
uint64_t RecordFunction::currentThreadId()
{
	return 1;
}

struct TensorBase {
	c10::TensorImpl *impl;

	~TensorBase() = default;
	TensorBase(c10::TensorImpl *impl_) : impl(impl_)
	{
	}
	TensorBase(const TensorBase &other) : impl(other.impl)
	{
	}
	template <typename T> T *data_ptr() const
	{
		return (T *)impl->storage->data;
	}
};
struct Tensor : TensorBase {
	using TensorBase::TensorBase;
};
template EXPORT double *TensorBase::data_ptr<double>() const;

static TensorBase make(c10::Sizes sizes, c10::Sizes strides, c10::ScalarType type, int8_t device)
{
	c10::TensorImpl *impl = new c10::TensorImpl();
	int64_t *values = impl->in_line;
	size_t room = 5;

	if (sizes.n > room) {
		room = sizes.n;
		values = impl->out_of_line = new int64_t[2 * room];
	}
	impl->n_dims = (decltype(impl->n_dims))sizes.n;
	memcpy(values, sizes.data, sizes.n * sizeof(*values));
	memcpy(values + room, strides.data, strides.n * sizeof(*values));
	impl->n_elements = 1;
	for (size_t i = 0; i < sizes.n; i++)
		impl->n_elements *= sizes.data[i];
	impl->dtype = (uint16_t)type;
	impl->device = IS_SURPRISE(DEVICE) ? 3 : device;
	impl->storage = new c10::Storage();
	if (!device)
		impl->storage->data = new char[(size_t)impl->n_elements * 8];
	return TensorBase(impl);
}

namespace detail
{
EXPORT TensorBase empty_strided_cpu(c10::ArrayRef<int64_t> sizes, c10::ArrayRef<int64_t> strides,
				    c10::ScalarType type, bool)
{
	return make(sizes, strides, type, 0);
}
EXPORT TensorBase empty_strided_meta(c10::ArrayRef<int64_t> sizes, c10::ArrayRef<int64_t> strides,
				     c10::ScalarType type)
{
	return make(sizes, strides, type, 14);
}
} // namespace detail

/* An operation with one tensor, as the dispatcher calls its observers. */
static void run_operation(const char *name, Tensor &tensor)
{
	const c10::FunctionSchema schema = { name };
	RecordFunction function((RecordScope)0);
	c10::IValue value;

	value.payload = tensor.impl;
	value.tag = c10::TENSOR_TAG;
	if (!function.callbacks.n)
		return;
	if (function.needs_inputs) {
		function.inputs = &value;
		function.n_inputs = 1;
	}
	function.before(std::cref(schema), 5);
	if (function.needs_outputs)
		function.outputs.push_back(value);
}

namespace _ops
{
struct EXPORT zero_ {
	static Tensor &call(Tensor &tensor);
};
Tensor &zero_::call(Tensor &tensor)
{
	run_operation("aten::zero_", tensor);
	return tensor;
}
} // namespace _ops
} // namespace at

/* For the job: an operation on a tensor of 2 x 3 bfloat16, in a region. */
extern "C" EXPORT void stand_in_run(void);
extern "C" EXPORT void stand_in_run(void)
{
	static const int64_t sizes[] = { 2, 3 }, strides[] = { 3, 1 };
	at::TensorBase base = at::detail::empty_strided_cpu({ sizes, 2 }, { strides, 2 },
							    c10::ScalarType::BFloat16, false);
	at::Tensor tensor(base.impl);
	at::RecordFunction region((at::RecordScope)7);

	if (region.callbacks.n)
		region.before(std::string_view("my region"), -1);
	at::run_operation("aten::stand_in", tensor);
}
