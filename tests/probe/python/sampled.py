"""A program that knows how long it was in each of its functions, for tests/job/python_stacks.sh: prints {function: seconds},
and with ":waiting" behind a name how long it waited in it."""

import json
import os
import subprocess
import sys
import threading
import time

took = {}


def spin(seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


def timed(name, function, *arguments):
    begin = time.monotonic()
    function(*arguments)
    took[name] = took.get(name, 0) + time.monotonic() - begin


def busy():
    spin(0.8)


def nap():
    time.sleep(0.8)


def generate():
    for _ in range(3):
        spin(0.25)
        yield None


def consume():
    for _ in generate():
        pass


def deep(n):
    if n:
        deep(n - 1)
    else:
        spin(0.7)


def deeper(n):
    if n:
        deeper(n - 1)
    else:
        spin(0.4)


def by_extension():
    sorted(range(3), key=lambda _: spin(0.25) or 0)


def in_thread():
    time.sleep(1.0)


def threads():
    thread = threading.Thread(target=in_thread, name="worker")
    thread.start()
    thread.join()


def in_fork():
    spin(1.0)


def fork():
    child = os.fork()
    if not child:
        in_fork()
        os._exit(0)
    os.waitpid(child, 0)


def execute():
    subprocess.run([sys.executable, "-S", "-c", "import time\ndef in_child():\n  time.sleep(1.0)\nin_child()"], check=True)


def interpreter():
    """Another interpreter in this process, where this Python has a module for it."""
    try:
        import _xxsubinterpreters as interpreters
    except ImportError:
        import _interpreters as interpreters
    run = getattr(interpreters, "run_string", None) or interpreters.exec
    inner = interpreters.create()
    run(inner, "import time\ndef in_interpreter():\n  end = time.monotonic() + 0.8\n  while time.monotonic() < end: pass\nin_interpreter()")
    interpreters.destroy(inner)


def many_functions():
    """Code objects come and go at the same addresses."""
    end = time.monotonic() + 0.7
    n = 0
    while time.monotonic() < end:
        scope = {}
        exec("def made_%d():\n%s    return sum(range(2000))\n" % (n, "\n" * (n % 50)), scope)
        scope["made_%d" % n]()
        n += 1


def main():
    sys.setrecursionlimit(20000)
    timed("busy", busy)
    timed("nap:waiting", nap)
    timed("consume", consume)
    timed("deep", deep, 200)
    timed("by_extension", by_extension)
    timed("many_functions", many_functions)
    timed("threads:waiting", threads)
    timed("fork:waiting", fork)
    timed("execute:waiting", execute)
    interpreter()
    if "--very-deep" in sys.argv:
        threading.stack_size(512 << 20)
        very_deep = threading.Thread(target=deeper, args=(10000,))
        very_deep.start()
        very_deep.join()
    print(json.dumps(took))


if __name__ == "__main__":
    main()
