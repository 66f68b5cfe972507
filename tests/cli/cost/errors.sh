# What cost and calibrate are told wrongly, and files that are no models or tables.
refused()
{
	"$TACHO" "$@"
	echo "exit $?"
}
model=$TACHO_SOURCE_DIR/tests/fuzz/corpus/fuzz_cost_model/whole.json
cp "$TACHO_SOURCE_DIR"/tests/fuzz/corpus/fuzz_cost_model/*.json .
refused cost
refused cost trian
refused cost train
refused cost train --table none.csv -o new.json
refused cost train --table whole.json -o new.json
printf 'device,op,shapes,type,time_us\nV100,aten::mm,"[[1,2],[2,3]]",fp32,0\n' >zero.csv
refused cost train --table zero.csv -o new.json
printf 'device,op,shapes,type,time_us\nV100,aten::mm,"[[1,2],[2,3]]",fp99,1\n' >type.csv
refused cost train --table type.csv -o new.json
refused cost train --table zero.csv
refused cost train --table zero.csv -o new.json --trees -1
[ ! -e new.json ] || echo "a model was written"
refused cost predict
refused cost predict whole.json
refused cost predict whole.json --op aten::mm
refused cost predict whole.json --op aten::mm --shapes '[[1,2],[2,3]]' --device Abacus
refused cost predict whole.json --op aten::mm --shapes '[[1,2]' --device V100
refused cost predict whole.json --op aten::frob --shapes '[[1,2]]' --device V100
refused cost predict whole.json --op aten::_softmax --shapes '[[1,2]]' --device V100 --by magic
for file in cut.json no_number.json place.json round_tree.json none.json; do
	refused cost show $file
done
refused cost show whole.json whole.json
refused cost train --table "$TACHO_SOURCE_DIR/tests/fuzz/corpus/fuzz_cost_model/table.csv" -o whole.json
refused replay "$TACHO_SOURCE_DIR/tests/data/two_ranks" --cost cut.json
refused optimize "$TACHO_SOURCE_DIR/tests/data/two_ranks" --tries 10 --cost cut.json
mkdir -p state/tacho
cp cut.json state/tacho/cost.json
XDG_STATE_HOME=$PWD/state "$TACHO" optimize "$TACHO_SOURCE_DIR/tests/data/two_ranks" --tries 10 2>&1 >/dev/null | sed "s|$PWD/||"
refused calibrate
refused calibrate comunication
refused calibrate communication
refused calibrate communication -n -1 -- true
refused calibrate communication --most 1 -o c.json -- true
refused calibrate communication -o c.json -- false
refused calibrate communication -o c.json -- true
refused calibrate communication -o c.json train.py -- true
refused calibrate communication -o cut.json -- true
[ ! -e c.json ] || echo "a model was written"
cmp cut.json "$TACHO_SOURCE_DIR/tests/fuzz/corpus/fuzz_cost_model/cut.json"
