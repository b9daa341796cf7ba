"""Intent Gate for agents in Python: one file, standard library alone (3.9 or later).

    from intent_gate import IntentGate

    gate = IntentGate("https://gate.example", "my-agent", "my-agent.key", on_policy=lambda policy, in_words: ask(in_words))
    found = gate.search("what time is it in Tokyo")
    answer = gate.execute(found["intents"][0]["intent_uid"], {"time_zone": "Asia/Tokyo"})

From a shell: python3 intent_gate.py --help

The standard library has no asymmetric signatures, so Ed25519 (RFC 8032) is written out below. Of what the service accepts it is the one
that is easy to get right: a key is 32 random bytes, a signature needs no randomness, no padding and no search for primes. It takes a few
milliseconds, and no program besides Python, which calling openssl would. Python's integers do not compute in constant time: whoever can time this
process with precision might learn about the key, so on a machine that is shared with strangers sign with a library made for that.
"""

import argparse
import base64
import hashlib
import http.client
import json
import os
import random
import re
import secrets
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

# --- Ed25519: the curve -x^2 + y^2 = 1 + d x^2 y^2 modulo P, points as (X, Y, Z, T) with x = X/Z, y = Y/Z, x y = T/Z

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P


def _add(a, b):
    """The sum of two points; the formula holds for all points of this curve, also for twice the same."""
    m = (a[1] - a[0]) * (b[1] - b[0]) % _P
    n = (a[1] + a[0]) * (b[1] + b[0]) % _P
    t = 2 * a[3] * b[3] * _D % _P
    z = 2 * a[2] * b[2] % _P
    e, f, g, h = n - m, z - t, z + t, n + m
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _multiply(scalar, point):
    """scalar times point, with the same additions whatever the scalar is (Montgomery's ladder)."""
    low, high = (0, 1, 1, 0), point
    for bit in range(255, -1, -1):
        total = _add(low, high)
        if scalar >> bit & 1:
            low, high = total, _add(high, high)
        else:
            low, high = _add(low, low), total
    return low


def _base_point():
    """The point with y = 4/5 and the even one of the two x."""
    y = 4 * pow(5, -1, _P) % _P
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if x * x % _P != square:
        x = x * pow(2, (_P - 1) // 4, _P) % _P
    if x % 2 == 1:
        x = _P - x
    return (x, y, 1, x * y % _P)


_BASE = _base_point()


def _encode_point(point):
    inverse = pow(point[2], -1, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _expand(seed):
    """The secret scalar, and what makes signatures unpredictable."""
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & (2**254 - 8) | 2**254, digest[32:]


def ed25519_public_key(seed):
    """The 32 bytes of the public key that goes with the 32 bytes of `seed`."""
    return _encode_point(_multiply(_expand(seed)[0], _BASE))


def ed25519_sign(seed, message):
    """The 64 bytes of the signature over `message` (RFC 8032 section 5.1.6)."""
    scalar, prefix = _expand(seed)
    public_key = _encode_point(_multiply(scalar, _BASE))
    nonce = int.from_bytes(hashlib.sha512(prefix + message).digest(), "little") % _ORDER
    point = _encode_point(_multiply(nonce, _BASE))
    challenge = int.from_bytes(hashlib.sha512(point + public_key + message).digest(), "little") % _ORDER
    return point + ((nonce + challenge * scalar) % _ORDER).to_bytes(32, "little")


# --- keys and signatures as the service takes them


def _base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _encode_json(value):
    return _base64url(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8"))


class Key:
    """An agent's key."""

    def __init__(self, seed):
        self._seed = seed
        self.jwk = {"kty": "OKP", "crv": "Ed25519", "x": _base64url(ed25519_public_key(seed))}

    @classmethod
    def at(cls, path):
        """The key in a file that its owner alone may read; made where it is not there."""
        if not os.path.exists(path):
            draft = f"{path}.{uuid.uuid4()}"
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(secrets.token_hex(32) + "\n")
            try:
                os.link(draft, path)
            except FileExistsError:
                pass  # somebody else was faster: the first key stays
            finally:
                os.remove(draft)
        with open(path, encoding="ascii") as file:
            seed = bytes.fromhex(file.read().strip())
        if len(seed) != 32:
            raise ValueError(f"{path} does not hold a key of this program")
        return cls(seed)

    def sign(self, header, payload):
        """A compact JWS (RFC 7515)."""
        signed = _encode_json({"alg": "EdDSA", **header}) + "." + _encode_json(payload)
        return signed + "." + _base64url(ed25519_sign(self._seed, signed.encode("ascii")))


# --- the policy in words

_VERBS = {"exceedRateLimit": "exceed the rate limit for"}
_COMPARISONS = {"eq": "is", "neq": "is not", "gt": "is more than", "gte": "is at least", "lt": "is less than", "lte": "is at most"}


def _term(uri):
    return re.split(r"[/#:?]", uri)[-1]


def _name_target(target, base_url):
    intents = base_url + "/api/intents"
    if target == intents:
        return "every intent"
    if target.startswith(intents + "?namespace="):
        return "every intent of the namespace " + target[len(intents + "?namespace="):]
    if target.startswith(intents + "/"):
        return "the intent " + target[len(intents) + 1:]
    return target


def _name_constraint(constraint):
    left, operator, value = _term(constraint["leftOperand"]), constraint["operator"], constraint["rightOperand"]
    unit = _term(constraint.get("unit", ""))
    if left == "rateLimit" and operator in ("lte", "gt"):
        return f"{'at most' if operator == 'lte' else 'more than'} {value} in any {unit}"
    shown = value if isinstance(value, str) else json.dumps(value)
    return f"where {left} {_COMPARISONS.get(operator, operator)} {shown} {unit}".rstrip()


def _name_duty(duty):
    parts = [_term(duty["action"])]
    if "amount" in duty:
        parts.append(json.dumps(duty["amount"]))
    parts.append(_term(duty.get("unit", "")))
    if "target" in duty:
        parts.append("to " + duty["target"])
    parts.append("every " + duty["timeInterval"] if "timeInterval" in duty else "each time")
    return "on the condition that you " + " ".join(part for part in parts if part)


def describe_policy(policy, base_url):
    """The policy in plain sentences, one for each thing that it grants, forbids or asks."""
    sentences = []
    for kind, modal in (("permission", "may"), ("prohibition", "must not"), ("obligation", "must")):
        for rule in policy.get(kind, []):
            subject = f"You (if you are {rule['assignee']})" if "assignee" in rule else "You"
            verb = _VERBS.get(_term(rule["action"]), _term(rule["action"]))
            head = " ".join(part for part in (subject, modal, verb, _name_target(rule.get("target", ""), base_url)) if part)
            conditions = [_name_constraint(one) for one in rule.get("constraint", [])] + [_name_duty(one) for one in rule.get("duty", [])]
            sentences.append(", ".join([head, *conditions]) + ".")
    return sentences


# --- the client


class IntentGateError(Exception):
    """What the service refused, or why it could not be asked. `code` is the service's own, or one of POLICY_DECLINED, UNREACHABLE, UNEXPECTED_ANSWER."""

    def __init__(self, code, message, status=None, details=None, retry_after_seconds=None):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.details = details or {}
        self.retry_after_seconds = retry_after_seconds

    @property
    def request_id(self):
        return self.details.get("request_id")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A credential goes to the service that it is for, and nowhere else."""

    def redirect_request(self, *_):
        return None


_opener = urllib.request.build_opener(_NoRedirects)


class IntentGate:
    """A service, as an agent sees it.

    on_policy(policy, in_words) decides whether the usage policy is accepted; nothing is signed unless it returns True.
    key is a Key, or the path of the file that keeps one, made at the first execution. public_url is the address that the service calls itself by, where it is not the one
    that it is reached at. A call waits at most wait_at_most seconds for quota or for a service that is away.
    """

    def __init__(self, url, agent_id, key, on_policy, public_url=None, attempts=4, wait_at_most=90, timeout=35):
        self._url = url.rstrip("/")
        self._public_url = (public_url or url).rstrip("/")
        self._agent_id = agent_id
        self._key = key
        self._on_policy = on_policy
        self._attempts = attempts
        self._wait_at_most = wait_at_most
        self._timeout = timeout
        self._accepted = None
        self._pat = None
        self._renew_at = 0.0
        self._quota_at = 0.0

    def search(self, query=None, **filters):
        """Finds intents: {"intents": [...], "pagination": {...}}. Filters: service_name, intent_name, uid, namespace, description, tags, page, page_size."""
        given = {name: value for name, value in {"query": query, **filters}.items() if value is not None}
        return self._send("GET", "/api/intents/search?" + urllib.parse.urlencode(given))

    def get(self, intent_uid):
        """One intent, with everything that was registered."""
        return self._send("GET", f"/api/intents/{urllib.parse.quote(intent_uid, safe='')}?view=full")

    def policy(self):
        """The usage policy, and the same in plain sentences."""
        policy = self._send("GET", "/api/policy")
        return policy, describe_policy(policy, self._public_url)

    def execute(self, intent_uid, parameters, idempotency_key=None):
        """Executes an intent, and gets a PAT first where that is due. With the same idempotency_key it is done once, however often it is asked for."""
        key = idempotency_key or str(uuid.uuid4())
        body = {"intent_uid": intent_uid, "parameters": parameters}
        replacements = 0
        while True:
            pat = self._obtain_pat()
            try:
                return self._send(
                    "POST",
                    "/api/intents/execute",
                    lambda: ({"Authorization": f"Bearer {pat}", "Idempotency-Key": key}, body),
                    uses_quota=True,
                )
            except IntentGateError as error:
                is_for_another_pat = error.code == "UNAUTHORIZED" or error.details.get("reason") == "policy_changed"
                replacements += 1
                if not is_for_another_pat or replacements > 2:
                    raise
                self._pat = None

    def _obtain_pat(self):
        if self._pat is None or time.time() >= self._renew_at:
            try:
                self._request_pat()
            except IntentGateError as error:
                if error.details.get("reason") != "not_current_policy":
                    raise
                self._request_pat()
        return self._pat

    def _request_pat(self):
        policy, in_words = self.policy()
        if policy != self._accepted:
            # a copy, so that nothing else is signed than what was fetched
            if self._on_policy(json.loads(json.dumps(policy)), in_words) is not True:
                raise IntentGateError("POLICY_DECLINED", "The usage policy was not accepted, so nothing can be executed.")
            self._accepted = policy

        if not isinstance(self._key, Key):
            self._key = Key.at(self._key)

        def prepare():
            issued_at = int(time.time())
            claims = {"iat": issued_at, "exp": issued_at + 120, "aud": self._public_url, "jti": str(uuid.uuid4())}
            signed = self._key.sign(claims, policy)
            return {}, {"agent_id": self._agent_id, "signed_policy": signed, "agent_public_key": json.dumps(self._key.jwk)}

        answer = self._send("POST", "/api/pat/issue", prepare)
        self._pat = next(value for member, value in answer.items() if member.endswith("-pat"))
        self._renew_at = time.time() + 0.9 * _life_seconds(self._pat)

    def _send(self, method, path, prepare=lambda: ({}, None), uses_quota=False):
        """Sends a request until it is answered: again where nothing answered or the service is away, later where quota is used up."""
        waited, failures = 0.0, 0

        def wait(seconds, error):
            nonlocal waited
            waited += seconds
            if waited > self._wait_at_most:
                raise error
            time.sleep(seconds)

        while True:
            early = self._quota_at - time.time() if uses_quota else 0
            if early > 0:
                wait(early, _used_up(early))
            headers, body = prepare()
            request = urllib.request.Request(self._url + path, method=method, headers={"Accept": "application/json", **headers})
            if body is not None:
                request.data = json.dumps(body).encode("utf-8")
                request.add_header("Content-Type", "application/json")
            try:
                with _opener.open(request, timeout=self._timeout) as response:
                    status, fields, text = response.status, response.headers, response.read()
            except urllib.error.HTTPError as response:
                with response:
                    status, fields, text = response.code, response.headers, response.read()
            except (OSError, http.client.HTTPException) as cause:
                failures += 1
                error = IntentGateError("UNREACHABLE", f"The service cannot be reached; {failures} attempts failed.")
                if failures >= self._attempts:
                    raise error from cause
                wait(_pause(failures), error)
                continue
            if uses_quota:
                self._quota_at = max(self._quota_at, time.time() + _quota_pause(fields))
            if status < 300:
                return _read_object(status, text)
            error = _read_error(status, fields, text)
            if status == 429:
                seconds = error.retry_after_seconds if error.retry_after_seconds is not None else 1
                wait(seconds, error)
            elif status == 503 or error.details.get("reason") == "running":
                failures += 1
                if failures >= self._attempts:
                    raise error
                wait(error.retry_after_seconds if error.retry_after_seconds is not None else _pause(failures), error)
            else:
                raise error


def _life_seconds(pat):
    """How long a PAT holds, by its own dates: the clock of the service need not agree with the one here."""
    segment = pat.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
    return claims["exp"] - claims["iat"]


def _pause(failures):
    """Twice as long each time, give or take a half, so that many clients do not come back at once."""
    return 0.25 * 2 ** (failures - 1) * (0.5 + random.random())


def _quota_pause(fields):
    """With nothing remaining, the seconds until there is (draft-ietf-httpapi-ratelimit-headers)."""
    found = re.search(r";r=0;t=(\d+)", fields.get("RateLimit", ""))
    return int(found.group(1)) if found else 0


def _used_up(seconds):
    return IntentGateError(
        "TOO_MANY_REQUESTS", f"The rate limit is used up. Ask again in {seconds:.0f} seconds.", 429, retry_after_seconds=seconds
    )


def _read_object(status, text):
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    raise IntentGateError("UNEXPECTED_ANSWER", f"The answer (status {status}) is not one of this service. Check the address.", status)


def _read_error(status, fields, text):
    error = _read_object(status, text).get("error")
    if not isinstance(error, dict) or "code" not in error or "message" not in error:
        raise IntentGateError("UNEXPECTED_ANSWER", f"The answer (status {status}) is not one of this service. Check the address.", status)
    retry_after = fields.get("Retry-After", "")
    seconds = int(retry_after) if retry_after.isdigit() else None
    return IntentGateError(error["code"], error["message"], status, error.get("details"), seconds)


# --- the same from a shell


def _ask_on_terminal(_, in_words):
    print("The usage policy says:", *("- " + sentence for sentence in in_words), sep="\n", file=sys.stderr)
    print("Accept and sign it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def main():
    parser = argparse.ArgumentParser(description="Find and execute intents.")
    parser.add_argument("--url", default=os.environ.get("BASE_URL", "http://127.0.0.1:8080"), help="address of the service (BASE_URL)")
    parser.add_argument("--agent-id", help="how the agent calls itself; default: a name made of its key")
    parser.add_argument("--key", default="intent-gate.key", help="file that keeps the key; made where it is not there")
    parser.add_argument("--accept-policy", action="store_true", help="accept the usage policy without asking")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("policy", help="show the usage policy in words")
    commands.add_parser("search", help="find intents").add_argument("question")
    commands.add_parser("get", help="read one intent").add_argument("intent_uid")
    execute = commands.add_parser("execute", help="execute an intent")
    execute.add_argument("intent_uid")
    execute.add_argument("parameters", type=json.loads, help="as JSON")
    arguments = parser.parse_args()

    on_policy = (lambda *_: True) if arguments.accept_policy else _ask_on_terminal
    # only executions need a key
    key = Key.at(arguments.key) if arguments.command == "execute" else None
    gate = IntentGate(arguments.url, arguments.agent_id or (key and "agent-" + key.jwk["x"][:12]), key, on_policy)
    try:
        if arguments.command == "policy":
            print(*gate.policy()[1], sep="\n")
        elif arguments.command == "search":
            for intent in gate.search(arguments.question)["intents"]:
                print(f"{intent['intent_uid']}  {intent['intent_name']}")
        elif arguments.command == "get":
            print(json.dumps(gate.get(arguments.intent_uid), indent=2, ensure_ascii=False))
        else:
            print(json.dumps(gate.execute(arguments.intent_uid, arguments.parameters), indent=2, ensure_ascii=False))
    except IntentGateError as error:
        print(error, file=sys.stderr)
        for issue in error.details.get("issues", []):
            print(f"  {issue['path']} {issue['problem']}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
