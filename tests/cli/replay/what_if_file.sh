# Changes from a file are made before those of the command line, and are the same changes.
run=$TACHO_SOURCE_DIR/tests/data/two_ranks
printf '# half the network\n\n  bandwidth=0.5x  \r\nstraggler:1=1.5\n' >changes.txt
"$TACHO" replay "$run" --what-if-file changes.txt --what-if cores=1 --json >file.json
"$TACHO" replay "$run" -w bandwidth=0.5x -w straggler:1=1.5 -w cores=1 --json >options.json
cmp file.json options.json && echo same
"$TACHO" replay "$run" --what-if-file nowhere.txt || echo "exit $?"
printf 'bandwidth=0.5x\nweather=fine\n' >wrong.txt
"$TACHO" replay "$run" --what-if-file wrong.txt 2>&1 | cut -c -60
printf 'cores=2\nab\377' >binary.txt
"$TACHO" replay "$run" --what-if-file binary.txt || echo "exit $?"
"$TACHO" replay "$run" --what-if-file /dev/zero || echo "exit $?"
"$TACHO" replay "$run" --what-if-file . || echo "exit $?"
"$TACHO" replay "$run" --topology /dev/zero || echo "exit $?"
