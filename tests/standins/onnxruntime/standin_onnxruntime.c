/* standin_onnxruntime: libonnxruntime.so as far as the probe and tests use it: a table of functions whose places are those of ONNX
 * Runtime's, a model that adds 1 to what it is given, and what can go wrong:
 *
 *   a model called "missing" cannot be loaded; a run whose input is called "bad" fails; a value that is no tensor has no shape;
 *   versions above VERSION have no table; sessions cannot be created with profiling where STANDIN_REFUSES_PROFILING is set.
 *
 * standin_live() is how many of its objects are not given back. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef MAJOR
#define MAJOR 1
#endif
#define VERSION	   17
#define MAX_DIMS   8
#define TEXT(x)	   TEXT_OF(x)
#define TEXT_OF(x) #x
#define SHOWN	   __attribute__((visibility("default")))

struct status {
	char message[64];
};
struct options {
	char prefix[1024]; /* "": no profiling */
};
struct session {
	char name[64];
	char profile[1100];
	uint64_t begin_ns;
	uint32_t n_runs; /* atomic */
};
struct value {
	int type, element;
	size_t n_dims;
	int64_t dims[MAX_DIMS];
	float *data;
	int owns_data;
};

SHOWN long standin_live(void);
static long n_live; /* atomic */

long standin_live(void)
{
	return __atomic_load_n(&n_live, __ATOMIC_SEQ_CST);
}

static void *make(size_t bytes)
{
	void *made = calloc(1, bytes);

	if (!made)
		abort();
	__atomic_add_fetch(&n_live, 1, __ATOMIC_SEQ_CST);
	return made;
}

static void release(void *object)
{
	if (object)
		__atomic_sub_fetch(&n_live, 1, __ATOMIC_SEQ_CST);
	free(object);
}

static struct status *fail(const char *message)
{
	struct status *status = make(sizeof(*status));

	snprintf(status->message, sizeof(status->message), "%s", message);
	return status;
}

static struct status *not_there(void)
{
	return fail("this entry is not implemented");
}

static const char *error_message(const struct status *status)
{
	return status->message;
}

static struct status *create_env(int level, const char *id, void **ret_env)
{
	(void)level;
	(void)id;
	*ret_env = make(1);
	return NULL;
}

/* --- options and sessions ------------------------------------------------------------------- */

static struct status *create_options(struct options **ret_options)
{
	*ret_options = make(sizeof(**ret_options));
	return NULL;
}

static struct status *clone_options(const struct options *options, struct options **ret_options)
{
	*ret_options = make(sizeof(**ret_options));
	**ret_options = *options;
	return NULL;
}

static struct status *enable_profiling(struct options *options, const char *prefix)
{
	snprintf(options->prefix, sizeof(options->prefix), "%s", prefix);
	return NULL;
}

static struct status *disable_profiling(struct options *options)
{
	options->prefix[0] = '\0';
	return NULL;
}

static struct status *create(const char *name, const struct options *options, struct session **ret)
{
	struct timespec now;
	struct session *session;

	*ret = NULL;
	if (strcmp(name, "missing") == 0)
		return fail("there is no such model");
	if (options && options->prefix[0] && getenv("STANDIN_REFUSES_PROFILING"))
		return fail("no profiling here");
	session = make(sizeof(*session));
	snprintf(session->name, sizeof(session->name), "%s", name);
	if (options && options->prefix[0])
		snprintf(session->profile, sizeof(session->profile), "%s_now.json",
			 options->prefix);
	clock_gettime(CLOCK_REALTIME, &now);
	session->begin_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
	*ret = session;
	return NULL;
}

static struct status *create_session(const void *env, const char *path,
				     const struct options *options, struct session **ret)
{
	(void)env;
	return create(path, options, ret);
}

static struct status *create_from_array(const void *env, const void *model, size_t bytes,
					const struct options *options, struct session **ret)
{
	(void)env;
	(void)model;
	return bytes ? create("from memory", options, ret) : fail("the model is empty");
}

/* One loading, and a node a run. */
static void write_profile(const struct session *session)
{
	FILE *file = fopen(session->profile, "w");

	if (!file)
		return;
	fprintf(file,
		"[\n{\"cat\" : \"Session\",\"pid\" :%d,\"tid\" :%d,\"dur\" :7,\"ts\" :1,\"ph\" : "
		"\"X\","
		"\"name\" :\"session_initialization\",\"args\" : {}}",
		(int)getpid(), (int)gettid());
	for (uint32_t i = 0; i < session->n_runs; i++)
		fprintf(file,
			",\n{\"cat\" : \"Node\",\"pid\" :%d,\"tid\" :%d,\"dur\" :1,\"ts\" "
			":%u,\"ph\" : "
			"\"X\",\"name\" :\"plus_one_kernel_time\",\"args\" : {\"op_name\" : "
			"\"Add\"}}",
			(int)getpid(), (int)gettid(), 10 + 2 * i);
	fprintf(file, "\n]\n");
	fclose(file);
}

static struct status *end_profiling(struct session *session, void *allocator, char **ret_path)
{
	(void)allocator;
	*ret_path = make(sizeof(session->profile));
	memcpy(*ret_path, session->profile, sizeof(session->profile));
	if (session->profile[0])
		write_profile(session);
	session->profile[0] = '\0';
	return NULL;
}

static struct status *profiling_start(const struct session *session, uint64_t *ret_ns)
{
	*ret_ns = session->begin_ns;
	return NULL;
}

static void release_session(struct session *session)
{
	if (session && session->profile[0])
		write_profile(session);
	release(session);
}

static struct status *metadata(const struct session *session, char **ret_model)
{
	*ret_model = make(sizeof(session->name));
	memcpy(*ret_model, session->name, sizeof(session->name));
	return NULL;
}

static struct status *graph_name(const char *model, void *allocator, char **ret_name)
{
	(void)allocator;
	*ret_name = make(64);
	snprintf(*ret_name, 64, "graph %s", model);
	return NULL;
}

static struct status *default_allocator(void **ret_allocator)
{
	static int allocator;

	*ret_allocator = &allocator;
	return NULL;
}

static struct status *allocator_free(void *allocator, void *memory)
{
	(void)allocator;
	release(memory);
	return NULL;
}

/* --- values --------------------------------------------------------------------------------- */

static struct status *cpu_memory(int allocator, int type, void **ret_memory)
{
	(void)allocator;
	(void)type;
	*ret_memory = make(1);
	return NULL;
}

static struct value *make_value(const int64_t *dims, size_t n_dims)
{
	struct value *value = make(sizeof(*value));

	value->type = 1;
	value->element = 1;
	value->n_dims = n_dims;
	memcpy(value->dims, dims, n_dims * sizeof(*dims));
	return value;
}

static size_t count(const struct value *value)
{
	size_t n = 1;

	for (size_t i = 0; i < value->n_dims; i++)
		n *= (size_t)value->dims[i];
	return n;
}

static struct status *tensor_with_data(const void *memory, void *data, size_t bytes,
				       const int64_t *dims, size_t n_dims, int element,
				       struct value **ret_value)
{
	(void)memory;
	(void)bytes;
	if (n_dims > MAX_DIMS)
		return fail("too many dimensions");
	*ret_value = make_value(dims, n_dims);
	(*ret_value)->element = element;
	(*ret_value)->data = data;
	return NULL;
}

/* Not a tensor: the data are its parts. */
static struct status *create_value(const void *const *parts, size_t n, int type,
				   struct value **ret_value)
{
	(void)parts;
	(void)n;
	*ret_value = make(sizeof(**ret_value));
	(*ret_value)->type = type;
	return NULL;
}

static struct status *mutable_data(struct value *value, void **ret_data)
{
	*ret_data = value->data;
	return NULL;
}

static struct status *value_type(const struct value *value, int *ret_type)
{
	*ret_type = value->type;
	return NULL;
}

static struct status *type_and_shape(const struct value *value, struct value **ret_shape)
{
	if (value->type != 1)
		return fail("no tensor");
	*ret_shape = make_value(value->dims, value->n_dims);
	(*ret_shape)->element = value->element;
	return NULL;
}

static struct status *element_type(const struct value *shape, int *ret_element)
{
	*ret_element = shape->element;
	return NULL;
}

static struct status *n_dimensions(const struct value *shape, size_t *ret_n)
{
	*ret_n = shape->n_dims;
	return NULL;
}

static struct status *dimensions(const struct value *shape, int64_t *dims, size_t n)
{
	memcpy(dims, shape->dims, n * sizeof(*dims));
	return NULL;
}

static void release_value(struct value *value)
{
	if (value && value->owns_data)
		free(value->data);
	release(value);
}

/* --- runs ----------------------------------------------------------------------------------- */

static struct status *run(struct session *session, const void *options,
			  const char *const *input_names, const struct value *const *inputs,
			  size_t n_inputs, const char *const *output_names, size_t n_outputs,
			  struct value **outputs)
{
	const struct value *from = n_inputs ? inputs[0] : NULL;

	(void)options;
	(void)output_names;
	__atomic_add_fetch(&session->n_runs, 1, __ATOMIC_SEQ_CST);
	if (!from || strcmp(input_names[0], "bad") == 0)
		return fail("bad input");
	for (size_t i = 0; i < n_outputs; i++) {
		struct value *made = outputs[i];

		if (!made) {
			made = make_value(from->dims, from->n_dims);
			made->data = malloc(count(from) * sizeof(float));
			made->owns_data = 1;
			if (!made->data)
				abort();
		}
		for (size_t at = 0; from->data && at < count(from); at++)
			made->data[at] = from->data[at] + 1;
		outputs[i] = made;
	}
	return NULL;
}

static struct status *run_with_binding(struct session *session, const void *options,
				       const void *binding)
{
	(void)options;
	__atomic_add_fetch(&session->n_runs, 1, __ATOMIC_SEQ_CST);
	return binding ? NULL : fail("nothing is bound");
}

typedef void ended(void *data, struct value **outputs, size_t n_outputs, struct status *status);

struct later {
	struct session *session;
	const char *const *names, *const *output_names;
	const struct value *const *inputs;
	size_t n_inputs, n_outputs;
	struct value **outputs;
	ended *ended;
	void *data;
};

static void *run_later(void *later_pointer)
{
	struct later *later = later_pointer;
	struct status *status =
		run(later->session, NULL, later->names, later->inputs, later->n_inputs,
		    later->output_names, later->n_outputs, later->outputs);

	later->ended(later->data, later->outputs, later->n_outputs, status);
	free(later);
	return NULL;
}

static struct status *run_async(struct session *session, const void *options,
				const char *const *names, const struct value *const *inputs,
				size_t n_inputs, const char *const *output_names, size_t n_outputs,
				struct value **outputs, ended *done, void *data)
{
	struct later *later;
	pthread_t thread;

	(void)options;
	if (n_inputs == 0)
		return fail("no input");
	later = malloc(sizeof(*later));
	if (!later)
		abort();
	*later = (struct later){ session,   names,   output_names, inputs, n_inputs,
				 n_outputs, outputs, done,	   data };
	if (pthread_create(&thread, NULL, run_later, later))
		abort();
	pthread_detach(thread);
	return NULL;
}

/* --- the table ------------------------------------------------------------------------------ */

#define E(function) (const void *)(function)
#define NONE	    E(not_there)

static const void *const table[] = {
	[0 ... 1] = NONE,
	[2] = E(error_message),
	[3] = E(create_env),
	[4 ... 6] = NONE,
	[7] = E(create_session),
	[8] = E(create_from_array),
	[9] = E(run),
	[10] = E(create_options),
	[11] = NONE,
	[12] = E(clone_options),
	[13] = NONE,
	[14] = E(enable_profiling),
	[15] = E(disable_profiling),
	[16 ... 48] = NONE,
	[49] = E(tensor_with_data),
	[50] = NONE,
	[51] = E(mutable_data),
	[52 ... 59] = NONE,
	[60] = E(element_type),
	[61] = E(n_dimensions),
	[62] = E(dimensions),
	[63 ... 64] = NONE,
	[65] = E(type_and_shape),
	[66] = NONE,
	[67] = E(value_type),
	[68] = NONE,
	[69] = E(cpu_memory),
	[70 ... 75] = NONE,
	[76] = E(allocator_free),
	[77] = NONE,
	[78] = E(default_allocator),
	[79 ... 81] = NONE,
	[82] = E(create_value),
	[83 ... 91] = NONE,
	[92 ... 94] = E(release),
	[95] = E(release_session),
	[96] = E(release_value),
	[97 ... 98] = NONE,
	[99 ... 100] = E(release),
	[101 ... 109] = NONE,
	[110] = E(end_profiling),
	[111] = E(metadata),
	[112] = NONE,
	[113] = E(graph_name),
	[114 ... 117] = NONE,
	[118] = E(release),
	[119 ... 132] = NONE,
	[133] = E(run_with_binding),
	[134 ... 145] = NONE,
	[146] = E(profiling_start),
	[147 ... 167] = NONE,
	[168 ... 259] = NONE,
	[260] = E(run_async),
	[261 ... 275] = NONE,
};

static const void *const *get_api(uint32_t version)
{
	return version >= 1 && version <= VERSION ? table : NULL;
}

static const char *version_string(void)
{
	return TEXT(MAJOR) "." TEXT(VERSION) ".0";
}

struct base {
	const void *const *(*get_api)(uint32_t version);
	const char *(*version_string)(void);
};

SHOWN const struct base *OrtGetApiBase(void);
const struct base *OrtGetApiBase(void)
{
	static const struct base base = { get_api, version_string };

	return &base;
}
