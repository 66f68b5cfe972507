#!/usr/bin/env bash
# tacho gather makes one run of parts recorded apart: from folders and by rsync, again where it stopped; what is of another job, or not a
# run, or made by somebody else, is refused, and nothing that is here changes for it.
set -eu
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill $server 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
export XDG_RUNTIME_DIR=$work
fail() { echo "$*"; cat said 2>/dev/null; exit 1; }
${CC:-cc} -O1 -D_GNU_SOURCE "$TACHO_SOURCE_DIR/tests/job/guest_job.c" -o guest_job -lpthread

# part RANK DIR [VARIABLE=VALUE...]: a part of a job of three ranks, on a host of its own where that can be made
part()
{
	local rank=$1 dir=$2 host=()

	shift 2
	if unshare -u true 2>/dev/null; then
		host=(unshare -u sh -c "echo node$rank >/proc/sys/kernel/hostname; exec \"\$@\"" sh)
	fi
	mkdir -p "$(dirname "$dir")"
	env RANK=$rank WORLD_SIZE=3 "$@" "${host[@]}" "$TACHO" record -q --probes none -o "$dir" -- ./guest_job fill 2000 >/dev/null || [ $? = 3 ]
}
gather() { "$TACHO" gather "$@" >out 2>said; }
status() { local code=0; gather "$@" || code=$?; echo $code; }
ranks() { "$TACHO" info --json "$1" | sed -n 's/^.*"ranks":\([0-9]*\).*/\1/p' | head -1; }
state() { (cd "$1" && find . -type f ! -name .gather.ini -exec sha256sum {} + | sort -k2); }

part 0 one/job.tacho
part 1 two/job.tacho
part 2 three/rank-2

# --- folders ---------------------------------------------------------------------------------
[ "$(status -o job one/job.tacho two/job.tacho)" = 1 ] || fail "rank 2 is not missed"
grep -q 'rank 2 of 3 is in no part' said || fail "it is not said which rank is missing"
[ "$(stat -c %a job)" = 700 ] || fail "the folder is not private"
[ ! -e job/.incoming ] || fail "something is left in job/.incoming"
[ "$(status -o job three)" = 0 ] || fail "the third part did not come"
[ "$(ls -d job/*/ | wc -l)" = 3 ] && [ -d job/rank-2 ] || fail "the parts are $(ls job)"
[ "$(ranks job)" = 3 ] || fail "the run has $(ranks job) ranks"
"$TACHO" info job --json >info.json
! grep -q '"kind":"\(other_job\|missing_rank\|left_out\)"' info.json || fail "$(cat info.json)"
state job >before
[ "$(status -o job one/job.tacho two/job.tacho three)" = 0 ] || fail "the same again was not taken"
grep -q '0 parts came, 3 were here before' said || fail "not all parts were known"
state job | diff before - || fail "what was here has changed"

# --- what is refused --------------------------------------------------------------------------
part 1 wrong/again.tacho
[ "$(status -o job wrong/again.tacho)" = 2 ] || fail "a second rank 1 was taken"
grep -q 'wrong/again.tacho.*both have rank 1' said || fail "it is not said why"
part 3 wrong/world.tacho WORLD_SIZE=8
[ "$(status -o job wrong/world.tacho)" = 2 ] && grep -q 'of one of 8' said || fail "a rank of another world was taken"
part 0 named/a.tacho TORCHELASTIC_RUN_ID=first
part 1 named/b.tacho TORCHELASTIC_RUN_ID=second
[ "$(status -o mixed named/a.tacho named/b.tacho)" = 2 ] && grep -q 'the job first, the other of second' said || fail "two jobs were mixed"
[ "$(ls mixed | wc -l)" = 1 ] || fail "mixed has $(ls mixed)"
mkdir -p foreign/kept empty
touch foreign/kept/file
[ "$(status -o foreign one/job.tacho)" = 2 ] && grep -q 'was not made by' said || fail "a folder of somebody else was used"
[ "$(status -o job empty)" = 2 ] && grep -q 'no run that' said || fail "an empty folder was taken"
[ "$(status -o job nowhere)" = 2 ] || fail "what is not there was taken"
[ "$(status -o job)" = 2 ] && [ "$(status one/job.tacho)" = 2 ] || fail "wrong usage was taken"
flock -o job/.gather.ini sleep 5 &
server=$!
sleep 0.5
[ "$(status -o job three)" = 2 ] && grep -q 'another' said || fail "two gathered at once"
kill $server
wait $server 2>/dev/null || true
server=
state job | diff before - || fail "what was refused has changed the run"

# a link is not followed, and a name that is none stays in the folder
cp -r two hostile
ln -s /etc/passwd hostile/job.tacho/passwd
ln -s / hostile/job.tacho/root
sed -i 's|^host=.*|host=../../outside|' hostile/job.tacho/run.ini
[ "$(status -o careful hostile/job.tacho)" = 1 ] || fail "the part with links did not come"
[ -z "$(find careful -type l)" ] && [ ! -e outside ] && [ -d careful/_._.._outside -o -d careful/_.._outside ] || fail "careful has $(find careful | head)"

# --- a part that had not ended ----------------------------------------------------------------
cp -r one early
sed -i '/^end_unix_ns/d' early/job.tacho/run.ini
rm -f "$(ls early/job.tacho/*/0-* | tail -1)"
[ "$(status -o growing early/job.tacho two/job.tacho three)" = 0 ] || fail "a part that goes on did not come"
[ "$(status -o growing one/job.tacho)" = 0 ] && grep -q '1 part came' said || fail "its end did not come"
state job | sed 's|  .*/|  |' | sort >whole
state growing | sed 's|  .*/|  |' | sort | diff whole - || fail "the run is not what it became"

# --- by rsync ---------------------------------------------------------------------------------
command -v rsync >/dev/null || { echo "no rsync: the rest is left out"; exit 0; }
mkdir bin
cat >bin/rsync <<END
#!/bin/sh
# A line that breaks when the first stream has come.
for to; do :; done
mkdir -p "\$to" && cp -rp "$work/one/job.tacho/." "\$to/" && rm "\$to"/*/metadata "\$to"/run.ini
echo "connection lost" >&2
exit 30
END
chmod +x bin/rsync
for ((port = 20000 + $$ % 10000, tries = 0; tries < 20; port++, tries++)); do
	cat >daemon.conf <<-END
		use chroot = no
		address = 127.0.0.1
		port = $port
		uid = $(id -u)
		gid = $(id -g)
		[scratch]
		path = $work
		read only = yes
	END
	rsync --daemon --no-detach --config=daemon.conf 2>daemon.log &
	server=$!
	for ((i = 0; i < 50; i++)); do
		rsync "rsync://127.0.0.1:$port/" >modules 2>/dev/null && grep -q scratch modules && break 2
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	kill $server 2>/dev/null || true
	wait $server 2>/dev/null || true
done
url=rsync://127.0.0.1:$port/scratch
PATH=$work/bin:$PATH status -o far "$url/one/job.tacho" >code
[ "$(cat code)" = 2 ] && grep -q 'goes on where it stopped' said || fail "a line that broke was not told"
[ -n "$(ls far/.incoming/*/*/0-*)" ] && [ -z "$(ls far)" ] || fail "what had come did not stay apart"
inode=$(stat -c %i "$(ls far/.incoming/*/*/0-* | head -1)")
[ "$(status -o far "$url/one/job.tacho" "$url/two/job.tacho" "$url/three")" = 0 ] || fail "rsync did not bring it"
[ "$(ranks far)" = 3 ] && [ ! -e far/.incoming ] || fail "far has $(find far | head -20)"
[ -n "$(find far -inum "$inode")" ] || fail "what had come was brought again"
state far | sed 's|  .*/|  |' | sort | diff whole - || fail "rsync brought something else"
state far >before
[ "$(status -o far "$url/one/job.tacho")" = 0 ] && grep -q '1 was here before' said || fail "it came again"
state far | diff before - || fail "what was here has changed"
[ "$(status -o far "$url/nowhere")" = 2 ] || fail "what is not there was taken by rsync"
[ ! -e far/.incoming ] || fail "something is left of what is not there"
"$TACHO" report far >report || fail "it cannot be reported"
echo done
