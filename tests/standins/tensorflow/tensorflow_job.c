/* tensorflow_job LIBRARY HOW N: loads the stand-in for TensorFlow as Python loads TensorFlow, in a scope of its own, and has it run HOW N
 * times. Exits with 1 where the program itself saw a fault. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int (*run)(const char *, int) = NULL;
	void *library;

	if (argc != 4)
		return 2;
	library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (library)
		*(void **)&run = dlsym(library, "standin_run");
	if (!run) {
		fprintf(stderr, "tensorflow_job: %s\n", dlerror());
		return 2;
	}
	return run(argv[2], atoi(argv[3])) ? 1 : 0;
}
