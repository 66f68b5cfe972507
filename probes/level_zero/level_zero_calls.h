/* level_zero_calls: what is done before and after each call of Level Zero, by callbacks of its tracing layer. */
#ifndef TACHO_LEVEL_ZERO_CALLS_H
#define TACHO_LEVEL_ZERO_CALLS_H

/* A callback, and the layer's function that takes it: zelTracer...RegisterCallback(). */
struct level_zero_hook {
	const char *registrar;
	void *before, *after; /* NULL: none */
};

extern const struct level_zero_hook level_zero_hooks[];
extern const int level_zero_n_hooks;

/* The end of the process: what is not done is lost. */
void level_zero_calls_finish(void);
void level_zero_calls_after_fork(void);

#endif
