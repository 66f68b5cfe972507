# The formats, for people and for programs, and what import does not do.
"$TACHO" import --list
"$TACHO" import --list --json
"$TACHO" import
echo "exit $?"
"$TACHO" import some.json
