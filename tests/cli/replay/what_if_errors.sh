# Every what-if given wrongly is refused in one line that names it; the exit code is 2.
cd "$TACHO_SOURCE_DIR/tests/data"
refused() { # RUN WHAT-IF
	"$TACHO" replay "$1" --what-if "$2" 2>&1 >/dev/null
	[ $? -eq 2 ] || echo "$2 is not refused"
}
# without a value; negative; zero; huge; no number; another unit
for key in bandwidth latency topology ranks algorithm bucket_mb fusion partition_mb accumulate device precision \
	cores jobs durations; do
	refused two_ranks "$key="
done
for key in bandwidth latency ranks bucket_mb fusion partition_mb accumulate cores straggler:0 scale:op~mm; do
	for value in -1 1e30; do refused two_ranks "$key=$value"; done
done | sed "s/what-if '\([^=]*\)=[^']*'/what-if '\1=...'/" | uniq -c
for what in bandwidth=nan latency=nan scale:op~mm=nan bandwidth=0 bandwidth=10ms latency=1gbit latency=+2x ranks=0 ranks=2.5 bucket_mb=0 bucket_mb=8mb \
	fusion=0 fusion=1, fusion=, fusion=1000000 partition_mb=0 partition_mb=1000 accumulate=0 accumulate=2x \
	cores=0 algorithm=magic algorithm=ps:0 algorithm=hierarchical durations=guessed topology=nowhere.ini; do
	refused two_ranks "$what"
done
# ranks that are not there, or not named so
for what in straggler:9=2 straggler:99999999999=2 straggler:0-5=2 straggler:0,=2 straggler:=2 \
	straggler:0 straggler:0= 'scale:9:op~mm=2' 'scale:0,:op~mm=2' 'scale:0=2' device:0 device:=T4 device:9=T4 \
	precision:9=fp16 'recompute:9:op~mm'; do
	refused two_ranks "$what"
done
# targets: of no kind, with nothing to match, of no name that is there
for what in 'drop:loaders' 'drop:waits' 'scale:wait=0.5' 'scale:kernels=2' 'drop:nobody' 'scale:op=2' 'scale:thing~mm=2' 'scale:op~=2' 'scale:op~mm' 'scale:op~nobody=2' 'drop:op~' 'drop:~mm' \
	'drop:memset~.' 'fuse:kernel~' 'fuse:op' 'fuse:kernel~.' 'recompute:op' 'recompute:op~' 'recompute:kernel~x' \
	'recompute:op~nobody' 'precision:op~=fp16' 'precision:op~mm' 'precision:op~mm=fp7'; do
	refused two_ranks "$what"
done
refused two_ranks 'scale:op~(=2' | cut -c-75
# devices
for what in device=H100 device=flops: device=flops:nan device=flops:0 device=flops:2, device=flops:2,flops:2 \
	device=flops:2e6; do
	refused two_ranks "$what"
done
refused kineto device=Typo | cut -c-70
refused kineto device=H100:Typo | cut -c-75
# another job: a time has a unit; a file may have an @ in its name
for what in jobs=nowhere jobs=nowhere@10ms jobs=two_ranks@10 jobs=two_ranks@-10ms jobs=two_ranks@ jobs=two_ranks@2d \
	jobs=two_ranks@10gbit jobs=@10ms; do
	refused two_ranks "$what"
done
refused two_ranks ''
refused two_ranks Bandwidth=2x | cut -c-60
