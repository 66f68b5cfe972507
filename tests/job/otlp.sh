#!/usr/bin/env bash
# tacho serve --otlp: what arrives is OpenTelemetry's protocol, read by Python's protobuf, with the figures that /metrics has at the
# same time; and whatever the receiver does, the page answers, no memory grows, and what was lost is counted and told.
set -eu
command -v curl >/dev/null || { echo "no curl: skipped"; exit 77; }
python=${PYTHON:-/usr/bin/python3}
"$python" -c 'import google.protobuf' 2>/dev/null || { echo "no protobuf for Python: skipped"; exit 77; }
features=$("$TACHO" --version | grep "^built with:")
grep serve >/dev/null <<<"$features" || { echo "no libmicrohttpd: skipped"; exit 77; }
grep "metrics that are pushed" >/dev/null <<<"$features" || { echo "no libcurl: skipped"; exit 77; }
work=$(mktemp -d)
export XDG_RUNTIME_DIR=$work/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
for variable in $(compgen -e OTEL_) http_proxy https_proxy all_proxy; do
	unset "$variable"
done
running=
trap '[ -z "$running" ] || kill $running 2>/dev/null || true; wait; rm -rf "$work"' EXIT
cd "$work"
run=$TACHO_SOURCE_DIR/tests/data/two_ranks

# until_true COMMAND...: wait until it succeeds
until_true()
{
	local i

	for ((i = 0; i < 600; i++)); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.1
	done
	echo "never came true: $*"
	cat log* receiver.log
	return 1
}
# receive FOLDER MODE [PORT [CERTIFICATE KEY]]: a receiver; sets $receiver and $endpoint
receive()
{
	local folder=$1

	mkdir -p "$folder"
	rm -f "$folder/port"
	echo "$2" >"$folder/mode"
	touch "$folder/received"
	"$python" "$TACHO_SOURCE_DIR/tests/support/otlp_receiver.py" "${3:-0}" "$folder" "${@:4}" 2>>receiver.log &
	receiver=$!
	running="$running $receiver"
	until_true test -s "$folder/port"
	endpoint=127.0.0.1:$(cat "$folder/port")
}
# The receiver behaves differently, from its next answer on.
mode()
{
	echo "$2" >"$1/mode.new"
	mv "$1/mode.new" "$1/mode"
}
# start LOG OPTION...: a server on a port of its own; sets $server and $url
start()
{
	local log=$1

	shift
	: >"$log"
	"$TACHO" serve --port 0 "$@" >"$log" 2>&1 &
	server=$!
	running="$running $server"
	until_true grep '^tacho serve: http' "$log"
	url=$(sed -n 's/^tacho serve: \(http.*\)/\1/p' "$log")
	until_true has_look
}
has_look()
{
	curl -sf "${url}metrics"
}
stop()
{
	kill -INT "$1"
	wait "$1"
}
count() # requests that came
{
	wc -l <"$1/received"
}
has_more() # FOLDER N
{
	[ "$(count "$1")" -gt "$2" ]
}
pushes() # OUTCOME: how many /metrics counts
{
	curl -sf "${url}metrics" | sed -n "s/^tacho_pushes_total{outcome=\"$1\"} //p"
}
counts_more() # OUTCOME N
{
	[ "$(pushes "$1")" -gt "$2" ]
}
says() # LOG TEXT
{
	grep -F "$2" "$1"
}
never() # COMMAND...
{
	! "$@" || { echo "must not be: $*"; exit 1; }
}

# --- the same figures, by the protocol
hostile=$'a"b\\c\n{x="y"} <script>'
mkdir "$hostile"
cp -r "$run/." "$hostile"
receive taken ok
printf 'Authorization: Bearer secret\nX-Scope: a=b, c\n' >headers
began=$(date +%s.%N)
OTEL_RESOURCE_ATTRIBUTES='deployment.environment.name=test%2C here,host.name=named' OTEL_SERVICE_NAME=mine \
	start log --otlp "http://user:password@$endpoint" --otlp-interval 1 --otlp-headers headers "$hostile" "$run" no-such-run
until_true sh -c "curl -sf ${url}metrics | grep 'tacho_job_steps_total{id=\"2\".* 4'"
curl -sf "${url}metrics" >metrics
before=$(count taken)
until_true has_more taken $((before + 1))
cat >compare.py <<'PYTHON'
"""What came is what /metrics has, by the names that a collector gives to it."""
import json, re, sys, time

folder, began = sys.argv[1], float(sys.argv[2])
last = [json.loads(line) for line in open(f"{folder}/received")][-1]
UNITS = {"s": "_seconds", "By": "_bytes", "1": "_ratio"}

pushed = {}
for point in last["points"]:
    assert re.fullmatch(r"[a-z][a-z_]*(\.[a-z][a-z_]*)*", point["name"]) and point["description"], point
    assert point["unit"] in UNITS or not point["unit"] or re.fullmatch(r"\{[a-z]+\}", point["unit"]), point
    assert began < point["time"] / 1e9 <= time.time() + 1, point
    if point["kind"] == "sum":
        assert point["temporality"] == 2 and point["monotonic"] and point["type"] == "as_int", point
        # the run whose steps are counted was recorded before; all else is counted since the server began
        if point["start"]:
            assert point["start"] <= point["time"] and (point["start"] / 1e9 < began) == (".steps" in point["name"]), point
        else:
            assert point["labels"]["run"] == "no-such-run", point
    else:
        assert not point["start"] and point["type"] == "as_double", point
    name = point["name"].replace(".", "_") + UNITS.get(point["unit"], "") + ("_total" if point["kind"] == "sum" else "")
    key = name, frozenset((key, str(value)) for key, value in point["labels"].items())
    assert key not in pushed, key
    pushed[key] = float(point["value"])

scraped = {}
for line in open("metrics"):
    found = re.fullmatch(r'(\w+)(?:\{(.*)\})? (\S+)\n', line)
    if found:
        labels = re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', found[2] or "")
        scraped[found[1], frozenset((key, re.sub(r"\\(.)", r"\1", value)) for key, value in labels)] = float(found[3])

of_pushes = lambda figures: {key: value for key, value in figures.items() if key[0].startswith("tacho_pushes")}
assert len(of_pushes(pushed)) == len(of_pushes(scraped)) == 4, (pushed, scraped)
rest = lambda figures: {key: value for key, value in figures.items() if key not in of_pushes(figures)}
assert rest(pushed) == rest(scraped), set(rest(pushed).items()) ^ set(rest(scraped).items())
assert len(rest(scraped)) > 60, len(rest(scraped))
headers = last["headers"]
assert last["path"] == "/v1/metrics" and headers["content-type"] == "application/x-protobuf" and "expect" not in headers, last
assert headers["x-scope"] == "a=b, c" and headers["authorization"] == "Bearer secret", headers
resource = last["resource"]
assert resource["service.name"] == "mine" and resource["host.name"] == "named" and resource["service.version"], resource
assert resource["deployment.environment.name"] == "test, here" and resource["service.instance.id"], resource
assert last["scope"][0] == "tacho", last
PYTHON
"$python" compare.py taken "$began"
until_true says log "pushes metrics to http://$endpoint/v1/metrics every 1 s"
never says log password
never says log secret

# --- what a receiver may answer
# Told when to come again, it comes not before, with the same bytes.
mode taken "later 2"
until_true says log "status 503"
mode taken ok
before=$(pushes taken)
until_true counts_more taken "$before"
until_true says log "takes metrics again; 0 requests were lost"
"$python" - <<'PYTHON'
import json
rows = [json.loads(line) for line in open("taken/received")]
later = [i for i, row in enumerate(rows) if row["mode"] == "later"]
assert later
for i in later:
    assert rows[i + 1]["digest"] == rows[i]["digest"], "another request came in between"
    assert rows[i + 1]["monotonic"] - rows[i]["monotonic"] >= 1.9, (rows[i], rows[i + 1])
PYTHON
# Refused for good, it is not sent again, and counted; a redirection is a refusal, too, and not followed.
mode taken "status 400 do not want <this>"
until_true says log "refuses metrics, and they are dropped: status 400: do not want <this>"
mode taken "elsewhere http://$endpoint/stolen"
until_true grep '"mode": "elsewhere"' taken/received
mode taken ok
before=$(pushes taken)
until_true counts_more taken "$before"
[ "$(pushes refused)" -ge 2 ]
"$python" - <<'PYTHON'
import json
rows = [json.loads(line) for line in open("taken/received")]
refused = [row["digest"] for row in rows if row["mode"] in ("status", "elsewhere")]
assert len(refused) >= 2 and len(set(refused)) == len(refused), refused
assert not any(row["digest"] in refused for row in rows if row["mode"] == "ok")
assert all(row["path"] == "/v1/metrics" for row in rows)
PYTHON
# Taken in part, it is not sent again, and said.
mode taken "partly 3 those are too old"
until_true says log "3 points were rejected: those are too old"
mode taken "status 429 slowly"
until_true says log "status 429"

# --- a receiver that is hostile
memory()
{
	awk '/^RssAnon/ { print $2 }' "/proc/$server/status"
}
before_kb=$(memory)
for how in hugely headers in_part; do
	mode taken $how
	until_true grep "\"mode\": \"$how\"" taken/received
	before=$(count taken)
	until_true has_more taken "$before"
	has_look >/dev/null
done
until_true says log "with an answer of more than 4 MiB"
# It never answers: the page does, and figures wait.
mode taken never
until_true grep '"mode": "never"' taken/received
for ((i = 0; i < 50; i++)); do
	has_look >/dev/null
done
until_true sh -c "curl -sf ${url}metrics | grep '^tacho_pushes_waiting [2-9]'"
after_kb=$(memory)
# the address sanitizer keeps what was freed
ldd "$TACHO" | grep libasan >/dev/null || [ "$after_kb" -lt $((before_kb + 16384)) ] || { echo "from $before_kb kB to $after_kb kB"; exit 1; }
# Nor does it keep the server from ending.
stop $server

# --- a receiver that comes and goes, by variables alone
receive gone ok
kill $receiver
wait $receiver || true
OTEL_EXPORTER_OTLP_ENDPOINT=http://$endpoint/base/ OTEL_METRIC_EXPORT_INTERVAL=1000 OTEL_EXPORTER_OTLP_HEADERS='a=b%20c,d=' \
	OTEL_EXPORTER_OTLP_TIMEOUT=2000 start log2 "$run"
until_true says log2 "cannot push metrics to http://$endpoint/base/v1/metrics, and will try again"
until_true sh -c "curl -sf ${url}metrics | grep '^tacho_pushes_waiting [2-9]'"
receive gone never "$(cat gone/port)"
until_true has_more gone 1 # it gave up after two seconds, and came again
mode gone ok
until_true counts_more taken 2
"$python" - <<'PYTHON'
import json
rows = [json.loads(line) for line in open("gone/received")]
assert all(row["path"] == "/base/v1/metrics" and row["headers"]["a"] == "b c" and row["headers"]["d"] == "" for row in rows)
taken = [row["points"][0]["time"] for row in rows if row["mode"] == "ok"]
assert taken == sorted(set(taken)), "out of order, or twice"
PYTHON
stop $server

# --- without a page
receive alone ok
"$TACHO" serve --listen none --otlp "http://$endpoint/own/path" --otlp-interval 1 "$run" >log3 2>&1 &
server=$!
running="$running $server"
until_true has_more alone 1
grep '"path": "/own/path"' alone/received >/dev/null
stop $server
never grep '^tacho serve: http' log3

# --- what is refused at once
refused() # TEXT COMMAND...
{
	local text=$1 status=0

	shift
	"$@" >out 2>&1 || status=$?
	[ $status = 2 ] && grep -F "$text" out >/dev/null || { echo "not '$text', but $status:"; cat out; exit 1; }
}
refused "no URL of http or https" "$TACHO" serve --port 0 --otlp ftp://127.0.0.1/
refused "no URL of http or https" "$TACHO" serve --port 0 --otlp http://
refused "every 1 to 86400 seconds" "$TACHO" serve --port 0 --otlp http://127.0.0.1:1 --otlp-interval 0.5
refused "every 1 to 86400 seconds" "$TACHO" serve --port 0 --otlp http://127.0.0.1:1 --otlp-interval nan
refused "No such file" "$TACHO" serve --port 0 --otlp http://127.0.0.1:1 --otlp-headers none-such
printf 'fine: yes\nnot so\n' >wrong
refused "line 2 of the headers" "$TACHO" serve --port 0 --otlp http://127.0.0.1:1 --otlp-headers wrong
refused "leaves nothing to do" "$TACHO" serve --listen none
refused "leaves nothing to do" env OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_SDK_DISABLED=true "$TACHO" serve --listen none
refused "speaks http/protobuf alone" env OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 OTEL_EXPORTER_OTLP_PROTOCOL=grpc "$TACHO" serve --listen none
refused "leaves nothing to do" env OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1 "$TACHO" serve --listen none --otlp none
refused "OTEL_EXPORTER_OTLP_HEADERS: part 2" env OTEL_EXPORTER_OTLP_HEADERS=a=b,c "$TACHO" serve --port 0 --otlp http://127.0.0.1:1
refused "no header of HTTP 'a'" env OTEL_EXPORTER_OTLP_HEADERS=a=b%0d%0aEvil:%20yes "$TACHO" serve --port 0 --otlp http://127.0.0.1:1
refused "OTEL_RESOURCE_ATTRIBUTES: part 1" env OTEL_RESOURCE_ATTRIBUTES=a=%ff "$TACHO" serve --port 0 --otlp http://127.0.0.1:1

# --- TLS: whose certificate nobody known has signed is told nothing
if command -v openssl >/dev/null; then
	openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost \
		-addext subjectAltName=IP:127.0.0.1 2>/dev/null
	receive tls ok 0 cert.pem key.pem
	start log4 --otlp "https://$endpoint" --otlp-interval 1 "$run"
	until_true says log4 "certificate"
	[ "$(count tls)" = 0 ]
	stop $server
	start log5 --otlp "https://$endpoint" --otlp-interval 1 --otlp-ca cert.pem "$run"
	until_true has_more tls 1
	stop $server
fi
# The receiver found nothing that is not of the protocol.
never grep AssertionError receiver.log
