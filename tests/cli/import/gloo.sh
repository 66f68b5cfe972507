# What PyTorch 2.13 profiled of gloo on two ranks, one of which sleeps 10 ms a step: its collectives are regions of
# annotations, which begin when they are queued and end when they are complete.
traces=$TACHO_SOURCE_DIR/tests/data/kineto_gloo
"$TACHO" info "$traces" | sed -n '/^ranks/,/^Trust/p'
"$TACHO" report "$traces" --view step --view comm --view straggler | sed 1,4d
"$TACHO" query "$traces" "SELECT rank, c.name, bytes, c.ranks, m.wait_dur > 5e6 AS waited FROM collective_member m
	JOIN collective c ON c.id = collective_id ORDER BY c.id, rank"
