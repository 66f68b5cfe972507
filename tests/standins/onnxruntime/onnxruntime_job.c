/* onnxruntime_job: a program that uses ONNX Runtime's C interface, or what stands in for it; it is linked with nothing of it.
 *
 *     onnxruntime_job LIBRARY WAY [MODEL]
 *
 * Models have an input "x" of 2x3 floats and an output "y" of as many. What it prints does not depend on whether it is recorded. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../support/paced.h"

#define N_THREADS 8
#define N_RUNS	  200
#define N_FLOATS  6

/* Places in the table, onnxruntime_c_api.h. */
enum {
	ERROR_MESSAGE = 2,
	CREATE_ENV = 3,
	CREATE_SESSION = 7,
	CREATE_FROM_ARRAY = 8,
	RUN = 9,
	CREATE_OPTIONS = 10,
	ENABLE_PROFILING = 14,
	TENSOR_WITH_DATA = 49,
	MUTABLE_DATA = 51,
	CPU_MEMORY = 69,
	CREATE_VALUE = 82,
	RELEASE_ENV = 92,
	RELEASE_STATUS = 93,
	RELEASE_MEMORY = 94,
	RELEASE_SESSION = 95,
	RELEASE_VALUE = 96,
	RELEASE_OPTIONS = 100,
	RUN_WITH_BINDING = 133,
	RUN_ASYNC = 260,
};

struct base {
	void *const *(*get_api)(uint32_t version);
	const char *(*version_string)(void);
};

static void *const *ort;
static void *env, *memory;
static const char *model = "model";
static void *library;

#define CALL(place, ...)       ((void *(*)(__VA_ARGS__))ort[place])
#define RELEASE(place, object) ((void (*)(void *))ort[place])(object)

static void *free_status(void *status)
{
	if (status)
		RELEASE(RELEASE_STATUS, status);
	return status;
}

static void must(void *status, const char *what)
{
	if (!status)
		return;
	printf("%s: %s\n", what, (const char *)CALL(ERROR_MESSAGE, void *)(status));
	exit(1);
}

static void *new_session(const char *path, const void *options)
{
	void *session = NULL;

	must(CALL(CREATE_SESSION, void *, const char *, const void *, void **)(env, path, options,
									       &session),
	     "a session");
	return session;
}

static void *new_tensor(float *data, int64_t rows)
{
	const int64_t dims[] = { rows, 3 };
	void *value = NULL;

	must(CALL(TENSOR_WITH_DATA, void *, void *, size_t, const int64_t *, size_t, int,
		  void **)(memory, data, (size_t)rows * 3 * sizeof(float), dims, 2, 1, &value),
	     "a tensor");
	return value;
}

/* Whether it succeeded. */
static int run(void *session, const char *name, void *input, void **output)
{
	const char *const inputs[] = { name }, *const outputs[] = { "y" };
	void *values[] = { input };

	return !free_status(CALL(RUN, void *, void *, const char *const *, void **, size_t,
				 const char *const *, size_t,
				 void **)(session, NULL, inputs, values, 1, outputs, 1, output));
}

static float sum(void *value)
{
	float *data = NULL, total = 0;

	must(CALL(MUTABLE_DATA, void *, void **)(value, (void **)&data), "data");
	for (int i = 0; i < N_FLOATS; i++)
		total += data[i];
	return total;
}

static float run_once(void *session)
{
	float data[N_FLOATS] = { 1, 2, 3, 4, 5, 6 }, total;
	void *input = new_tensor(data, 2), *output = NULL;

	if (!run(session, "x", input, &output))
		return -1;
	total = sum(output);
	RELEASE(RELEASE_VALUE, output);
	RELEASE(RELEASE_VALUE, input);
	return total;
}

static void end_session(void *session)
{
	RELEASE(RELEASE_SESSION, session);
}

/* --- ways ----------------------------------------------------------------------------------- */

static void runs(void)
{
	void *session = new_session(model, NULL), *output = NULL, *input;
	float data[N_FLOATS] = { 0 };

	for (int i = 0; i < 10; i++)
		printf("%g\n", (double)run_once(session));
	input = new_tensor(data, 2);
	printf("bad: %d\n", run(session, "bad", input, &output));
	RELEASE(RELEASE_VALUE, input);
	end_session(session);
	session = NULL;
	printf("missing: %d\n", free_status(CALL(CREATE_SESSION, void *, const char *, void *,
						 void **)(env, "missing", NULL, &session)) != NULL);
}

/* The library has more: from memory, bound, a value that is no tensor. */
static void more(void)
{
	void *session = NULL, *sequence = NULL, *output = NULL;
	char bound;

	must(CALL(CREATE_FROM_ARRAY, void *, const void *, size_t, void *, void **)(env, "model", 5,
										    NULL, &session),
	     "from memory");
	printf("%g\n", (double)run_once(session));
	printf("bound: %d\n",
	       !free_status(CALL(RUN_WITH_BINDING, void *, void *, void *)(session, NULL, &bound)));
	must(CALL(CREATE_VALUE, void *, size_t, int, void **)(NULL, 0, 2, &sequence), "a sequence");
	printf("sequence: %d\n", run(session, "s", sequence, &output));
	RELEASE(RELEASE_VALUE, output);
	RELEASE(RELEASE_VALUE, sequence);
	end_session(session);
}

struct asked {
	sem_t ended;
	int is_right;
};

static void ended(void *asked_pointer, void **outputs, size_t n, void *status)
{
	struct asked *asked = asked_pointer;

	asked->is_right = !free_status(status) && n == 1 && outputs[0];
	sem_post(&asked->ended);
}

static void later(void)
{
	static const char *const inputs[] = { "x" }, *const outputs[] = { "y" };
	void *session = new_session(model, NULL), *output = NULL, *input;
	float data[N_FLOATS] = { 0 };
	struct asked asked = { .is_right = 0 };
	int n_right = 0;

	input = new_tensor(data, 2);
	sem_init(&asked.ended, 0, 0);
	for (int i = 0; i < 20; i++) {
		output = NULL;
		must(CALL(RUN_ASYNC, void *, void *, const char *const *, void **, size_t,
			  const char *const *, size_t, void **, void *,
			  void *)(session, NULL, inputs, &input, 1, outputs, 1, &output,
				  (void *)ended, &asked),
		     "an asynchronous run");
		sem_wait(&asked.ended);
		n_right += asked.is_right;
		RELEASE(RELEASE_VALUE, output);
	}
	printf("later: %d, refused: %d\n", n_right,
	       free_status(CALL(RUN_ASYNC, void *, void *, const char *const *, void **, size_t,
				const char *const *, size_t, void **, void *,
				void *)(session, NULL, inputs, &input, 0, outputs, 1, &output,
					(void *)ended, &asked)) != NULL);
	RELEASE(RELEASE_VALUE, input);
	end_session(session);
}

static void *run_many(void *session)
{
	float total = 0;

	for (int i = 0; i < N_RUNS; i++)
		total += run_once(session);
	if (total != 27 * N_RUNS)
		printf("a thread has %g\n", (double)total);
	return session;
}

/* Sessions that one thread creates, another runs, and a third releases; and one that all run. */
static void threads(void)
{
	void *shared = new_session(model, NULL);
	pthread_t all[N_THREADS];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < N_THREADS; i++)
			pthread_create(&all[i], NULL, run_many,
				       i % 2 ? shared : new_session(model, NULL));
		for (int i = 0; i < N_THREADS; i++) {
			void *session = NULL;

			pthread_join(all[i], &session);
			if (session != shared)
				end_session(session);
		}
	}
	end_session(shared);
	printf("threads\n");
}

static void forks(void)
{
	void *session = new_session(model, NULL);
	int status = -1;
	pid_t child;

	fflush(stdout);
	child = fork();
	printf("%g\n", (double)run_once(session));
	if (child == 0) {
		end_session(session);
		fflush(stdout);
		_exit(0);
	}
	waitpid(child, &status, 0);
	printf("child: %d, then %g\n", status, (double)run_once(session));
	end_session(session);
}

/* The program profiles itself. */
static void own(void)
{
	void *options = NULL, *session;

	must(CALL(CREATE_OPTIONS, void **)(&options), "options");
	must(CALL(ENABLE_PROFILING, void *, const char *)(options, "own"), "profiling");
	session = new_session(model, options);
	run_once(session);
	end_session(session);
	RELEASE(RELEASE_OPTIONS, options);
	printf("own\n");
}

/* Nobody releases the session. */
static void leave(void)
{
	printf("%g\n", (double)run_once(new_session(model, NULL)));
}

/* Runs until somebody ends it. */
static void patient(void)
{
	void *session = new_session(model, NULL);

	printf("began\n");
	fflush(stdout);
	for (;;) {
		run_once(session);
		usleep(1000);
	}
}

/* For measurements: a run in each round, of a session that runs all the time. */
static void speed(void)
{
	void *session = new_session(model, NULL), *input;
	float data[N_FLOATS] = { 1, 2, 3, 4, 5, 6 };
	static struct paced rounds;

	input = new_tensor(data, 2);
	for (unsigned int i = 0; i < PACED_ROUNDS /* warm then */ || paced_goes_on(&rounds); i++) {
		void *output = NULL;

		run(session, "x", input, &output);
		RELEASE(RELEASE_VALUE, output);
	}
	paced_tell(&rounds);
	RELEASE(RELEASE_VALUE, input);
	end_session(session);
}

#ifdef PROBE_INSIDE /* by that, as in a program that is linked with the library */
const struct base *OrtGetApiBase(void);
#else
#define OrtGetApiBase NULL
#endif

static void load(const char *path)
{
	const struct base *(*get_base)(void) = OrtGetApiBase;
	const struct base *base;

	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library && !get_base)
		get_base = (const struct base *(*)(void))dlsym(library, "OrtGetApiBase");
	if (!library || !get_base) {
		printf("%s\n", dlerror());
		exit(1);
	}
	base = get_base();
	ort = base->get_api(16);
	if (!ort || ort != base->get_api(1) || base->get_api(9999)) {
		printf("other tables than there should be\n");
		exit(1);
	}
	must(CALL(CREATE_ENV, int, const char *, void **)(3, "job", &env), "an environment");
	must(CALL(CPU_MEMORY, int, int, void **)(0, 0, &memory), "memory");
}

static void unload(bool is_whole)
{
	long (*live)(void) = (long (*)(void))dlsym(library, "standin_live");

	RELEASE(RELEASE_MEMORY, memory);
	RELEASE(RELEASE_ENV, env);
	if (live)
		printf("live: %ld\n", live());
	if (is_whole)
		dlclose(library);
}

static void reload(const char *path)
{
	for (int i = 0; i < 6; i++) {
		load(path);
		printf("%g\n", (double)run_once(new_session(model, NULL)));
		unload(true);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*go)(void);
	} ways[] = { { "runs", runs },	     { "more", more },	 { "later", later },
		     { "threads", threads }, { "fork", forks },	 { "own", own },
		     { "leave", leave },     { "speed", speed }, { "patient", patient } };

	if (argc < 3)
		return 2;
	if (argc > 3)
		model = argv[3];
	if (strcmp(argv[2], "reload") == 0) {
		reload(argv[1]);
		return 0;
	}
	load(argv[1]);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		if (strcmp(argv[2], ways[i].name) == 0)
			ways[i].go();
	/* a thread of the library may not have come to its end yet */
	if (strcmp(argv[2], "leave") != 0)
		unload(strcmp(argv[2], "later") != 0);
	return 0;
}
