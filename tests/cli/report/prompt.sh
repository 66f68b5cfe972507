# The prompt: what is set holds for all lines after it; options as tfprof wrote them, too.
data=$TACHO_SOURCE_DIR/tests/data/tensorflow/profile_2
"$TACHO" report "$data" --prompt <<'END' | grep -v '^Views: step, '

set -step 0 -select micros,op_types -account_type_regexes MatMul,Relu

scope
op --select micros
unset account
graph -hide_name_regexes 'layer/Relu' -account_displayed_op_only
set -min_micros 20
set -min_micros 50
set --min params=0

op -l 2 --json
help
quit
scope
END
echo "exit ${PIPESTATUS[0]}"
"$TACHO" report "$data" --prompt <<'END'
scop
set micros
scope --select
scope --select nonsense
set "open
unset
scope -step 0 -max_depth 1
END
echo "exit $?"
"$TACHO" report nowhere --prompt < /dev/null
echo "exit $?"
