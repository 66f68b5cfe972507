# The prompt on a terminal: Tab completes views, commands and options; Ctrl-C drops a line and what was set stays;
# Ctrl-D ends; the next session remembers the lines.
command -v python3 >/dev/null || exit 77
# el_end() of libedit 3.1 leaves behind the two texts that EL_ADDFN had copied.
echo leak:wcsdup >leaks_of_libedit
export LSAN_OPTIONS="suppressions=$PWD/leaks_of_libedit:print_suppressions=0"
cat >dialogue.py <<'PYTHON'
import os, sys
sys.path.insert(0, os.environ["TACHO_SOURCE_DIR"] + "/tests/support")
from terminal import Terminal

words = "report", os.environ["TACHO_SOURCE_DIR"] + "/tests/data/two_ranks", "--prompt"
terminal = Terminal(*words)
terminal.expect_prompt()
terminal.type("set --sel\tbytes\n")
terminal.expect_prompt()
terminal.type("scope --nonsense 4")
terminal.expect("--nonsense 4")
terminal.type("\x03")
terminal.expect_prompt()
terminal.type("\n")
terminal.expect("--select=bytes\r\n")
terminal.expect_prompt()
terminal.type("scope --max-d\t1 --wi\te\n")
terminal.expect("requested B")
terminal.expect("(all)")
terminal.expect_prompt()
terminal.type("scop\n")
terminal.expect("did you mean 'scope'?")
terminal.expect_prompt()
terminal.type("queue\t\t")
terminal.expect("queue_curve")
terminal.type("\x15\x04")
terminal.end()

again = Terminal(*words)
again.expect_prompt()
again.type("\x10\x10\x10\n")  # three lines back, by Ctrl-P; they are told once each
again.expect("set --select bytes")
again.expect_prompt()
again.type("quit\n")
again.end()
PYTHON
python3 dialogue.py
ls state/tacho
