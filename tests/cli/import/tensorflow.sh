# Profiles of TensorFlow, written by hand: a ProfileProto with tfprof's test vectors, a RunMetadata with op log and graph.
data=$TACHO_SOURCE_DIR/tests/data/tensorflow
"$TACHO" info "$data/profile_2"
for view in op scope graph code; do
	"$TACHO" report "$data/profile_2" --steps 0:0 --view $view --select micros,params,float_ops,bytes,occurrence | tail -n +5
done
"$TACHO" report "$data/profile_2" --steps 0:0 --view scope --account MatMul,Relu --select micros | tail -n +5
"$TACHO" report "$data/profile_2" --steps 0:0 --view graph --hide layer/Relu --displayed-only yes --select micros | tail -n +5
"$TACHO" report "$data/profile_2" --steps 0:0 --view scope --account _trainable_variables --select params | tail -n +5
# accounted by device, shown with it; what is hidden is not what was not recorded; paths where what is between is hidden
"$TACHO" report "$data/profile_2" --steps 0:0 --view op --account '.*cpu:0' --select micros,device | tail -n +5
"$TACHO" report "$data/profile_2" --steps 0:0 --view op --view scope --view graph --account '.*gpu:7' --select micros | tail -n +5
"$TACHO" report "$data/profile_2" --steps 0:0 --view scope --show 'layer/.*' --displayed-only yes --select micros,device | tail -n +5
"$TACHO" info "$data/steps"
"$TACHO" report "$data/steps" --steps 0:0 --view step --view op --view kernel --view code | tail -n +5
"$TACHO" query "$data/steps" "select name, category, ts, dur, launch_id is not null launched from slice order by ts, id" 2>&1
"$TACHO" query "$data/steps" "select key, display_value from args join slice using (arg_set_id) where name = 'layer/MatMul'"
"$TACHO" export --to pprof -o steps.pb.gz "$data/steps" | cut -d. -f1
cp "$data/steps/tfprof_log" .
"$TACHO" info tfprof_log
echo "exit $?"
# values of a checkpoint
"$TACHO" report "$data/profile_2" --steps 0:0 --view scope --checkpoint "$data/checkpoint/model.ckpt-100" --account _checkpoint_variables --select params,tensor_value | tail -n +5
"$TACHO" report "$data/profile_2" --view scope --checkpoint "$data/profile_2" 2>&1 | sed "s|$data|DATA|g"
