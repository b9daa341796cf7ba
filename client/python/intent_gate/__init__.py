"""Intent Gate for agents in Python.

    from intent_gate import IntentGate

    gate = IntentGate("https://gate.example", "my-agent", "my-agent.key", on_policy=lambda policy, in_words: ask(in_words))
    found = gate.search("what time is it in Tokyo")
    answer = gate.execute(found["intents"][0]["intent_uid"], {"time_zone": "Asia/Tokyo"})

From a shell: python3 -m intent_gate --help
"""

import base64
import http.client
import json
import math
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

from .keys import AsWritten, Key, canonical_digest

__all__ = ["IntentGate", "IntentGateError", "Key", "PolicyDeclined", "RateLimited", "Refusal", "UnexpectedAnswer", "Unreachable"]


class IntentGateError(Exception):
    """What every error of this client has in common. `code` is the gate's own, or one of POLICY_DECLINED, FOREIGN_POLICY, UNREACHABLE,
    UNEXPECTED_ANSWER."""

    def __init__(self, code, message, status=None, details=None, retry_after_seconds=None):
        super().__init__(f"{code}: {message}")
        self.code = code
        self.status = status
        self.details = details or {}
        self.retry_after_seconds = retry_after_seconds

    @property
    def request_id(self):
        """To give to the operators of the gate."""
        return self.details.get("request_id")


class Refusal(IntentGateError):
    """The gate answered, and said no."""

    @property
    def issues(self):
        """Every place that is wrong: [{"path": ..., "problem": ...}], with JSON pointers."""
        return self.details.get("issues", [])


class RateLimited(IntentGateError):
    """The quota is used up, and the call may not wait until there is some again: retry_after_seconds."""

    def __init__(self, seconds, details=None):
        message = f"The rate limit is used up. Ask again in {math.ceil(seconds)} seconds."
        super().__init__("TOO_MANY_REQUESTS", message, 429, details, seconds)


class PolicyDeclined(IntentGateError):
    """on_policy did not allow the policy to be signed."""

    def __init__(self, policy, in_words):
        message = "The usage policy was not accepted, so nothing was signed and no intent can be executed."
        super().__init__("POLICY_DECLINED", message)
        self.policy = policy
        self.in_words = in_words


class Unreachable(IntentGateError):
    """Nothing answered. If it was an execution, it may be sent again with the same idempotency_key."""

    def __init__(self, url):
        super().__init__("UNREACHABLE", f"Nothing answers at {url}. Check the address, and whether the gate runs.")


class UnexpectedAnswer(IntentGateError):
    """The answer does not come from a gate, or not in the form of the specification."""

    def __init__(self, status, message=None):
        default = f"The answer (status {status}) is not in the form of the specification. Is an Intent Gate at this address?"
        super().__init__("UNEXPECTED_ANSWER", message or default, status)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A credential goes to the gate that it is for, and nowhere else."""

    def redirect_request(self, *_):
        return None


_opener = urllib.request.build_opener(_NoRedirects)


#: how often policy and sentences are read to get a matching pair
_MAX_READS = 3


class IntentGate:
    """A gate, as an agent sees it.

    on_policy(policy, in_words) decides whether the usage policy is accepted; nothing is signed unless it returns True. in_words are the sentences
    of the gate about exactly this policy. key is a Key, or the path of the file that keeps one, made at the first execution. public_url is the
    gate's own address for itself, if it differs from the one at which it is reached. A call waits at most max_wait seconds for quota or for an
    unavailable gate, and is sent at most max_attempts times.
    """

    def __init__(self, url, agent_id, key, on_policy, public_url=None, max_attempts=4, max_wait=90, timeout=35):
        self._url = _read_address(url)
        self._public_url = _read_address(public_url or url)
        self._agent_id = agent_id
        self._key = key
        self._on_policy = on_policy
        self._max_attempts = max_attempts
        self._max_wait = max_wait
        self._timeout = timeout
        self._accepted = None
        self._pat = None
        self._renew_at = 0.0
        self._free_at = {}  # when there is something left again of limits, by their names
        self._limits_of = {}  # the limits that the last execution of an intent counted in

    def search(self, query=None, **filters):
        """Finds intents: {"intents": [...], "pagination": {...}}. Filters: service_name, intent_name, uid, namespace, description, tags, page, page_size."""
        given = {name: value for name, value in {"query": query, **filters}.items() if value is not None}
        return self._send("GET", "/api/intents/search?" + urllib.parse.urlencode(given))

    def get(self, intent_uid):
        """One intent, with everything that was registered."""
        return self._send("GET", f"/api/intents/{urllib.parse.quote(intent_uid, safe='')}?view=full")

    def policy(self):
        """The usage policy, and its meaning according to the gate, in plain sentences."""
        for _ in range(_MAX_READS):
            policy = self._send("GET", "/api/policy")
            words = self._read_words()
            if words is None:  # the gate does not describe it in words: the policy itself is shown
                return policy, json.dumps(policy, indent=2, ensure_ascii=False).split("\n")
            # the sentences have to be those of the policy that would be signed
            if words["policy"] == f"{policy['uid']}#sha-256={canonical_digest(policy)}":
                return policy, words["sentences"]
        raise UnexpectedAnswer(
            None,
            "The sentences that the gate returns do not describe the policy that it serves, so nothing was signed. "
            "Try again; if the problem persists, tell its operators.",
        )

    def _read_words(self):
        try:
            words = self._send("GET", "/api/policy?view=words")
        except IntentGateError as error:
            if error.status is not None and 400 <= error.status < 500:
                return None
            raise
        sentences = words.get("sentences")
        is_in_words = isinstance(words.get("policy"), str) and isinstance(sentences, list)
        return words if is_in_words and all(isinstance(one, str) for one in sentences) else None

    def execute(self, intent_uid, parameters, idempotency_key=None):
        """Executes an intent, and gets a PAT first if necessary. With the same idempotency_key it is executed once, however often it is requested."""
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
                    intent_uid,
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
        _require_policy_of(self._public_url, policy)
        if policy != self._accepted:
            # a copy, so that nothing is signed but what was fetched
            if self._on_policy(json.loads(json.dumps(policy)), in_words) is not True:
                raise PolicyDeclined(policy, in_words)
            self._accepted = policy

        if not isinstance(self._key, Key):
            self._key = Key.at(self._key)

        def prepare():
            issued_at = int(time.time())
            claims = {"iat": issued_at, "exp": issued_at + 120, "aud": self._public_url, "jti": str(uuid.uuid4())}
            signed = self._key.sign(claims, policy)
            return {}, {"agent_id": self._agent_id, "signed_policy": signed, "agent_public_key": self._key.pem}

        answer = self._send("POST", "/api/pat/issue", prepare)
        try:
            pat = next(value for member, value in answer.items() if member.endswith("-pat"))
            renew_at = time.time() + 0.9 * _life_seconds(pat)
        except (AttributeError, LookupError, StopIteration, TypeError, ValueError) as cause:
            raise UnexpectedAnswer(200) from cause
        self._pat, self._renew_at = pat, renew_at

    def _quota_at(self, intent_uid):
        """Of an intent that has not been executed, only the limits of everything are known."""
        own = self._limits_of.get(intent_uid)
        times = [at for name, at in self._free_at.items() if (name in own if own else re.fullmatch(r"execute(-\d+)?", name))]
        return max(times, default=0)

    def _note_limits(self, intent_uid, fields):
        pauses = _read_limits(fields)
        for name, seconds in pauses.items():
            self._free_at[name] = max(self._free_at.get(name, 0), time.time() + seconds)
        if pauses:
            self._limits_of[intent_uid] = list(pauses)

    def _send(self, method, path, prepare=lambda: ({}, None), intent_uid=None):
        """Sends a request until it is answered: again if nothing answers or the gate is unavailable, later if quota is used up."""
        waited, failures = 0.0, 0

        def wait(seconds, error):
            nonlocal waited
            waited += seconds
            if waited > self._max_wait:
                raise error
            time.sleep(seconds)

        while True:
            early = 0 if intent_uid is None else self._quota_at(intent_uid) - time.time()
            if early > 0:
                wait(early, RateLimited(early))
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
                error = Unreachable(self._url)
                if failures >= self._max_attempts:
                    raise error from cause
                wait(_pause(failures), error)
                continue
            if intent_uid is not None:
                self._note_limits(intent_uid, fields)
            if status < 300:
                return _read_object(status, text)
            error = _read_error(status, fields, text)
            if status == 429:
                seconds = error.retry_after_seconds if error.retry_after_seconds is not None else 1
                wait(seconds, RateLimited(seconds, error.details))
            elif status == 503 or error.details.get("reason") == "running":
                failures += 1
                if failures >= self._max_attempts:
                    raise error
                wait(error.retry_after_seconds if error.retry_after_seconds is not None else _pause(failures), error)
            else:
                raise error


def _read_address(text):
    """The address of a gate, as it is called and signed for. Tokens are sent over http to this machine only."""
    parts = urllib.parse.urlsplit(text)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or host == "" or "@" in parts.netloc:
        raise ValueError("the address of the gate must be an http or https URL without user information")
    if parts.scheme == "http" and not re.fullmatch(r"localhost|127\.\d+\.\d+\.\d+|::1", host):
        raise ValueError("the address of the gate must begin with https://: only to this machine may tokens be sent over http")
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.lower(), parts.path, "", "")).rstrip("/")


def _require_policy_of(address, policy):
    """A gate could show the policy of another one, and present there what is signed for itself."""

    def is_below(uri):
        return isinstance(uri, str) and (uri == address or uri.startswith(address + "/"))

    uid, permissions = policy.get("uid"), policy.get("permission", [])
    is_own_uid = is_below(uid) or (isinstance(uid, str) and not re.match("https?:", uid, re.IGNORECASE))
    if is_own_uid and isinstance(permissions, list) and all(isinstance(rule, dict) and is_below(rule.get("target")) for rule in permissions):
        return
    raise IntentGateError(
        "FOREIGN_POLICY",
        f"The policy is not that of {address} but of {uid}, so nothing was signed. Only if you are sure that this is the gate that you mean, "
        "give its address as public_url.",
    )


def _life_seconds(pat):
    """How long a PAT is valid, by its own dates: the clock of the gate need not agree with the one here."""
    segment = pat.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
    return claims["exp"] - claims["iat"]


def _pause(failures):
    """Twice as long each time, give or take a half, so that many clients do not come back at once."""
    return 0.25 * 2 ** (failures - 1) * (0.5 + random.random())


def _read_limits(fields):
    """How many seconds to wait for each limit: with nothing remaining, until there is (draft-ietf-httpapi-ratelimit-headers)."""
    items = re.findall(r'"([^"]*)";r=(\d+)(?:;t=(\d+))?', fields.get("RateLimit", ""))
    return {name: int(seconds or 0) if remaining == "0" else 0 for name, remaining, seconds in items}


def _read_object(status, text):
    try:
        value = json.loads(text, parse_float=AsWritten)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return value
    raise UnexpectedAnswer(status)


def _read_error(status, fields, text):
    error = _read_object(status, text).get("error")
    if not isinstance(error, dict) or "code" not in error or "message" not in error:
        raise UnexpectedAnswer(status)
    retry_after = fields.get("Retry-After", "")
    seconds = int(retry_after) if retry_after.isdigit() else None
    return Refusal(error["code"], error["message"], status, error.get("details"), seconds)
