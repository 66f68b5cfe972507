#!/usr/bin/env bash
# The agent watches the loader without the program noticing: a plug-in's own RUNPATH still finds what
# the plug-in opens, RTLD_NEXT still means the next after the caller, and a watch is told of a library
# once, after its constructors.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
mkdir -p plugin/private run
include="-D_GNU_SOURCE -I$TACHO_SOURCE_DIR/src -I$TACHO_SOURCE_DIR/probes"
agent=$TACHO_BUILD_DIR/lib/tacho/libtacho.so

cat >dependency.c <<'EOF'
#include <dlfcn.h>
static int is_ready;
__attribute__((constructor)) static void start(void)
{
	dlsym(RTLD_DEFAULT, "puts"); /* a check from here comes too early for this library */
	is_ready = 1;
}
int dependency(void) { return is_ready; }
EOF
cat >plugin.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
int plugin(void)
{
	void *dependency = dlopen("libdependency.so", RTLD_NOW); /* by this plug-in's RUNPATH only */
	int (*function)(void) = dependency ? (int (*)(void))dlsym(dependency, "dependency") : NULL;

	if (!function)
		printf("plugin: %s\n", dlerror());
	return function ? function() : -1;
}
void *next_puts(void) { return dlsym(RTLD_NEXT, "puts"); }
EOF
cat >watcher.c <<'EOF'
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include "common/watch.h"
static void appeared(const char *path, uintptr_t base_address)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	int (*ready)(void) = (int (*)(void))dlsym(library, "dependency");

	(void)base_address;
	fprintf(stderr, "appeared %s ready %d\n", strrchr(path, '/') + 1, ready ? ready() : -1);
	dlclose(library);
}
__attribute__((constructor)) static void start(void) { tacho_watch_library("libdependency", appeared); }
EOF
cat >program.c <<'EOF'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static void *idle(void *unused) { return unused; }
int main(void)
{
	void *plugin = dlopen("plugin/libplugin.so", RTLD_NOW | RTLD_LOCAL);
	int (*function)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin") : NULL;
	void *(*next)(void) = plugin ? (void *(*)(void))dlsym(plugin, "next_puts") : NULL;
	pthread_t thread;

	printf("plugin says %d\n", function ? function() : -2);
	printf("next %d\n", next && next() == (void *)puts);
	pthread_create(&thread, NULL, idle, NULL);
	pthread_join(thread, NULL);
	dlsym(plugin, "nothing");
	printf("error kept %d\n", dlerror() != NULL);
	return 5;
}
EOF
cc -O1 -shared -fPIC -D_GNU_SOURCE dependency.c -o plugin/private/libdependency.so
cc -O1 -shared -fPIC -D_GNU_SOURCE plugin.c -o plugin/libplugin.so -Wl,-rpath,'$ORIGIN/private' -Wl,--enable-new-dtags
cc -O1 -shared -fPIC $include watcher.c -o libwatcher.so
cc -O1 program.c -o program

status=0; ./program >plain.out || status=$?
[ $status = 5 ] || { echo "plain exit $status"; exit 1; }
status=0; TACHO_RUN_DIR=$work/run LD_PRELOAD=$agent:$work/libwatcher.so ./program >watched.out 2>watched.err || status=$?
[ $status = 5 ] || { echo "watched exit $status"; cat watched.err; exit 1; }
diff plain.out watched.out
grep -q 'plugin says 1' plain.out
echo 'appeared libdependency.so ready 1' | diff - watched.err
[ -z "$(ls -A run)" ] || { echo "something was recorded"; exit 1; }
