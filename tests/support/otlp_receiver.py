"""A receiver of OpenTelemetry's protocol for tests, by Python's protobuf and a description of the messages written for it: it decodes what comes,
writes it down, and answers as the file `mode` says.

usage: otlp_receiver.py PORT FOLDER [CERTIFICATE KEY]

PORT 0: any that is free. FOLDER/port has the port. FOLDER/received has a line of JSON for each request: path, headers, a digest of the
body, points. FOLDER/mode has one of MODES, and what it takes."""
import hashlib, http.server, json, os, ssl, sys, time

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

# message -> (field, number, type); a capital begins the name of a message, * is a list
MESSAGES = {
    "Request": [("resource_metrics", 1, "*ResourceMetrics")],
    "ResourceMetrics": [("resource", 1, "Resource"), ("scope_metrics", 2, "*ScopeMetrics"), ("schema_url", 3, "string")],
    "Resource": [("attributes", 1, "*KeyValue")],
    "ScopeMetrics": [("scope", 1, "Scope"), ("metrics", 2, "*Metric"), ("schema_url", 3, "string")],
    "Scope": [("name", 1, "string"), ("version", 2, "string")],
    "Metric": [("name", 1, "string"), ("description", 2, "string"), ("unit", 3, "string"), ("gauge", 5, "Gauge"), ("sum", 7, "Sum")],
    "Gauge": [("data_points", 1, "*Point")],
    "Sum": [("data_points", 1, "*Point"), ("aggregation_temporality", 2, "int32"), ("is_monotonic", 3, "bool")],
    "Point": [("start_time_unix_nano", 2, "fixed64"), ("time_unix_nano", 3, "fixed64"), ("as_double", 4, "double"),
              ("as_int", 6, "sfixed64"), ("attributes", 7, "*KeyValue")],
    "KeyValue": [("key", 1, "string"), ("value", 2, "AnyValue")],
    "AnyValue": [("string_value", 1, "string"), ("int_value", 3, "int64")],
    "Response": [("partial_success", 1, "PartialSuccess")],
    "PartialSuccess": [("rejected_data_points", 1, "int64"), ("error_message", 2, "string")],
    "Status": [("code", 1, "int32"), ("message", 2, "string")],
}
CHOICES = {"Metric": {"gauge", "sum"}, "Point": {"as_double", "as_int"}, "AnyValue": {"string_value", "int_value"}}


def make_classes():
    file = descriptor_pb2.FileDescriptorProto(name="received.proto", package="received", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        if name in CHOICES:
            message.oneof_decl.add(name="choice")
        for field, number, kind in fields:
            made = message.field.add(name=field, number=number, label=3 if kind[0] == "*" else 1)
            kind = kind.lstrip("*")
            if kind[0].isupper():
                made.type, made.type_name = made.TYPE_MESSAGE, f".received.{kind}"
            else:
                made.type = getattr(made, f"TYPE_{kind.upper()}")
            if field in CHOICES.get(name, ()):
                made.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    make = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    return {name: make(pool.FindMessageTypeByName(f"received.{name}")) for name in MESSAGES}


CLASSES = make_classes()


def plain(attributes):
    made = {}
    for pair in attributes:
        assert pair.key and pair.key not in made, pair
        made[pair.key] = getattr(pair.value, pair.value.WhichOneof("choice"))
    return made


def read_request(body):
    """What stands in it, and nothing else may."""
    request = CLASSES["Request"].FromString(body)
    known = CLASSES["Request"].FromString(body)
    known.DiscardUnknownFields()
    assert known.ByteSize() == len(body), "fields that nobody knows"
    assert len(request.resource_metrics) == 1 and len(request.resource_metrics[0].scope_metrics) == 1
    of_resource = request.resource_metrics[0]
    points = []
    for metric in of_resource.scope_metrics[0].metrics:
        choice = metric.WhichOneof("choice")
        for point in getattr(metric, choice).data_points:
            points.append({
                "name": metric.name, "unit": metric.unit, "description": metric.description, "kind": choice,
                "labels": plain(point.attributes), "value": getattr(point, point.WhichOneof("choice")), "type": point.WhichOneof("choice"),
                "start": point.start_time_unix_nano, "time": point.time_unix_nano,
                "temporality": metric.sum.aggregation_temporality, "monotonic": metric.sum.is_monotonic})
    scope = of_resource.scope_metrics[0].scope
    return {"resource": plain(of_resource.resource.attributes), "scope": [scope.name, scope.version], "points": points}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *words):
        pass

    def send(self, status, body=b"", kind="application/x-protobuf", **headers):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        mode, *words = open(f"{FOLDER}/mode").read().split(maxsplit=1) or ["ok"]
        note = {"mode": mode, "path": self.path, "headers": {key.lower(): value for key, value in self.headers.items()}, "at": time.time(),
                "monotonic": time.monotonic(), "digest": hashlib.sha256(body).hexdigest()}
        note.update(read_request(body))
        with open(f"{FOLDER}/received", "a") as out:
            out.write(json.dumps(note) + "\n")
        MODES[mode](self, *words)

    def answer_status(self, words):
        status, *text = words.split(maxsplit=1)
        self.send(int(status), CLASSES["Status"](message=" ".join(text)).SerializeToString())

    def answer_later(self, words):
        self.send(503, Retry_After=words)

    def answer_partly(self, words):
        count, text = words.split(maxsplit=1)
        self.send(200, CLASSES["Response"](partial_success=CLASSES["PartialSuccess"](
            rejected_data_points=int(count), error_message=text)).SerializeToString())

    def answer_never(self):
        time.sleep(600)

    def answer_in_part(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"x" * 10)
        self.wfile.flush()
        self.close_connection = True

    def pour(self, piece):
        try:
            for _ in range(4000):  # some 256 MB
                self.wfile.write(piece)
        except OSError:
            pass  # the client has gone
        self.close_connection = True

    def answer_hugely(self):
        self.send_response(200)
        self.end_headers()
        self.pour(b"x" * 65536)

    def answer_with_headers(self):
        self.send_response(200)
        self.pour(b"X-More: " + b"x" * 65526 + b"\r\n")

    def answer_elsewhere(self, words):
        self.send(307, Location=words)


MODES = {"ok": Handler.send, "status": Handler.answer_status, "later": Handler.answer_later, "partly": Handler.answer_partly,
         "never": Handler.answer_never, "in_part": Handler.answer_in_part, "hugely": Handler.answer_hugely,
         "headers": Handler.answer_with_headers, "elsewhere": Handler.answer_elsewhere}
MODES["ok"] = lambda handler: handler.send(200)

if __name__ == "__main__":
    FOLDER = sys.argv[2]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = True
    if len(sys.argv) > 3:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3], sys.argv[4])
        server.socket = context.wrap_socket(server.socket, server_side=True)
    with open(f"{FOLDER}/port.new", "w") as out:
        out.write(str(server.server_address[1]))
    os.rename(f"{FOLDER}/port.new", f"{FOLDER}/port")
    server.serve_forever()
