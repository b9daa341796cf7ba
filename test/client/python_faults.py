"""Plays a gate with faults to the Python client, on loopback, and prints what came of it."""

import asyncio
import decimal
import email.utils
import errno
import json
import logging
import os
import re
import threading
import time
import urllib.error
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["http_proxy"] = "http://127.0.0.1:9"  # nothing may be sent there

import intent_gate
from intent_gate.canonical import canonical_digest
from intent_gate.keys import _encode_json

seen = []
traced = []
bodies = []
script = []
unavailable = []
read_with = []
unreadable = []
lost_states = []
words = {}
policy = {"uid": "x:policy", "type": "Set", "permission": [{"action": "execute", "target": "x:all"}]}
claims = _encode_json({"iat": 0, "exp": 3600})


class Service(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def answer(self, status, body, **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def do_GET(self):
        if unavailable and self.path == "/api/policy":
            status = unavailable.pop(0)
            error = {"error": {"code": "SERVICE_UNAVAILABLE", "message": "m"}}
            return self.answer(status, error, Retry_After=email.utils.formatdate(time.time() + 60 * (status == 503), usegmt=True))
        if self.path == "/api/policy":
            return self.answer(200, policy)
        if self.path.startswith("/api/intents/search"):
            read_with.append(self.headers["Authorization"])
            if self.headers["Authorization"] and unreadable:
                return self.answer(unreadable.pop(0), {"error": {"code": "UNAUTHORIZED", "message": "m"}})
            return self.answer(200, {"intents": [self.path], "pagination": {}})
        if lost_states and self.path.startswith("/api/executions/"):
            return lost_states.pop() and self.connection.close()
        if self.path.startswith("/api/executions/"):
            error = {"code": "INTENT_EXECUTION_FAILED", "message": "m", "details": {"retry_after_seconds": 66}}
            return self.answer(200, {"status": "done", "execution": self.path, "outcome": {"status": 502, "body": {"error": error}}})
        digest = "other" if words.get("lag", 0) > 0 else canonical_digest(policy)
        words["lag"] = words.get("lag", 0) - 1
        self.answer(200, {"policy": f"x:policy#sha-256={digest}", "sentences": [f"{len(policy['permission'])} permissions"]})

    def do_POST(self):
        sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/api/pat/issue":
            return self.answer(200, {"proto-pat": f"a.{claims}.b"})
        seen.append(self.headers["Idempotency-Key"])
        traced.append(self.headers["traceparent"])
        step = script.pop(0) if script else "ok"
        if step == "lost":
            return self.connection.close()
        if step.startswith("cut"):
            self.send_response(int(step[4:]))
            self.send_header("Content-Length", "100")
            self.end_headers()
            return self.wfile.write(b'{"error":')
        if step.startswith("page"):
            _, status, *seconds = step.split()
            return self.answer(int(status), "<html>", **({"Retry_After": seconds[0]} if seconds else {}))
        if step.startswith("moved"):
            return self.answer(302, {}, Location=step[6:])
        if step == "of another program":
            return self.answer(503, {"error": {"code": 503, "message": "m", "details": [{"reason": "x"}]}})
        if step == "nested":
            self.send_response(503)
            self.end_headers()
            return self.wfile.write(b'{"error":' + b"[" * 100_000)
        if step == "of another limit":
            details = {"limit": 9, "retry_after_seconds": "soon"}
            return self.answer(429, {"error": {"code": "rate_limited", "message": "m", "details": details}})
        if step == "used up":
            return self.answer(429, {"error": {"code": "TOO_MANY_REQUESTS", "message": "m"}}, Retry_After="0")
        if step == "changed":
            policy["permission"] = []
            return self.answer(403, {"error": {"code": "FORBIDDEN", "message": "m", "details": {"reason": "policy_changed"}}})
        if step == "none left":
            return self.answer(200, {"done": True}, RateLimit='"execute";r=0;t=1')
        if step == "none left for long":
            return self.answer(200, {"done": True}, RateLimit='"execute";r=0;t=3')
        if step == "none of one intent left":
            return self.answer(200, {"done": True}, RateLimit='"e:f:v1";r=0;t=600, "execute";r=9;t=30')
        if step == "last of a budget":
            warning = '"b";used="10.00";budget="10.00";unit="EUR"'
            return self.answer(200, {"done": True}, RateLimit='"b";r=0;t=2592000', Budget_Warning=warning)
        if step == "over budget":
            details = {"budget": {"amount": "10.00", "unit": "EUR", "period": 2678400}}
            error = {"code": "TOO_MANY_REQUESTS", "message": "The budget is not sufficient. Wait.", "details": details}
            return self.answer(429, {"error": error}, Retry_After="2592000")
        if step == "misspelt":
            return self.answer(404, {"error": {"code": "NOT_FOUND", "message": "m", "details": {"nearest": ["a:c:v1", "a:d:v1"]}}})
        if step == "drift":
            return self.answer(200, {"name": 1}, Answer_Issues="/name, /gr%C3%B6%C3%9Fe%2C%20%25, ...")
        if step == "created":
            return self.answer(200, {}, Upstream_Status="201", Upstream_Location="/a", upstream_x_total="4")
        if step == "deferred":
            return self.answer(202, {"status": "working", "execution": "http://127.0.0.1/api/executions/1"})
        if step == "numbers":
            bodies.append(sent)
            self.send_response(200)
            self.end_headers()
            return self.wfile.write(b'{"id":9007199254740993,"price":1.10,"long":' + b"7" * 5000 + b"}")
        if step == "busy":
            return self.answer(503, {"error": {"code": "SERVICE_UNAVAILABLE", "message": "m"}}, Retry_After="60")
        if step == "paused":
            details = {"reason": "paused"}
            return self.answer(503, {"error": {"code": "SERVICE_UNAVAILABLE", "message": "Paused.", "details": details}})
        if step == "said":
            details = {"upstream_body": {"why": "no\u001b[2J such\u202e zone"}}
            return self.answer(422, {"error": {"code": "INTENT_EXECUTION_FAILED", "message": "m", "details": details}})
        self.answer(200, {"done": True})


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
threading.Thread(target=server.serve_forever, daemon=True).start()
policy["permission"][0]["target"] = f"http://127.0.0.1:{server.server_port}/api/intents"
asked = []
key = intent_gate.Key(bytes(32))
gate = intent_gate.IntentGate(
    f"http://127.0.0.1:{server.server_port}", "agent", key, lambda policy, in_words: asked.append(in_words) is None, max_attempts=2, max_wait=30
)

script[:] = ["lost", "ok"]
gate.execute("a:b:v1", {}, traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")
print("sent again under one key:", len(seen) == 2 and seen[0] == seen[1])
print("traced:", *traced)

script[:] = ["used up", "none left"]
gate.execute("a:b:v1", {})
started = time.monotonic()
gate.execute("a:b:v1", {})
print("waited:", time.monotonic() - started > 0.5)

script[:] = ["none of one intent left"]
gate.execute("e:f:v1", {})
sent = len(seen)
gate.execute("a:b:v1", {})
gate.execute("g:h:v1", {})
try:
    gate.execute("e:f:v1", {})
except intent_gate.RateLimited as error:
    print("used up for one:", len(seen) - sent, 500 < error.retry_after_seconds <= 600)

script[:] = ["changed", "ok"]
gate.execute("a:b:v1", {})
print("asked twice:", asked == [["1 permissions"], ["0 permissions"]])

unavailable[:] = [504]
gate.policy()
print("asked again:", unavailable == [])
unavailable[:] = [503]
try:
    gate.policy()
except intent_gate.Refusal as error:
    print("a date:", 50 < error.retry_after_seconds <= 60)

print("filtered:", *gate.search("a b", permitted=True, page=2, tags=None)["intents"])

words["lag"] = 1
print("read again:", gate.policy()[1] == ["0 permissions"])
words["lag"] = 99
try:
    gate.policy()
except intent_gate.UnexpectedAnswer as error:
    print("not shown:", error.code)


def agent(**options):
    return intent_gate.IntentGate(f"http://127.0.0.1:{server.server_port}", "agent", key, **options)


words["lag"] = 0
reader = agent(on_policy=lambda *_: asked.append("reader") is None)
for prepare in (
    lambda: None,
    reader.obtain_pat,
    lambda: setattr(reader, "_renew_at", 0),
    lambda: unreadable.append(401),
    lambda: (setattr(reader, "_renew_at", 0), policy.update(uid="x:other")),
):
    prepare()
    reader.search("a")
policy.update(uid="x:policy")
print("read with:", *("a PAT" if pat else pat for pat in read_with[1:]), asked.count("reader"))

script[:] = ["used up"] * 9
sent = len(seen)
try:
    agent(on_policy=lambda *_: True, max_wait=1).execute("a:b:v1", {})
except intent_gate.RateLimited:
    print("always used up:", len(seen) - sent)

script[:] = ["lost"] * 9
try:
    agent(on_policy=lambda *_: True).execute("a:b:v1", {}, "key-of-the-caller")
except intent_gate.Unreachable as error:
    print("lost:", error.message.partition(". ")[2], error.idempotency_key)
script[:] = []

for steps in (
    ["cut 503", "cut 200", "ok"],
    ["cut 422"] * 9,
    ["page 503", "page 503 0", "ok"],
    ["page 503"] * 9,
    ["page 503 60"],
    ["page 502"],
    ["moved /api/policy"],
    ["moved http://["],
    ["page 504"],
    ["page 429 0", "page 429", "ok"],
    ["page 429 5"],
    ["of another program", "moved /api/policy"],
    ["of another program", "of another program", "ok"],
    ["nested", "ok"],
    ["of another limit", "ok"],
):
    script[:] = steps
    sent = len(seen)
    try:
        came = agent(on_policy=lambda *_: True, max_attempts=3, max_wait=4).execute("a:b:v1", {})
    except intent_gate.IntentGateError as error:
        came = f"{error.code} {error.status} {error.retry_after_seconds}{' may be made' * ('may have been made' in str(error))}"
    print(f"{steps[0]}:", len(seen) - sent, len(set(seen[sent:])), came)
script[:] = []

waits = []
logging.getLogger("intent_gate").addHandler(handler := logging.Handler())
handler.emit = lambda record: waits.append(record.getMessage())
budgeted = agent(on_policy=lambda *_: True)
script[:] = ["last of a budget", "over budget"]
budgeted.execute("a:b:v1", {})
for poor in budgeted, agent(on_policy=lambda *_: True):
    try:
        poor.execute("a:b:v1", {})
    except intent_gate.RateLimited as error:
        print("spent:", re.sub(r"after .*T.*Z", "later", str(error)))
script[:] = ["none left for long"]
budgeted = agent(on_policy=lambda *_: True)
budgeted.execute("a:b:v1", {})
budgeted.execute("a:b:v1", {})
print("logged:", *(re.sub(r"[123]\.\d s|[123] seconds", "soon", one) for one in waits))
try:
    budgeted.execute("a:b:v1", {}, "")
except ValueError as error:
    print("key:", error)
script[:] = ["misspelt"]
try:
    budgeted.execute("a:b:v1", {})
except intent_gate.Refusal as error:
    print("nearest:", str(error).split("\n"))

for name, impatient in {
    "declined": agent(on_policy=lambda *_: False),
    "used up": agent(on_policy=lambda *_: True, max_wait=-1),
    "refused": agent(on_policy=lambda *_: True),
}.items():
    script[:] = ["used up" if name == "used up" else "changed" for _ in range(4)]
    try:
        impatient.execute("a:b:v1", {})
    except intent_gate.IntentGateError as error:
        print(f"{name}:", type(error).__name__, error.code, error.retry_after_seconds)

script[:] = ["numbers", "said"]
exact = agent(on_policy=lambda *_: True, parse_float=decimal.Decimal)
answer = exact.execute("a:b:v1", {"price": decimal.Decimal("1.10"), "id": 9007199254740993})
print("numbers:", answer["id"], answer["price"], len(str(answer["long"])), bodies[0].split("parameters")[1])
try:
    exact.execute("a:b:v1", {})
except intent_gate.Refusal as error:
    print("said:", str(error).split("\n"))

script[:] = ["created", "ok", "deferred"]
print("head:", *intent_gate.upstream_of(exact.execute("a:b:v1", {})), intent_gate.upstream_of(exact.execute("a:b:v1", {})))
try:
    exact.execute("a:b:v1", {}, wait=True)
except intent_gate.Refusal as error:
    print("failed later:", error.status, error.retry_after_seconds)
script[:] = ["ok", "deferred"]
lost_states[:] = [True] * 2
impatient = agent(on_policy=lambda *_: True, max_attempts=2)
impatient.execute("a:b:v1", {})
try:
    impatient.execute("a:b:v1", {}, "key-of-the-caller", wait=True)
except intent_gate.Unreachable as error:
    print("lost while awaited:", error.message.partition(". ")[2].partition(".")[0], error.idempotency_key)

script[:] = ["paused", "ok"]
sent = len(seen)
try:
    exact.execute("a:b:v1", {})
except intent_gate.Refusal as error:
    print("paused:", error, len(seen) - sent)
script[:] = []


def read_then_execute(*_):
    elsewhere = threading.Thread(target=asking.search)
    elsewhere.start()
    elsewhere.join(5)
    print("read while deciding:", *asking.search("a")["intents"], asking.policy()[1], not elsewhere.is_alive())
    asking.execute("a:b:v1", {})


asking = agent(on_policy=lambda *_: True)
asking.obtain_pat()
asking._on_policy, asking._accepted, asking._renew_at = read_then_execute, None, 0
try:
    asking.execute("a:b:v1", {})
except (RuntimeError, RecursionError) as error:
    print("executed while deciding:", str(error).partition(",")[0])


async def on_policy_that_uses_the_gate():
    later = []

    async def on_policy(policy, in_words):
        found = await asyncio.gather(*(awaited.search("a") for _ in range(3)), awaited.execute("a:b:v1", {}), return_exceptions=True)
        later.append(asyncio.create_task(execute_later()))
        return [type(one).__name__ for one in found] == ["Answer"] * 3 + ["RuntimeError"]

    async def execute_later():
        await decided.wait()
        return await awaited.execute("a:b:v1", {})

    decided = asyncio.Event()
    awaited = intent_gate.AsyncIntentGate(f"http://127.0.0.1:{server.server_port}", "agent", key, on_policy, max_concurrency=2)
    answers = await asyncio.wait_for(asyncio.gather(*(awaited.execute("a:b:v1", {}) for _ in range(3))), 10)
    decided.set()
    print("read while deciding, awaited:", answers == [{"done": True}] * 3, *[await one for one in later])


asyncio.run(on_policy_that_uses_the_gate())


async def in_event_loop():
    asked_here = []

    async def on_policy(policy, in_words):
        await asyncio.sleep(0)
        asked_here.append(asyncio.get_running_loop())
        return True

    awaited = intent_gate.AsyncIntentGate(f"http://127.0.0.1:{server.server_port}", "agent", key, on_policy, max_concurrency=8)
    answers = await asyncio.gather(*(awaited.execute("a:b:v1", {}) for _ in range(8)))
    print("awaited:", answers == [{"done": True}] * 8, asked_here == [asyncio.get_running_loop()])
    script[:] = ["drift"]
    print("issues, awaited:", *intent_gate.issues_of(await awaited.execute("a:b:v1", {})))
    try:
        await awaited.execute("a:b:v1", {}, field=["/name"])
    except TypeError:
        print("misspelt")
    script[:] = ["busy"]
    sent = len(seen)
    call = asyncio.create_task(awaited.execute("a:b:v1", {}))
    while len(seen) == sent:
        await asyncio.sleep(0.01)
    call.cancel()
    try:
        await call
    except asyncio.CancelledError:
        awaited._threads.shutdown(wait=True)
        print("cancelled:", len(seen) - sent)


asyncio.run(in_event_loop())

server.shutdown()
server.server_close()
try:
    gate.execute("a:b:v1", {}, "key-of-the-caller")
except intent_gate.Unreachable as error:
    print("gave up:", error.message.partition(". ")[2], error.idempotency_key)


def unconnected(*_, **__):
    raise urllib.error.URLError(OSError(errno.ENETUNREACH, "Network is unreachable"))


intent_gate.gate.opener.open = unconnected
try:
    gate.execute("a:b:v1", {})
except intent_gate.Unreachable as error:
    print("unconnected:", error.message.partition(". ")[2])
