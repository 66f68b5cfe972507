# A tacho without its libraries says so, and leaves no run behind.
mkdir -p alone/bin
cp "$TACHO" alone/bin/tacho
alone/bin/tacho record -q --probes alloc -o run.tacho -- echo done 2>said
status=$?
sed "s|$(pwd -P)|HERE|" said
ls
exit $status
