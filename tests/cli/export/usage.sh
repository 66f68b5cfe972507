"$TACHO" export --to list
for arguments in "" "--to chrome" "run.tacho" "run.tacho --to parquet" "missing.tacho --to chrome" \
	"run.tacho --to chrome --steps 5:3" "run.tacho --to chrome --steps x" "run.tacho --to chrome -o ." \
	"run.tacho --to chrome -o there.json" "run.tacho --to chrome -o nowhere/out.json"; do
	touch there.json
	echo "\$ tacho export $arguments"
	"$TACHO" export $arguments
	echo "= $?"
done
ls -A
