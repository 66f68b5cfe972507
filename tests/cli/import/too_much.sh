# A folder that is no trace is not searched for ever.
mkdir logs
(cd logs && seq 10002 | xargs touch)
"$TACHO" info logs
echo "exit $?"
"$TACHO" replay "$TACHO_SOURCE_DIR/tests/data/two_ranks" -w jobs=logs
echo "exit $?"
"$TACHO" info /proc
echo "exit $?"
