# A folder is searched once, whatever links lead to it; what is no file is passed over, what cannot be read is told.
traces=$TACHO_SOURCE_DIR/tests/data/kineto
mkdir job
cp "$traces/first.pt.trace.json" job/
ln -s . job/again
ln -s ../job job/around
ln -s circle job/circle
ln -s nowhere job/nowhere
mkfifo job/pipe
mkdir job/sub
"$TACHO" info job job/sub/.. | grep -E '^(ranks|holds|Trust|  [a-z])'

# The gzip data of one begin, and end within the first bytes.
head -c 20 "$traces/second.pt.trace.json.gz" >job/sub/cut.json.gz
"$TACHO" info job | grep -E '^(ranks|Trust|  [a-z])'
"$TACHO" info job/sub
echo "exit $?"
for command in info report query 'export --to csv' 'diff job'; do
	"$TACHO" $command job/pipe
	echo "exit $?"
done
