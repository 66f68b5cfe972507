# What PyTorch 1.13 without Kineto (Debian's) profiled of gloo on two ranks, one of which sleeps 10 ms a step: no categories,
# and times that count from the begin of each rank's own profile.
traces=$TACHO_SOURCE_DIR/tests/data/pytorch_legacy
"$TACHO" info "$traces/ranks" | sed -n '/^ranks/,/^$/p'
"$TACHO" report "$traces/ranks" --view step --view comm --view straggler | sed 1,5d
echo "one process"
"$TACHO" info "$traces/single.json.gz" | sed -n '/^ranks/,/^$/p'
# Several profiles of one rank have no order.
cp "$traces/ranks/rank0.json.gz" rank0.json.gz
cp "$traces/ranks/rank1.json.gz" again-rank0.json.gz
"$TACHO" info . | grep -E '^ranks|duplicate'
