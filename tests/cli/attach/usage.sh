# What tacho attach and stop say to wrong usage, and of processes that there are not; nothing is left behind.
"$TACHO" attach
echo "exit $?"
"$TACHO" attach none
echo "exit $?"
"$TACHO" attach --steps 5 1
echo "exit $?"
"$TACHO" attach --duration soon $$
echo "exit $?"
"$TACHO" attach --duration -3s $$
echo "exit $?"
"$TACHO" attach --leave --duration 3s $$
echo "exit $?"
"$TACHO" attach --probes sockets $$
echo "exit $?"
"$TACHO" attach --python module:os $$
echo "exit $?"
"$TACHO" attach 4194305
echo "exit $?"
"$TACHO" attach -o run.tacho $$ 4194305 --steps 2:1
echo "exit $?"
"$TACHO" stop
echo "exit $?"
"$TACHO" stop 0
echo "exit $?"
"$TACHO" stop 4194305
echo "exit $?"
"$TACHO" record --start-later --steps 1:2 -- true
echo "exit $?"
ls
