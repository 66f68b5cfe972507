/* Each plug-in, loaded into a scope of its own, must reach the provider it was linked with; one
 * that was linked with none gets whatever the process has. The last is asked first, too, when
 * there is nothing to find, and the answer must not be kept. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int call_provider(void);

static call_provider *load(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	call_provider *function = library ? (call_provider *)dlsym(library, "call_provider") : NULL;

	if (!function) {
		fprintf(stderr, "%s\n", dlerror());
		exit(2);
	}
	return function;
}

static int expect(const char *what, int expected, int actual)
{
	if (expected == actual)
		return 0;
	fprintf(stderr, "%s: %d instead of %d\n", what, actual, expected);
	return 1;
}

int main(int n_arguments, char **arguments)
{
	int n_failed = 0;
	call_provider *one, *two, *none;

	if (n_arguments != 4)
		return 2;
	none = load(arguments[3]);
	n_failed += expect("without any provider", -1, none());
	two = load(arguments[2]);
	one = load(arguments[1]);
	for (int i = 0; i < 3; i++) {
		n_failed += expect("caller 1", 101, one());
		n_failed += expect("caller 2", 102, two());
		n_failed += expect("caller without dependencies", 102, none());
	}
	return n_failed != 0;
}
