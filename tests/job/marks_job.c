/* marks_job [N]: says what it does, in each way that mark.h has. C and C++ (tests/job/marks.sh compiles it as both), in two threads;
 * and N times a range, a counter and a moment. Prints the same whether it is recorded or not. */
#include <tacho/mark.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void step(int number)
{
	TACHO_MARK_SCOPE("step");
	TACHO_MARK_STEP(number);
	{
		TACHO_MARK_SCOPE("load");
		TACHO_MARK_SCOPE("decode");
		TACHO_MARK_FLOW_BEGIN("batch", (uint64_t)number);
		if (number == 1)
			return; /* leaves both */
	}
	TACHO_MARK_COUNTER("loss", 1.5 / (number + 1));
	TACHO_MARK_COUNTER("loss \"scaled\"", number);
}

static tacho_mark_range requests[2]; /* of the main thread */

static void *consume(void *unused)
{
	char name[32];

	tacho_mark_end(requests[0]);
	for (int i = 0; i < 3; i++) {
		tacho_mark_range range = TACHO_MARK_BEGIN_NUMBER("consume", (uint64_t)i + 1);

		if (i == 1)
			TACHO_MARK_FLOW_STEP("batch", (uint64_t)i);
		TACHO_MARK_FLOW_END("batch", (uint64_t)i);
		tacho_mark_end(range);
		snprintf(name, sizeof(name), "name %d", i);
		range = tacho_mark_begin(name);
		tacho_mark_counter("by name", i);
		tacho_mark_moment("moment", i, -i, "text");
		tacho_mark_flow("batch", (uint64_t)i + 100, TACHO_MARK_PHASE_BEGIN);
		tacho_mark_end(range);
	}
	return unused;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	tacho_mark_range none = { 0 }, open;
	pthread_t thread;
	pid_t child;

	tacho_mark_end(none);
	for (int i = 0; i < 3; i++)
		step(i);
	for (int i = 0; i < 2; i++)
		requests[i] = TACHO_MARK_START("request", (uint64_t)i + 1);
	if (pthread_create(&thread, 0, consume, 0) != 0 || pthread_join(thread, 0) != 0)
		return 1;
	tacho_mark_end(requests[1]);
	TACHO_MARK_MOMENT("thread_name", 1, 2, "not mine to say");
	open = TACHO_MARK_BEGIN("around fork");
	child = fork();
	if (child == 0) {
		TACHO_MARK_SCOPE("in child");
		tacho_mark_end(open); /* the parent's */
		_exit(0);
	}
	waitpid(child, 0, 0);
	tacho_mark_end(open);
	for (int i = 0; i < n; i++) {
		TACHO_MARK_SCOPE("again");
		TACHO_MARK_COUNTER("i", i);
		TACHO_MARK_MOMENT("moment", i, 0, 0);
	}
	printf("%d steps\n", 3);
	open = TACHO_MARK_BEGIN("left open");
	return 0;
}
