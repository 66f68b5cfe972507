# Two hosts, of which the second's clock is 5 s ahead: their times are put on one clock, and the steps begin
# when they did, within what is stated.
cp -r "$TACHO_SOURCE_DIR/tests/data/two_ranks" hosts
chmod -R u+w hosts
sed -i -e 's/hostname = "vm"/hostname = "other"/' -e 's/boot_id = "[^"]*"/boot_id = "another"/' \
	-e 's/offset_s = 1795255417;/offset_s = 1795255422;/' hosts/vm-27178/metadata
"$TACHO" info hosts
for run in "$TACHO_SOURCE_DIR/tests/data/two_ranks" hosts; do
	"$TACHO" report "$run" --view step --json | sed 's/.*"rank":\([01]\),.*"start_ms":\([0-9]*\).*/rank \1: \2 ms/'
done
