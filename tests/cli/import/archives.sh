# An archive is read as the folder in it, and nothing stays behind; what is hostile ends with an error.
command -v python3 >/dev/null || exit 77
export TMPDIR=$PWD/tmp
mkdir tmp job
data=$TACHO_SOURCE_DIR/tests/data
cp "$data"/kineto/first.pt.trace.json "$data"/kineto/second.pt.trace.json.gz job/
show() { "$TACHO" info "$@" 2>&1 | grep -E '^(ranks|steps|holds|Trust|  [a-z]|tacho)' | sed "s,$PWD/,,g"; ls tmp; }
show job
tar -cf job.tar job
tar -czf job.tar.gz job
tar -czf run.tgz -C "$data" two_ranks
python3 - <<'END'
import zipfile
with zipfile.ZipFile("job.zip", "w", zipfile.ZIP_DEFLATED) as archive:
    for name in ("first.pt.trace.json", "second.pt.trace.json.gz"):
        archive.write("job/" + name)
END
tar -cJf job.tar.xz job
tar -cjf job.tar.bz2 job
zstd -q job.tar -o job.tar.zst 2>/dev/null || cp job.tar job.tar.zst # where there is no zstd, its name says nothing
for archive in job.tar job.tar.gz job.tar.xz job.tar.bz2 job.tar.zst job.zip run.tgz; do
	echo "== $archive"
	show $archive
done
# Args are read from the archive, and paths are told by its name.
echo == args
"$TACHO" query job.zip "SELECT count(*) > 0 AS has_args FROM args"
"$TACHO" info job.zip --json | grep -o '"path":"[^"]*"' | sed "s,$PWD/,,g"
ls tmp

echo == in a folder
mkdir around
cp job.zip around/
cp job/first.pt.trace.json around/
show around

echo == hostile
python3 - <<'END'
import io, os, tarfile, zipfile
def member(archive, name, data=b"", kind=tarfile.REGTYPE, link=""):
    entry = tarfile.TarInfo(name)
    entry.size, entry.type, entry.linkname = len(data), kind, link
    archive.addfile(entry, io.BytesIO(data))
with tarfile.open("escape.tar", "w") as archive:
    member(archive, "../escaped.json", b"{}")
    member(archive, "/tmp/tacho-escaped.json", b"{}")
    member(archive, "link", kind=tarfile.SYMTYPE, link="/etc")
    member(archive, "link/passwd.json", b"{}")
    member(archive, "device", kind=tarfile.CHRTYPE)
    member(archive, "hard", kind=tarfile.LNKTYPE, link="/etc/passwd")
with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
    archive.writestr("trace.json", b"\0" * (300 << 20))
import lzma
packed = lzma.LZMACompressor(preset=1)
entry = tarfile.TarInfo("trace.json")
entry.size = 300 << 20
with open("bomb.tar.xz", "wb") as out:
    out.write(packed.compress(entry.tobuf()))
    for _ in range(300):
        out.write(packed.compress(b"\0" * (1 << 20)))
    out.write(packed.flush())
with tarfile.open("outer.tar", "w") as archive:
    archive.add("job.tar.gz")
with open("cut.tar.gz", "wb") as out:
    out.write(open("job.tar.gz", "rb").read()[:-3000])
with tarfile.open("many.tar", "w") as archive:
    for i in range(100001):
        member(archive, "%d" % i)
END
for archive in escape.tar bomb.zip bomb.tar.xz outer.tar cut.tar.gz many.tar; do
	"$TACHO" info $archive 2>&1 | sed "s,$PWD/,,g"
	ls tmp
done
ls ../escaped.json /tmp/tacho-escaped.json 2>/dev/null

echo == killed
mkfifo held
exec 3<>held # somebody who reads nothing
"$TACHO" query job.zip 'SELECT a.name, b.name FROM slice a, slice b' >held 3>&- 2>&1 &
for i in $(seq 600); do [ -n "$(ls tmp)" ] && break; sleep 0.1; done
ls tmp | wc -l
{ kill -9 $!; wait $!; } 2>/dev/null
for i in $(seq 600); do [ -z "$(ls tmp)" ] && break; sleep 0.1; done
ls tmp

# A real one of others: a CTF trace in a tar.
real=${TACHO_SHARED:-$TACHO_SOURCE_DIR/../shared}/data/ctf/tracevizlab/ls-ust.tgz
if [ -f "$real" ]; then
	"$TACHO" info "$real" | grep -qE '^holds +[0-9]+' || echo "ls-ust.tgz holds nothing"
	ls tmp
fi
