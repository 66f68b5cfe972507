# Trials in the dialects that dPRO reads, written by hand; tests/unit/edit/test_dpro_trials.c says what is in them.
for trial in pytorch_horovod tf_horovod mxnet_horovod tf_byteps; do
	data=$TACHO_SOURCE_DIR/tests/data/dpro/$trial
	"$TACHO" info "$data" | grep -E '^(hosts|ranks|steps|events|holds|Trust|  )'
	"$TACHO" report "$data" --view step --view op --view comm | tail -n +5
	"$TACHO" replay "$data" --what-if bandwidth=2x | head -n 5
done
"$TACHO" query "$data" "select distinct track.name, slice.name from slice join track on track.id = track_id where category != 'op' order by 1, 2"
"$TACHO" replay "$data" --what-if bucket_mb=25
echo "exit $?"
# A profile that tells no rank, and the coordinator's timeline.
mkdir alone
sed 's/"distributedInfo":{[^}]*},//' "$TACHO_SOURCE_DIR/tests/data/dpro/pytorch_horovod/rank0.pt.trace.json" >alone/profile.json
cp "$TACHO_SOURCE_DIR/tests/data/dpro/pytorch_horovod/timeline_rank0.json" alone/timeline.json
"$TACHO" info alone | grep -E '^(hosts|ranks|steps|holds|Trust|  )'
