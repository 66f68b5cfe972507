# Plans for others: found for a run, of a file, and in a file of dPRO's that is judged.
trials=$TACHO_SOURCE_DIR/tests/data/dpro
"$TACHO" optimize --to list
"$TACHO" optimize "$trials/tf_byteps" --tries 100 --to byteps
"$TACHO" optimize "$trials/tf_horovod" --tries 1000 --to dpro-tensors -o groups.json | tail -1
cat groups.json
echo
"$TACHO" optimize "$trials/tf_horovod" --tries 1000 --passes partition --plan groups.json | sed -nE '/groups.json/p'
"$TACHO" optimize "$trials/tf_horovod" --tries 1000 --to ddp
echo "exit $?"
"$TACHO" optimize "$trials/tf_horovod" --tries 100 --to dpro-clusters
echo "exit $?"
"$TACHO" optimize "$trials/tf_horovod" --tries 1000 --to plan -o plan.json >/dev/null
"$TACHO" optimize --plan plan.json --to horovod
"$TACHO" optimize --plan plan.json
"$TACHO" optimize --plan groups.json --to horovod
# clusters of operations: gradients that one fused operation computes go together
gradients=gradient_tape/net
printf '%s 0\n' $gradients/dense/MatMul/MatMul_1 $gradients/dense/BiasAdd/BiasAddGrad >clusters.txt
"$TACHO" optimize "$trials/tf_horovod" --tries 10 --passes partition --plan clusters.txt --all | grep -o '^fusion=2,1 .*'
printf '%s 3\n' $gradients/dense/BiasAdd/BiasAddGrad $gradients/conv/Conv2D/Conv2DBackpropFilter >clusters.txt
"$TACHO" optimize "$trials/tf_horovod" --tries 10 --passes partition --plan clusters.txt --json >found.json
python3 -c 'import json; print(*(t["what_if"] for t in json.load(open("found.json"))["tried"] if t["what_if"].startswith("fusion=1")))'
# a plan for another job
"$TACHO" optimize "$trials/tf_byteps" --tries 10 --plan plan.json
echo "exit $?"
# the search's course as a picture, and its state
"$TACHO" optimize "$trials/tf_horovod" --tries 1000 --trajectory way.svg --state state >/dev/null
python3 -c 'import xml.dom.minidom as x; print(x.parse("way.svg").documentElement.tagName)'
head -2 state | cut -c1-20
"$TACHO" optimize "$TACHO_SOURCE_DIR/tests/data/two_ranks" --tries 10 --state state
echo "exit $?"
