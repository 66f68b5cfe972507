# What cannot be read is refused with what it is and what to do instead; the formats that were tried are not listed.
refuse() { "$TACHO" report "$@" 2>&1; [ "${PIPESTATUS[0]}" = 2 ] || echo "not exit 2"; }
mkdir data 'a folder'
for ending in nsys-rep qdrep qdstrm ncu-rep otf2; do
	printf 'binary\0\1\2' >"data/run.$ending"
	refuse "data/run.$ending"
done
printf 'binary\0' >'a folder/it.nsys-rep'
refuse 'a folder/it.nsys-rep'
refuse 'a folder'
refuse data
mkdir ctf
printf '/* CTF 1.8 */\ntrace { };\n' >ctf/metadata
printf '\xc1\x1f\xfc\xc1stream' >ctf/channel0_0
refuse ctf/metadata
refuse ctf/channel0_0
printf '==123== NVPROF is profiling process 123, command: ./a\n' >nvprof.txt
printf '==123== Profiling result:\n  Type  Time(%%)  Time\n GPU activities:  99%%\n' >nvprof2.txt
printf ' Time (%%)  Total Time (ns)  Instances   Avg (ns)\n' >stats.txt
printf 'Time (%%),Total Time (ns),Num Calls,Avg (ns)\n' >stats.csv
printf '%s\n' '-----' 'Name    Self CPU %      Self CPU   CPU total %     CPU total' >averages.txt
printf 'PERFILE2' >perf.data
printf '\xfd7zXZ\0' >trace.json.xz
printf 'BZh91AY' >trace.json.bz2
printf '\x7fELF' >train
printf 'import torch\n' >train.py
printf '\x80\x04}.' >weights.pkl
printf 'PK\3\4abc' >model.pt
printf 'Dear reader,\n' >letter.txt
: >empty.json
for file in nvprof.txt nvprof2.txt stats.txt stats.csv averages.txt perf.data trace.json.xz trace.json.bz2 train \
	train.py weights.pkl model.pt letter.txt empty.json; do
	refuse "$file"
done
mkdir nothing
refuse nothing
refuse "$TACHO_SOURCE_DIR/tests/data/two_ranks/run.ini" | sed "s,$TACHO_SOURCE_DIR,SOURCE,g"
