# A dialogue on a terminal: completion, statements over several lines, errors that end nothing, Ctrl-C,
# history. The terminal is Python's; what the program sends is looked through for the answers.
command -v python3 >/dev/null || exit 77
# el_end() of libedit 3.1 leaves behind the two texts that EL_ADDFN had copied.
echo leak:wcsdup >leaks_of_libedit
export LSAN_OPTIONS="suppressions=$PWD/leaks_of_libedit:print_suppressions=0"
cat >dialogue.py <<'PYTHON'
import os, sys
sys.path.insert(0, os.environ["TACHO_SOURCE_DIR"] + "/tests/support")
from terminal import Terminal

state = os.getcwd() + "/state"
words = "query", os.environ["TACHO_SOURCE_DIR"] + "/tests/data/two_ranks"
terminal = Terminal(*words)
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
again = Terminal(*words)
again.expect_prompt()
again.type("\x10\n")
again.expect("42")
again.expect_prompt()
again.type(".quit\n")
again.end()
PYTHON
python3 dialogue.py
