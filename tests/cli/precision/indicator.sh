# Which operations are sensitive, and why; the same by what QSync computes.
cp "$TACHO_SOURCE_DIR"/tests/data/precision/*.json .
"$TACHO" precision indicator --indicator list
"$TACHO" precision indicator --statistics statistics.json --width 0
for name in gradient variance wvar gvar hess loss,gradient:0.5; do
	echo "$name"
	"$TACHO" precision indicator --statistics statistics.json --problem one_kind.json --indicator $name --json |
		python3 -c 'import json, sys; print([(r["module"], "%.3g" % r["harm"]) for r in json.load(sys.stdin) if r["format"] == "int8"][:3])'
done
