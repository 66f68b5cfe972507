/* stand_in_job LIBRARY: load a stand-in for libtorch and have it run an operation. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void *symbol = library ? dlsym(library, "stand_in_run") : NULL;
	void (*run)(void);

	memcpy(&run, &symbol, sizeof(run));
	if (!run)
		return 1;
	run();
	puts("ran");
	return 0;
}
