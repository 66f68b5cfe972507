# The profiles: operations as trees and lists, accounted, cut and summed up as asked for.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
report() { "$TACHO" report "$run" "$@" | sed 1,3d; }
report --view scope --max-depth 3
report --view scope --select params,float_ops --min params=1 --displayed-only yes --order-by params
report --view scope --start '.*Linear.*' --trim '.*/\[backward\]' --limit 8
report --view graph --account 'aten::(linear|mul|pow)' --select occurrence,op_types
report --view op --select float_ops,output_bytes --order-by float_ops --max-depth 3
report --view code --limit 3
"$TACHO" report "$run" --view scope --show '.*addmm' --json
"$TACHO" report "$run" --view scope --min weight=3 || echo "exit $?"
"$TACHO" report "$run" --view scope --select colour || echo "exit $?"
