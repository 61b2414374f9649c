"""Gives every exported trace to two receivers that others wrote.

- opentelemetry-proto-json reads each file and writes it again: nothing may differ.
- rotel is a collector: each file is posted to its HTTP receiver, and what it prints has to be what was sent.

Usage: accept.py FOLDER, which holds *.json files of one ExportTraceServiceRequest each.
"""

import collections
import decimal
import json
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import rotel
from opentelemetry.proto_json.collector.trace.v1.trace_service import ExportTraceServiceRequest

Exact = decimal.Decimal


def spans_of(document):
    return [span for resource in document["resourceSpans"] for scope in resource["scopeSpans"] for span in scope["spans"]]


def exact(text):
    return json.loads(text, parse_float=Exact)


def read_and_write_again(files):
    """What opentelemetry-proto-json writes is what it read, number for number."""
    for file in files:
        text = file.read_text()
        written = ExportTraceServiceRequest.from_json(text).to_json()
        assert exact(written) == exact(text), f"{file.name}: differs after reading and writing"
        again = ExportTraceServiceRequest.from_json(written)
        assert again == ExportTraceServiceRequest.from_json(text), f"{file.name}: reads differently the second time"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def post(url, body):
    request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def wait_until(condition, what):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, f"rotel: {what} took longer than 20 s"
        time.sleep(0.05)


def answers(url):
    try:
        return post(url, b'{"resourceSpans":[]}')[0] == 200
    except OSError:
        return False


def printed(log):
    """The spans as rotel prints them: trace, parent, id, name, kind, status."""
    labels = ["Trace ID", "Parent ID", "ID", "Name", "Kind", "Status code"]
    pattern = r"^Span #\d+\n" + "".join(rf"(?:.*\n)*?\s+{label}\s*: ?(.*)\n" for label in labels)
    return re.findall(pattern, log, re.MULTILINE)


def sent(files):
    kinds = {1: "SPAN_KIND_INTERNAL", 3: "SPAN_KIND_CLIENT"}
    codes = {0: "STATUS_CODE_UNSET", 2: "STATUS_CODE_ERROR"}
    for file in files:
        for span in spans_of(exact(file.read_text())):
            status = codes[span["status"].get("code", 0)]
            yield (span["traceId"], span.get("parentSpanId", ""), span["spanId"], span["name"], kinds[span["kind"]], status)


def tokens_printed(log):
    return sum(int(number) for number in re.findall(r"gen_ai\.usage\.\w+_tokens: Int\((\d+)\)", log))


def tokens_sent(files):
    attributes = (a for file in files for span in spans_of(exact(file.read_text())) for a in span["attributes"])
    return sum(int(a["value"]["intValue"]) for a in attributes if re.fullmatch(r"gen_ai\.usage\.\w+_tokens", a["key"]))


def receive(files):
    """rotel takes every trace, and prints exactly the spans that were sent."""
    http, grpc = free_port(), free_port()
    url = f"http://127.0.0.1:{http}/v1/traces"
    agent = pathlib.Path(rotel.__file__).parent / "rotel-agent"
    command = [
        *(agent, "start", "--exporter", "blackhole", "--debug-log", "traces", "--debug-log-verbosity", "detailed"),
        *("--otlp-http-endpoint", f"127.0.0.1:{http}", "--otlp-grpc-endpoint", f"127.0.0.1:{grpc}"),
    ]
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            wait_until(lambda: process.poll() is None and answers(url), "starting")
            assert post(url, b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":7}]}]}]}')[0] == 400, "rotel reads anything"
            for file in files:
                status, answer = post(url, file.read_bytes())
                rejected = (json.loads(answer).get("partialSuccess") or {}).get("rejectedSpans", 0) if status == 200 else None
                assert (status, rejected) == (200, 0), f"{file.name}: rotel answers {status} {answer}"

            def log():
                output.flush()
                output.seek(0)
                return output.read()

            expected = collections.Counter(sent(files))
            wait_until(lambda: len(printed(log())) >= expected.total(), "printing")
            found = collections.Counter(printed(log()))
            assert found == expected, f"rotel prints other spans: {list((found - expected) + (expected - found))[:3]}"
            assert tokens_printed(log()) == tokens_sent(files), "rotel prints other token counts"
            return expected.total()
        finally:
            process.terminate()
            process.wait(10)


def main():
    files = sorted(pathlib.Path(sys.argv[1]).glob("*.json"))
    assert len(files) > 100, f"only {len(files)} exported traces in {sys.argv[1]}: run `cargo test` first"
    read_and_write_again(files)
    print(f"opentelemetry-proto-json: {len(files)} traces are equal after reading and writing")
    # The printed form is long, so rotel is given every trace that is not one of the many crashed ones, and some of those.
    chosen = [file for file in files if "crashed-" not in file.name] + [file for file in files if "crashed-" in file.name][::8]
    print(f"rotel: received {receive(chosen)} spans of {len(chosen)} traces and printed them as they were sent")
    print("2 passed, 0 failed")


main()
