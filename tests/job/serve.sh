#!/usr/bin/env bash
# tacho serve: JSON, a page and series that promtool finds valid, of a job with a hostile name; who may ask; slow clients;
# 10,000 requests; a real Prometheus scrapes it where there is one.
set -eu
command -v curl >/dev/null || { echo "no curl: skipped"; exit 77; }
python=${PYTHON:-/usr/bin/python3}
"$TACHO" --version | grep "^built with:.*serve" >/dev/null || { echo "no libmicrohttpd: skipped"; exit 77; }
work=$(mktemp -d)
export XDG_RUNTIME_DIR=$work/runtime OMP_NUM_THREADS=1
mkdir -m 700 "$XDG_RUNTIME_DIR"
running=
trap '[ -z "$running" ] || kill $running 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"

# start LOG OPTION...: a server on a port of its own; sets $server and $url
start()
{
	local log=$1 i

	shift
	: >"$log"
	"$TACHO" serve --port 0 "$@" >"$log" 2>&1 &
	server=$!
	running="$running $server"
	for ((i = 0; i < 100; i++)); do
		url=$(sed -n 's/^tacho serve: //p' "$log")
		[ -z "$url" ] || return 0
		sleep 0.1
	done
	cat "$log"
	return 1
}
status()
{
	curl -s -o body -w '%{http_code}' "$@"
}

# A run whose name tries to be something else, and that no look can read.
hostile=$'a"b\\c\n{x="y"} <script>'
mkdir "$hostile"
cp -r "$TACHO_SOURCE_DIR/tests/data/two_ranks/." "$hostile"
start log "$hostile" no-such-run "$TACHO_SOURCE_DIR/tests/data/two_ranks"
for ((i = 0; i < 100; i++)); do
	curl -s "${url}metrics" >metrics
	! grep 'tacho_job_steps_total.* [1-9]' metrics >/dev/null || break
	sleep 0.1
done
grep -F 'run="a\"b\\c' metrics >/dev/null
! grep '^{x=' metrics || exit 1
[ "$(grep -c '^tacho_rank_up' metrics)" = 4 ]
if command -v promtool >/dev/null; then
	promtool check metrics <metrics
fi
curl -s "${url}api/jobs" >jobs
"$python" - jobs "$hostile" <<'END'
import json, sys
jobs = json.load(open(sys.argv[1]))
assert [job["id"] for job in jobs] == [1, 2, 3], jobs
assert jobs[0]["run"] == sys.argv[2], jobs[0]["run"]
assert jobs[1]["state"] == "unreadable" and jobs[2]["ranks"] == 2 and jobs[2]["state"] == "over", jobs
END
curl -s "${url}api/jobs/3" >job
"$TACHO" report "$TACHO_SOURCE_DIR/tests/data/two_ranks" --view step --json >steps
"$python" - job steps <<'END'
import json, sys
job, steps = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
assert [rank["rank"] for rank in job["ranks"]] == [0, 1]
longest = {}
for row in steps:
    longest[row["step"]] = max(longest.get(row["step"], 0), row["duration_ms"])
mine = {row["step"]: row["duration_ms"] for row in job["steps"]}
assert mine and all(mine[step] == longest[step] for step in mine), (mine, longest)
END

# Paths, methods, and pages of other sites.
[ "$(status "$url")" = 200 ]
grep "<!DOCTYPE html>" body >/dev/null
for path in live.js live.css page.css; do
	[ "$(status "$url$path")" = 200 ]
done
[ "$(status "${url}api/jobs/4")" = 404 ]
[ "$(status "${url}api/jobs/99999999999999999999")" = 404 ]
[ "$(status "${url}../etc/passwd" --path-as-is)" = 404 ]
[ "$(status "$url$("$python" -c 'print("x" * 100000)')")" -ge 400 ]
[ "$(status -X POST -d x=y "${url}api/jobs")" = 405 ]
[ "$(status -I "${url}metrics")" = 200 ]
[ "$(status -H 'Host: evil.example' "${url}api/jobs")" = 403 ]

# Clients that say nothing, or one byte, hold nobody up.
port=${url##*:}
port=${port%/}
"$python" - "$port" <<'END'
import socket, sys, time, urllib.request
port = int(sys.argv[1])
slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(25)]
for number, one in enumerate(slow):
    one.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-Slow: " if number % 2 else b"G")
begin = time.monotonic()
for _ in range(20):
    assert urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10).status == 200
assert time.monotonic() - begin < 30
END

# 10,000 requests; what the server holds does not grow with them.
memory()
{
	awk '/^RssAnon/ { print $2 }' "/proc/$server/status"
}
"$python" - "$port" 1000 <<'END' && before=$(memory)
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
for number in range(int(sys.argv[2])):
    connection.request("GET", ("/metrics", "/api/jobs", "/api/jobs/3", "/nothing")[number % 4])
    answer = connection.getresponse()
    assert answer.status == (404 if number % 4 == 3 else 200)
    answer.read()
END
"$python" - "$port" 10000 <<'END'
import http.client, sys
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
for number in range(int(sys.argv[2])):
    connection.request("GET", ("/metrics", "/api/jobs", "/api/jobs/3", "/nothing")[number % 4])
    answer = connection.getresponse()
    assert answer.status == (404 if number % 4 == 3 else 200)
    answer.read()
END
after=$(memory)
# the address sanitizer keeps what was freed
ldd "$TACHO" | grep libasan >/dev/null || [ "$after" -lt $((before + 8192)) ] || { echo "from $before kB to $after kB"; exit 1; }

# The dashboard asks for series that there are, and one that Prometheus understands.
curl -s "${url}grafana.json" >grafana.json
cat >ask.py <<'END'
import json, re, sys, urllib.parse, urllib.request

there = set(re.findall(r"^# HELP (\w+)", open("metrics").read(), re.M))
targets = [t for panel in json.load(open("grafana.json"))["panels"] for t in panel["targets"]]
wanted = {name for target in targets for name in re.findall(r"\btacho_\w+", target["expr"])}
assert len(targets) > 10 and wanted <= there, wanted - there
n_full = 0
for target in targets if len(sys.argv) > 1 else ():
    query = target["expr"].replace("$host", ".*").replace("$run", ".*")
    with urllib.request.urlopen(f"{sys.argv[1]}/api/v1/query?" + urllib.parse.urlencode({"query": query})) as answer:
        found = json.load(answer)
    assert found["status"] == "success", found
    n_full += bool(found["data"]["result"])
    # jobs that run have these
    assert found["data"]["result"] or not re.match(r"(sum\()?tacho_(job_running|job_step_seconds|rank_up)", query), query
assert n_full > 5 or len(sys.argv) == 1, n_full
END
/usr/bin/python3 ask.py

if command -v prometheus >/dev/null; then
	cat >prometheus.yml <<-END
	global: {scrape_interval: 1s}
	scrape_configs:
	  - job_name: tacho
	    static_configs: [{targets: ["127.0.0.1:$port"]}]
	END
	promport=$((20000 + RANDOM % 10000))
	prometheus --config.file=prometheus.yml --storage.tsdb.path=tsdb --web.listen-address=127.0.0.1:$promport \
		>prometheus.log 2>&1 &
	running="$running $!"
	for ((i = 0; i < 300; i++)); do
		curl -s "http://127.0.0.1:$promport/api/v1/query" --data-urlencode \
			'query=tacho_job_steps_total{run="two_ranks"}' >answer || true
		! grep '"value":\[' answer >/dev/null || break
		sleep 0.2
	done
	grep '"value":\[' answer >/dev/null || { cat answer; tail -5 prometheus.log; exit 1; }
	/usr/bin/python3 ask.py "http://127.0.0.1:$promport"
fi
kill -INT $server 2>/dev/null || kill $server
wait $server || true

# Any address but loopback takes a token, and then each request does.
! "$TACHO" serve --port 0 --listen 0.0.0.0 2>refused || exit 1
grep "takes a token" refused >/dev/null
echo short >token
! "$TACHO" serve --port 0 --listen 0.0.0.0 --token-file token 2>refused || exit 1
grep "at least 16" refused >/dev/null
! "$TACHO" serve --port 99999 2>/dev/null || exit 1
! "$TACHO" serve --listen localhost 2>/dev/null || exit 1
echo 0123456789abcdef0123456789abcdef >token
start log2 --listen 0.0.0.0 --token-file token
url=http://127.0.0.1:${url##*:}
for ((i = 0; i < 50; i++)); do
	[ "$(status -H "Authorization: Bearer $(cat token)" "${url}api/jobs")" != 200 ] || break
	sleep 0.1
done
[ "$(status -H "Authorization: Bearer $(cat token)" "${url}api/jobs")" = 200 ]
[ "$(cat body)" = "[]" ]
[ "$(status -u "me:$(cat token)" "${url}metrics")" = 200 ]
[ "$(status "${url}metrics")" = 401 ]
[ "$(status -H "Authorization: Bearer 0123456789abcdef0123456789abcdee" "${url}metrics")" = 401 ]
[ "$(status -H "Authorization: Bearer " "${url}metrics")" = 401 ]
[ "$(status -H "Authorization: Basic %%%" "$url")" = 401 ]

if command -v openssl >/dev/null; then
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
		-addext subjectAltName=IP:127.0.0.1 2>/dev/null
	start log3 --tls-cert cert.pem --tls-key key.pem
	[ "$(status --cacert cert.pem "${url}")" = 200 ]
	! "$TACHO" serve --port 0 --tls-cert token --tls-key key.pem 2>/dev/null || exit 1
fi
