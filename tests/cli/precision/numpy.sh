# Bit plans are what NumPy reads and writes; without NumPy this is skipped.
python3 -c 'import numpy' 2>/dev/null || exit 77
cp "$TACHO_SOURCE_DIR"/tests/data/precision/*.json .
"$TACHO" precision plan --problem one_kind.json --statistics statistics.json --to npy >bits.npy
python3 - <<'END'
import numpy
plan = numpy.load("bits.npy", allow_pickle=True).item()
print(len(plan), plan["linear_0"], plan["linear_6"], plan["matmul_3"], sorted(set(plan.values())))
plan.update({"linear_%d" % i: 32 for i in range(13)})
numpy.save("wide.npy", numpy.array(plan, dtype=object))
numpy.save("list.npy", numpy.array([1, 2]))

class Program:
    def __reduce__(self):
        import os
        return os.system, ("echo executed",)

numpy.save("program.npy", numpy.array({"linear_0": Program()}, dtype=object))
END
for file in wide list program; do
	"$TACHO" precision plan --problem one_kind.json --statistics statistics.json --bits $file.npy --width 0 2>&1 |
		grep -E '^plan|^A100|^tacho' | sed 's/byte [0-9]*: opcode 0x[0-9a-f]*/byte N: opcode/' # NumPy's versions write others
done
