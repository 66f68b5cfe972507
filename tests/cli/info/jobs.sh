# Without a run: the jobs being recorded now. Entries of processes that are gone are left out.
export XDG_RUNTIME_DIR=$PWD
"$TACHO" info
"$TACHO" info --json
mkdir -m 700 -p tacho
printf '[run]\npath=/runs/a.tacho\ncommand=python3 train.py\nstart_unix_ns=1000\n' >tacho/$$
printf '[run]\npath=/runs/b.tacho\ncommand=x\nstart_unix_ns=1000\n' >tacho/999999999
echo garbage >tacho/1
"$TACHO" info --json | sed "s/\"pid\":$$,/\"pid\":SELF,/; s/\"duration_ms\":[0-9.]*,/\"duration_ms\":LONG,/"
