#!/usr/bin/env bash
# tacho serve --from: jobs of other hosts are those that the hosts tell of, on the page's paths and in /metrics; circles end; a host that is
# gone, slow or hostile does no harm, and is told, with since when.
set -eu
command -v curl >/dev/null || { echo "no curl: skipped"; exit 77; }
python=${PYTHON:-/usr/bin/python3}
features=$("$TACHO" --version | grep "^built with:")
grep serve >/dev/null <<<"$features" || { echo "no libmicrohttpd: skipped"; exit 77; }
grep "metrics that are pushed" >/dev/null <<<"$features" || { echo "no libcurl: skipped"; exit 77; }
work=$(mktemp -d)
export XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
running=
trap '[ -z "$running" ] || kill $running 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
run=$TACHO_SOURCE_DIR/tests/data/two_ranks

until_true()
{
	local i

	for ((i = 0; i < 600; i++)); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	echo "never came true: $*"
	cat log*
	curl -s "${url}api/hosts" || true
	return 1
}
# start LOG OPTION...: a server; sets $server and $url
start()
{
	local log=$1

	shift
	: >"$log"
	"$TACHO" serve "$@" >"$log" 2>&1 &
	server=$!
	running="$running $server"
	until_true grep '^tacho serve: http' "$log"
	url=$(sed -n 's/^tacho serve: \(http.*\)/\1/p' "$log")
}
stop()
{
	kill -INT "$1"
	wait "$1"
}
# asked PATH PYTHON: whether the expression is true of the answer, `it`
asked()
{
	curl -sf "${url}$1" >"answer" && "$python" -c 'import json, sys; it = json.load(open("answer")); sys.exit(not eval(sys.argv[1]))' "$2"
}
holds() # the same, at once
{
	asked "$@" || { echo "not so: $*"; cat answer; exit 1; }
}
check_metrics()
{
	curl -sf "${url}metrics" >metrics
	! command -v promtool >/dev/null || promtool check metrics <metrics
}
free_port()
{
	"$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# --- a circle: one gathers from itself and from another, which gathers from it
one=$(free_port)
two=$(free_port)
start log1 --port "$one" --from "http://127.0.0.1:$two" --from "http://127.0.0.1:$one/" "$run"
first=$server
start log2 --port "$two" --from "http://127.0.0.1:$one" "$run" "$run"
second=$server
url=http://127.0.0.1:$one/
until_true asked api/hosts '[host["state"] for host in it] == ["running", "running"]'
until_true asked api/jobs '[job["id"] for job in it] == [1, 1000001, 1000002, 2000001]'
holds api/jobs 'it[1]["host"] == "127.0.0.1:'"$two"'" and it[3]["host"] == "127.0.0.1:'"$one"'" and it[0]["host"]'
until_true asked api/jobs 'all({k: v for k, v in job.items() if k not in ("id", "host")} == {k: v for k, v in it[0].items() if k not in ("id", "host")} for job in it) and it[0]["steps"] == 4'
until_true sh -c "curl -sf ${url}metrics | grep -c '^tacho_rank_steps_total.* 4' | grep '^8'"
check_metrics
"$python" - "$two" "$one" <<'PYTHON'
import re, sys
series = {}
for line in open("metrics"):
    found = re.fullmatch(r'(tacho_(?:job|rank)_\w+)\{host="([^"]*)",id="(\d+)",(.*)\} (\S+)\n', line)
    if found:
        series.setdefault((found[2], int(found[3])), {})[found[1], found[4]] = found[5]
own, *others = [series[key] for key in sorted(series, key=lambda key: key[1])]
assert [key[1] for key in sorted(series, key=lambda key: key[1])] == [1, 1000001, 1000002, 2000001], series.keys()
assert {key[0] for key in series if key[1] > 1} == {f"127.0.0.1:{port}" for port in sys.argv[1:]}
assert len(own) > 30 and all(other == own for other in others)
PYTHON
grep "^tacho_host_up{host=\"127.0.0.1:$two\"} 1" metrics >/dev/null
# What a host has of a job comes when somebody asks for it.
until_true asked api/jobs/1000002 'it["id"] == 1000002'
cp answer there
url=http://127.0.0.1:$two/
holds api/jobs/2 True
"$python" - <<'PYTHON'
import json
here, there = json.load(open("answer")), json.load(open("there"))
assert there.pop("host") and there["id"] == 1000002 and here["id"] == 2
del here["id"], there["id"]
assert here == there and len(here["ranks"]) == 2 and here["steps"], (here, there)
PYTHON
url=http://127.0.0.1:$one/
for id in 1000003 1999999 3000001 4294967295 99999999999; do
	[ "$(curl -s -o /dev/null -w '%{http_code}' "${url}api/jobs/$id")" = 404 ]
done
# A host that has gone is told with since when, its jobs stay as they were, without series; and it comes back.
stop $second
until_true asked api/hosts 'it[0]["state"] == "silent" and it[0]["error"] and it[0]["since_unix_ns"] >= it[0]["answer_unix_ns"] > 0'
until_true asked api/jobs '[job["state"] for job in it] == ["over", "silent", "silent", "over"] and it[1]["steps"] == 4'
until_true sh -c "! curl -sf ${url}metrics | grep 'id=\"1000001\"'"
check_metrics
grep "^tacho_host_up{host=\"127.0.0.1:$two\"} 0" metrics >/dev/null
start log2 --port "$two" "$run"
second=$server
url=http://127.0.0.1:$one/
until_true asked api/jobs '[(job["id"], job["state"]) for job in it] == [(1, "over"), (1000001, "over"), (2000001, "over")]'
stop $second
stop $first

# --- tokens, and TLS
echo 0123456789abcdef0123456789abcdef >token
echo 0123456789abcdef0123456789abcdee >wrong
start log3 --port 0 --token-file token "$run"
third=$server
there=$url
start log4 --port 0 --from "$there" --from-token-file wrong
fourth=$server
until_true asked api/hosts 'it[0]["error"] == "status 401"'
holds api/jobs 'it == []'
stop $fourth
start log4 --port 0 --from "$there" --from-token-file token
fourth=$server
until_true asked api/jobs '[job["id"] for job in it] == [1000001]'
stop $fourth
stop $third
if command -v openssl >/dev/null; then
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
		-addext subjectAltName=IP:127.0.0.1 2>/dev/null
	start log3 --port 0 --tls-cert cert.pem --tls-key key.pem "$run"
	third=$server
	there=$url
	start log4 --port 0 --from "$there"
	fourth=$server
	until_true asked api/hosts '"certificate" in (it[0]["error"] or "")'
	stop $fourth
	start log4 --port 0 --from "$there" --from-ca cert.pem
	fourth=$server
	until_true asked api/jobs '[job["id"] for job in it] == [1000001]'
	stop $fourth
	stop $third
fi

# --- hosts that are hostile, beside a good one
cat >hostile.py <<'PYTHON'
import http.server, json, os, sys, time

EVIL = '<script>alert(1)</script>"\\\n\x1b[31m'
def job(number, **more):
    return {"id": number, "run": EVIL, "ranks": "many", "steps": 1e300, "step_ms": "NaN", "state": EVIL, "command": EVIL * 200,
            "unknown": [1, {"a": "b"}], **more}
label = 'id="%d",run="<b>\\"x\\\\"'
ANSWERS = {  # path -> answer, by what the host is
    "many": {"/api/jobs": json.dumps([job(number) for number in range(1, 201)] + [job(3), job(-1), job(1 << 40), 7, None, "x"]),
             "/metrics": "".join("tacho_job_running{%s} 1\n" % (label % number) for number in range(1, 201)) * 2},
    "html": {"/api/jobs": "<html>no</html>", "/metrics": ""},
    "cut": {"/api/jobs": json.dumps([job(1)])[:-2], "/metrics": ""},
    "deep": {"/api/jobs": "[" * 1000000, "/metrics": ""},
    "bytes": {"/api/jobs": b"[{\"id\": 1, \"run\": \"\xff\xfe\x00\"}]", "/metrics": b"tacho_job_running{id=\"1\",run=\"\xff\"} 1\n"},
    "series": {"/api/jobs": json.dumps([job(1, state="running")]),
               "/metrics": "tacho_rank_up{%s,rank=\"0\"} 1\n" % (label % 1) + "tacho_rank_up{%s,rank=\"0\"} 1\n" % (label % 1)
               + "tacho_job_running{%s} nan\ntacho_job_running{%s,evil=\"1\"} 1\ntacho_job_running{id=\"1\"} 1\n" % (label % 1, label % 1)
               + "tacho_job_finding{%s,kind=\"<i>\"} 1\ntacho_job_finding{%s,kind=\"hang\"} 1\nevil 1\ntacho_jobs 99\n" % (label % 1, label % 1)
               + "tacho_job_ranks{id=\"1\",run=\"open\ntacho_job_ranks{%s} 2\ntacho_job_ranks{%s} 3" % (label % 1, label % 1)},
}
DETAIL = json.dumps({"run": EVIL, "ranks": [{"rank": 1, "doing": EVIL}] * 5000, "findings": 7, "steps": [[]]})
KIND = sys.argv[1]

class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *words):
        pass

    def do_GET(self):
        if KIND == "never":
            time.sleep(600)
        if KIND == "elsewhere":
            self.send_response(302)
            self.send_header("Location", sys.argv[2])
            self.end_headers()
            return
        self.send_response(200)
        self.end_headers()
        try:
            if KIND == "huge":
                for _ in range(4000):
                    self.wfile.write(b"[" + b" " * 65535)
            answer = ANSWERS.get(KIND, {}).get(self.path.split("?")[0], DETAIL)
            self.wfile.write(answer if isinstance(answer, bytes) else answer.encode())
        except OSError:
            pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
with open(f"{KIND}.new", "w") as out:
    out.write(str(server.server_address[1]))
os.rename(f"{KIND}.new", f"{KIND}.port")
server.serve_forever()
PYTHON
start log5 --port 0 "$run"
good=$server
there=$url
kinds=(many html cut deep bytes series never elsewhere huge)
from=()
for kind in "${kinds[@]}"; do
	"$python" hostile.py $kind "$there" 2>>log.hostile &
	running="$running $!"
	until_true test -s $kind.port
	from+=(--from "http://127.0.0.1:$(cat $kind.port)")
done
start log6 --port 0 "${from[@]}" --from "$there"
gatherer=$server
until_true asked api/jobs 'it[-1]["id"] == 10000001 and it[-1]["steps"] == 4'
until_true asked api/hosts 'all(host["error"] or host["answer_unix_ns"] for host in it)'
for ((i = 0; i < 20; i++)); do
	curl -sf "${url}api/jobs" >/dev/null
done
holds api/hosts '[host["state"] == "running" for host in it] == [True, False, False, False, True, True, False, False, False, True]'
holds api/hosts 'it[0]["jobs"] == 64 and it[0]["jobs_left_out"] == 136'
holds api/hosts '"no list of jobs" in it[1]["error"] and "no list of jobs" in it[3]["error"] and it[7]["error"] == "status 302" and "MiB" in it[8]["error"]'
holds api/jobs 'len(it) == 64 + 1 + 1 + 1 and len({job["id"] for job in it}) == len(it)'
holds api/jobs 'all(len(job["command"]) < 5000 and "\x1b" not in job["run"] and job["ranks"] is None and job["step_ms"] is None for job in it[:64])'
# The page is told to take no script but its own, and an answer is of no type that a browser would take for a page.
curl -sf -D head "${url}api/jobs" >/dev/null
grep -i "^content-type: application/json" head >/dev/null
grep -i "^x-content-type-options: nosniff" head >/dev/null
check_metrics
[ "$(grep -c '^tacho_job_running{.*id="10000[0-9][0-9]"' metrics)" = 64 ]
[ "$(grep -c '^tacho_rank_up{.*id="6000001"' metrics)" = 1 ]
[ "$(grep -c 'id="6000001"' metrics)" = 3 ]
if grep evil metrics || grep '<i>' metrics || grep 'tacho_jobs 99' metrics; then
	exit 1
fi
until_true asked api/jobs/1000001 'len(it["ranks"]) == 1024 and it["findings"] == [] and it["steps"] == []'
memory()
{
	awk '/^RssAnon/ { print $2 }' "/proc/$gatherer/status"
}
before_kb=$(memory)
seen=$(curl -sf "${url}metrics" | sed -n "s/^tacho_host_answer_timestamp_seconds{host=\"127.0.0.1:$(cat many.port)\"} //p")
until_true asked api/hosts "it[0]['answer_unix_ns'] / 1e9 > $seen + 8"
after_kb=$(memory)
ldd "$TACHO" | grep libasan >/dev/null || [ "$after_kb" -lt $((before_kb + 32768)) ] || { echo "from $before_kb kB to $after_kb kB"; exit 1; }
stop $gatherer
stop $good

# --- what is refused at once
refused() # TEXT COMMAND...
{
	local text=$1 status=0

	shift
	"$@" >out 2>&1 || status=$?
	[ $status = 2 ] && grep -F "$text" out >/dev/null || { echo "not '$text', but $status:"; cat out; exit 1; }
}
refused "no URL of http or https" "$TACHO" serve --port 0 --from node2
refused "not the page of a tacho serve" "$TACHO" serve --port 0 --from 'http://node2:9460/?a=b'
refused "named twice" "$TACHO" serve --port 0 --from http://127.0.0.1:9460 --from http://127.0.0.1:9460/
echo short >short
refused "at least 16" "$TACHO" serve --port 0 --from http://127.0.0.1:9460 --from-token-file short
printf '0123456789abcdef\nEvil: header\n' >lines
refused "more than one line" "$TACHO" serve --port 0 --from http://127.0.0.1:9460 --from-token-file lines
many=()
for ((i = 1; i <= 65; i++)); do
	many+=(--from "http://node$i:9460")
done
refused "at most 64 hosts" "$TACHO" serve --port 0 "${many[@]}"
