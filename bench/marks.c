/* marks: what a mark of a program costs that nobody records, or, under `tacho record`, that somebody does. Not linked with the agent:
 *
 *     bench_marks; tacho record -q --probes torch -o RUN -- bench_marks
 *
 * The figures are medians of rounds of each in turn, less what the loop alone takes. */
#include <tacho/mark.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { N_ROUNDS = 301, N_MARKS = 500, PAUSE_US = 2000 };

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run_loop(int i)
{
	__asm__ volatile("" ::"r"(i) : "memory");
}

static void mark_range(int i)
{
	TACHO_MARK_SCOPE("range");
	run_loop(i);
}

static void mark_named_range(int i)
{
	tacho_mark_range range = tacho_mark_begin("by name");

	run_loop(i);
	tacho_mark_end(range);
}

static void mark_counter(int i)
{
	TACHO_MARK_COUNTER("counter", i);
	run_loop(i);
}

static void mark_moment(int i)
{
	TACHO_MARK_MOMENT("moment", i, 0, 0);
	run_loop(i);
}

static const struct {
	const char *title;
	void (*run)(int i);
} cases[] = { { "the loop alone", run_loop },
	      { "a range", mark_range },
	      { "a range, by name", mark_named_range },
	      { "a counter's value", mark_counter },
	      { "a moment", mark_moment } };
enum { N_CASES = sizeof(cases) / sizeof(*cases) };

static double rounds_ns[N_CASES][N_ROUNDS];

static int compare(const void *one, const void *other)
{
	double a = *(const double *)one, b = *(const double *)other;

	return (a > b) - (a < b);
}

int main(void)
{
	for (int round = -20; round < N_ROUNDS; round++)
		for (int i = 0; i < N_CASES; i++) {
			double begin_ns = now_ns();

			for (int k = 0; k < N_MARKS; k++)
				cases[i].run(k);
			if (round >= 0)
				rounds_ns[i][round] = (now_ns() - begin_ns) / N_MARKS;
			usleep(PAUSE_US);
		}
	printf("%s\n", tacho_mark_is_recording() ? "recorded" : "not recorded");
	for (int i = 0; i < N_CASES; i++)
		qsort(rounds_ns[i], N_ROUNDS, sizeof(double), compare);
	for (int i = 1; i < N_CASES; i++)
		printf("%-20s %7.1f ns\n", cases[i].title,
		       rounds_ns[i][N_ROUNDS / 2] - rounds_ns[0][N_ROUNDS / 2]);
	return 0;
}
