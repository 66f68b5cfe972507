# What cannot be planned, and why.
cp "$TACHO_SOURCE_DIR"/tests/data/precision/*.json .
refused() { "$TACHO" precision "$@"; echo "exit $?"; }
refused
refused plans
refused plan
refused plan --problem nothing.json
refused plan --problem one_kind.json some.tacho
refused plan --problem one_kind.json --keep-within much
refused plan --problem one_kind.json --memory lots
refused plan --problem one_kind.json --no-slower-than soon
refused plan --problem one_kind.json --to npz
refused plan --problem one_kind.json --no-slower-than 1ms
refused plan --problem one_kind.json --memory 3MB
refused plan --problem statistics.json
refused plan --problem one_kind.json --statistics one_kind.json
refused plan --problem one_kind.json --statistics statistics.json --indicator luck
refused indicator
refused indicator --statistics statistics.json --indicator hessian | tail -2

# a plan of bits that is a program, and one of another model
cp "$TACHO_SOURCE_DIR"/tests/fuzz/corpus/fuzz_plan_bits/{program,numpy2} .
refused plan --problem one_kind.json --bits program
refused plan --problem one_kind.json --bits numpy2
