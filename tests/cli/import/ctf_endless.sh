# Damaged CTF that would be read for ever, or take all memory: it is given up soon, and nothing is left behind.
"$TACHO" --version | grep -q 'built without.*CTF' && exit 77
command -v python3 >/dev/null || exit 77
python3 - <<END
import os, struct
head = '''/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := u8;
typealias integer { size = 32; align = 32; signed = false; } := u32;
trace { major = 1; minor = 8; byte_order = le; };
'''
for name, body, data in (
        # four thousand million elements of no size
        ("elements", "stream { };\nevent { name = \"e\"; fields := struct { u32 n; struct { } none[n]; }; };\n", struct.pack("<I", 2**32 - 1)),
        # events of no size: as many as one likes
        ("events", "stream { packet.context := struct { u32 content_size; u32 packet_size; }; };\nevent { name = \"e\"; fields := struct { }; };\n",
         struct.pack("<II", 8 * 64, 8 * 64) + bytes(56))):
    os.mkdir(name)
    open(name + "/metadata", "w").write(head + body)
    open(name + "/stream", "wb").write(data)
END
mkdir tmp
export TMPDIR=$PWD/tmp
for trace in elements events; do
	timeout 250 "$TACHO" info $trace >out 2>&1
	status=$?
	[ $status != 124 ] && echo "$trace: read to an end, or given up"
	for signal in KILL INT; do
		timeout -s $signal 1 "$TACHO" info $trace >/dev/null 2>&1
	done
done 2>/dev/null
for i in $(seq 300); do # who removes it waits for us to end
	[ -z "$(ls tmp)" ] && break
	sleep 0.2
done
echo "left behind: $(ls tmp)"
