# A dialogue on a terminal: completion, statements over several lines, errors that end nothing, Ctrl-C,
# history. The terminal is Python's; what the program sends is looked through for the answers.
command -v python3 >/dev/null || exit 77
# el_end() of libedit 3.1 leaves behind the two texts that EL_ADDFN had copied.
echo leak:wcsdup >leaks_of_libedit
export LSAN_OPTIONS="suppressions=$PWD/leaks_of_libedit:print_suppressions=0"
cat >dialogue.py <<'PYTHON'
import os, pty, select, sys

state = os.getcwd() + "/state"
environment = dict(os.environ, XDG_STATE_HOME=state, TERM="dumb", HOME=os.getcwd())


class Terminal:
    def __init__(self):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            run = os.environ["TACHO_SOURCE_DIR"] + "/tests/data/two_ranks"
            os.execve(os.environ["TACHO"], ["tacho", "query", run], environment)
        self.seen = b""

    def expect(self, text):
        while text.encode() not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], 60)
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


terminal = Terminal()
terminal.expect_prompt()
terminal.type("SELECT 40 +\n")
terminal.expect("...> ")
terminal.type("2 AS answer;\n")
terminal.expect("answer")
terminal.expect("42")
terminal.expect_prompt()
terminal.type("select count(*) from collective_m\t;\n")
terminal.expect("18\r\n")
terminal.expect_prompt()
terminal.type("SELECT nobody;\n")
terminal.expect("no such column: nobody (line 1, column 8)")
terminal.expect_prompt()
terminal.type(".schem\tstep\n")
terminal.expect("CREATE TABLE step(")
terminal.expect_prompt()
terminal.type("SELECT typed but dropped\x03")
terminal.expect_prompt()
terminal.type(".format csv\n")
terminal.expect_prompt()
terminal.type("SELECT 'has begun' UNION ALL SELECT count(*) FROM slice a, slice b, slice c, slice d;\n")
terminal.expect("\r\nhas begun\r\n")
terminal.type("\x03")
terminal.expect("interrupted")
terminal.expect_prompt()
terminal.type("SELECT 6 * 7;\n")
terminal.expect("42")
terminal.expect_prompt()
terminal.type("\x04")
terminal.end()

with open(state + "/tacho/query_history") as file:
    print("remembered:", "SELECT\\0406\\040*\\0407;" in file.read())
again = Terminal()
again.expect_prompt()
again.type("\x10\n")
again.expect("42")
again.expect_prompt()
again.type(".quit\n")
again.end()
PYTHON
python3 dialogue.py
