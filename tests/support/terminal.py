"""terminal: a dialogue of tacho on a terminal, which is Python's: what is typed, and what must be seen."""
import os
import pty
import select
import sys


class Terminal:
    def __init__(self, *words):
        environment = dict(os.environ, XDG_STATE_HOME=os.getcwd() + "/state", TERM="dumb", HOME=os.getcwd())
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(os.environ["TACHO"], ["tacho", *words], environment)
        self.seen = b""

    def expect(self, text):
        while text.encode() not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], 240)  # a machine that is busy takes long
            try:
                data = os.read(self.fd, 4096) if ready else b""
            except OSError:
                data = b""
            if not data:
                sys.exit(f"no {text!r} in {self.seen!r}")
            self.seen += data
        self.seen = self.seen[self.seen.index(text.encode()) + len(text):]
        print("seen:", repr(text))

    def expect_prompt(self):
        """The prompt, and that keys come to the program one by one: until then the terminal itself
        would take Ctrl-D. Tab on an empty line beeps."""
        self.expect("tacho> ")
        self.type("\t")
        self.expect("\a")

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        print("exit", status)
