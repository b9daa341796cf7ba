"""Client of a gate, for agents."""

from __future__ import annotations

import concurrent.futures
import contextvars
import http.client
import json
import logging
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple, Union, cast

from .answers import Answer, ExecutionState, FullIntent, IntentPage, Policy
from .canonical import AsWritten, canonical_digest
from .errors import MAY_BE_MADE, Deferred, IntentGateError, PolicyDeclined, RateLimited, Refusal, Unreachable, UnexpectedAnswer, describe_used_up
from .keys import Key
from .wire import describe_limit, life_seconds, opener, pause, proxy_of, read_address, read_answer, read_error, read_limits, refusal_of, require_policy_of, write_json

OnPolicy = Callable[[Policy, List[str]], bool]

#: receives the state of a call while execute waits for it
OnWait = Callable[[ExecutionState], object]

_Request = Tuple[Dict[str, str], Optional[Mapping[str, Any]]]

#: gets a warning for each wait of a second or more
_log = logging.getLogger("intent_gate")

#: maximum number of reads to get a matching pair of policy and sentences
_MAX_READS = 3

#: maximum number of new PATs per request: one because the PAT was refused, one because the policy changed meanwhile
_MAX_REPLACEMENTS = 2

#: polling interval while waiting for a call
_POLL_SECONDS = 2.0

#: set when the caller no longer waits for a call
given_up: contextvars.ContextVar[Optional[threading.Event]] = contextvars.ContextVar("given_up", default=None)

#: the questions that on_policy is deciding, of this gate and of others
_questions: contextvars.ContextVar[Tuple[object, ...]] = contextvars.ContextVar("questions", default=())


def _require(answer: Answer, members: Mapping[str, type]) -> None:
    """Raises UnexpectedAnswer if a gate would not send this object."""
    if not all(isinstance(answer.get(name), kind) for name, kind in members.items()):
        raise UnexpectedAnswer(answer.status)


class IntentGate:
    """Client of a gate, for agents. It is thread-safe.

    on_policy(policy, in_words) decides whether the usage policy is accepted; nothing is signed unless it returns True. in_words is the gate's
    description of this policy in plain sentences. on_policy may search and read, but not execute. key is a Key, or the path of a key file, created at
    the first execution. public_url is the gate's public address, if it differs from the one used to reach it. A call waits at most max_wait
    seconds for quota or an unavailable gate, and makes at most max_attempts attempts, with a timeout of timeout seconds each. parse_float parses
    fractions in answers of intents: Decimal keeps every digit, as integers always do. agent_directory is the https origin of the company behind
    the agent. If its Web Bot Auth directory lists the key, the agent is verified for that domain. With dpop, requests carry proofs of possession
    (RFC 9449), so that a stolen PAT is useless.
    """

    def __init__(
        self,
        url: str,
        agent_id: str,
        key: Union[Key, str],
        on_policy: OnPolicy,
        public_url: Optional[str] = None,
        max_attempts: int = 4,
        max_wait: float = 90,
        timeout: float = 35,
        parse_float: Callable[[str], Any] = float,
        agent_directory: Optional[str] = None,
        dpop: bool = False,
    ) -> None:
        self._url = read_address(url)
        self._public_url = read_address(public_url or url)
        self._agent_id = agent_id
        self._agent_directory = agent_directory
        self._dpop = dpop
        self._key = key
        self._on_policy = on_policy
        self._max_attempts = max_attempts
        self._max_wait = max_wait
        self._timeout = timeout
        self._parse_float = parse_float
        # threads that need a PAT share one request
        self._lock = threading.RLock()
        self._accepted: Optional[Policy] = None
        self._question: Optional[object] = None
        self._pat: Optional[str] = None
        self._renew_at = 0.0
        self._free_at: Dict[str, Tuple[float, str]] = {}  # by limit name: the time when quota is available again, and what is used up until then
        self._limits_of: Dict[str, List[str]] = {}  # by intent uid: the limits that its last execution counted towards

    def search(self, /, query: Optional[str] = None, **filters: Union[str, int, None]) -> IntentPage:
        """Finds intents. Filters: service_name, intent_name, uid, namespace, description, tags, page, page_size.

        Like get, it sends the PAT if there is one, for gates that show an agent only what its policy permits.
        """
        given = {name: value for name, value in {"query": query, **filters}.items() if value is not None}
        given.update({name: str(value).lower() for name, value in given.items() if isinstance(value, bool)})
        answer = self._read("/api/intents/search", urllib.parse.urlencode(given))
        _require(answer, {"intents": list, "pagination": dict})
        return cast(IntentPage, answer)

    def get(self, intent_uid: str) -> FullIntent:
        """Returns an intent with all registered members."""
        answer = self._read(f"/api/intents/{urllib.parse.quote(intent_uid, safe='')}", "view=full")
        _require(answer, {"intent_uid": str})
        return cast(FullIntent, answer)

    def policy(self) -> Tuple[Policy, List[str]]:
        """Returns the usage policy, and the gate's description of it in plain sentences."""
        for _ in range(_MAX_READS):
            policy = self._send("GET", "/api/policy")
            words = self._read_words()
            if words is None:  # the gate has no description, so show the policy itself
                return policy, json.dumps(policy, indent=2, ensure_ascii=False).split("\n")
            # the sentences must describe the policy that would be signed
            if words["policy"] == f"{policy['uid']}#sha-256={canonical_digest(policy)}":
                return policy, words["sentences"]
        raise UnexpectedAnswer(
            None,
            "The sentences that the gate returns do not describe the policy that it serves, so nothing was signed. "
            "Try again; if the problem persists, tell its operators.",
        )

    def _read_words(self) -> Optional[Dict[str, Any]]:
        try:
            words = self._send("GET", "/api/policy?view=words")
        except IntentGateError as error:
            if error.status is not None and 400 <= error.status < 500:
                return None
            raise
        sentences = words.get("sentences")
        is_in_words = isinstance(words.get("policy"), str) and isinstance(sentences, list)
        return words if is_in_words and all(isinstance(one, str) for one in cast(List[Any], sentences)) else None

    def execute(
        self,
        intent_uid: str,
        parameters: Mapping[str, Any],
        idempotency_key: Optional[str] = None,
        *,
        fields: Optional[Sequence[str]] = None,
        max_bytes: Optional[int] = None,
        if_match: Optional[str] = None,
        wait: Union[bool, OnWait] = False,
        respond_async: bool = False,
        traceparent: Optional[str] = None,
    ) -> Dict[str, Any]:
        """Executes an intent, and gets a PAT first if necessary.

        Repeating idempotency_key within a day does not execute the intent again. fields are JSON pointers to the wanted members of the answer. An
        answer longer than max_bytes is cut after a member or item, and gets a "cut" that says where. if_match is the intent's digest: if the intent
        has changed since, nothing is executed, and the refusal is CONFLICT. issues_of(answer) lists mismatches with the intent's description;
        upstream_of(answer) returns the service's status and header fields, receipt_of(answer) the receipt.
        A call that needs approval or takes minutes raises Deferred, unless wait is true or a function, which gets the initial state and each change.
        With respond_async, the gate answers before the call ends, which may then take ten minutes.
        traceparent is the caller's trace context (W3C Trace Context), which the gate continues.
        """
        key = str(uuid.uuid4()) if idempotency_key is None else idempotency_key
        if not re.fullmatch(r"[\x21-\x7e]{1,255}", key):
            raise ValueError("an idempotency_key has 1 to 255 visible ASCII characters")
        options = {"fields": [fields] if isinstance(fields, str) else fields and list(fields), "max_bytes": max_bytes}
        body = {"intent_uid": intent_uid, "parameters": parameters, **{name: value for name, value in options.items() if value is not None}}
        headers = {"Idempotency-Key": key}
        if if_match is not None:
            headers["If-Match"] = if_match if re.match(r'(W/)?"|\*$', if_match) else f'"{if_match}"'
        if traceparent is not None:
            headers["traceparent"] = traceparent
        if respond_async:
            headers["Prefer"] = "respond-async"
        try:
            for is_last in (wait is False, True):
                answer = self._send_with_pat("POST", "/api/intents/execute", headers, body, intent_uid, self._parse_float, is_last and wait is not False)
                if answer.status != 202:
                    break
                state = cast(ExecutionState, dict(answer))
                if is_last:
                    raise Deferred(state, key)
                self._wait_for_end(state, wait)
        except IntentGateError as error:
            error.idempotency_key = key
            raise
        if answer.receipt:
            answer.receipt["parameters"] = write_json(parameters, ensure_ascii=False)
        return answer

    def read_execution(self, execution: str) -> ExecutionState:
        """Reads the state of a deferred call. execution is its id, or the address in its state."""
        return self._read_state(execution)

    def _read_state(self, execution: str, may_be_made: bool = False) -> ExecutionState:
        path = "/api/executions/" + urllib.parse.quote(execution.rsplit("/", 1)[-1], safe="")
        answer = self._send_with_pat("GET", path, {}, None, None, self._parse_float, may_be_made)
        _require(answer, {"status": str})
        return cast(ExecutionState, dict(answer))

    def _wait_for_end(self, state: ExecutionState, wait: Union[bool, OnWait]) -> None:
        shown = None
        while state["status"] in ("waiting", "working"):
            if callable(wait) and state["status"] != shown:
                wait(state)
            shown = state["status"]
            if (given_up.get() or threading.Event()).wait(_POLL_SECONDS):
                _give_up()
            state = self._read_state(state["execution"], may_be_made=True)
        # do not repeat a refused call to read its outcome: the idempotency key may be free again, which would make another call
        if state["status"] == "done" and state["outcome"]["status"] >= 400:
            raise refusal_of(state["outcome"]["status"], state["outcome"]["body"])

    def _send_with_pat(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: Optional[Mapping[str, Any]],
        intent_uid: Optional[str],
        parse_float: Callable[[str], Any],
        may_be_made: bool = False,
    ) -> Answer:
        """Sends a request with a PAT, and retries with a new PAT if that one is refused."""
        replacements = 0
        while True:
            pat = self.obtain_pat()
            try:
                return self._send(
                    method, path, lambda: ({**self._authorize(method, path, pat), **headers}, body), intent_uid, parse_float, may_be_made
                )
            except IntentGateError as error:
                is_for_another_pat = error.code == "UNAUTHORIZED" or error.details.get("reason") == "policy_changed"
                replacements += 1
                if not is_for_another_pat or replacements > _MAX_REPLACEMENTS:
                    raise
                with self._lock:
                    if self._pat == pat:
                        self._pat = None

    def _read(self, path: str, query: str) -> Answer:
        """Reads with the PAT if there is one, because it decides what the gate shows. A PAT that is refused counts as none."""
        pat, target = self._find_pat(), f"{path}?{query}"
        if pat is not None:
            try:
                return self._send("GET", target, lambda: (self._authorize("GET", path, pat), None))
            except IntentGateError as error:
                if error.status not in (401, 403):
                    raise
        return self._send("GET", target)

    def _find_pat(self) -> Optional[str]:
        """The current PAT. Nobody is asked: a PAT is only renewed, and only for a policy that was accepted."""
        if self._pat is None or time.time() < self._renew_at or not self._lock.acquire(blocking=False):
            return self._pat
        try:
            return self._request_pat(may_ask=False)
        except IntentGateError:
            self._pat = None
            return None
        finally:
            self._lock.release()

    def _authorize(self, method: str, path: str, pat: str) -> Dict[str, str]:
        return {"Authorization": f"{'DPoP' if self._dpop else 'Bearer'} {pat}", **self._proof(method, path, pat)}

    def _proof(self, method: str, path: str, pat: Optional[str] = None) -> Dict[str, str]:
        return {"DPoP": cast(Key, self._key).prove(method, self._public_url + path, pat)} if self._dpop else {}

    def obtain_pat(self) -> str:
        """Returns the current PAT, for programs that send it themselves. Call it before each use: it renews the PAT in time."""
        if self.is_deciding():
            raise RuntimeError("on_policy decides whether this agent may execute, so it cannot execute itself. It can search and read.")
        with self._lock:
            if self._pat is None or time.time() >= self._renew_at:
                try:
                    return self._request_pat()
                except IntentGateError as error:
                    if error.details.get("reason") != "not_current_policy":
                        raise
                    return self._request_pat()
            return self._pat

    def is_deciding(self) -> bool:
        """Whether on_policy makes this call, which would wait for its own end if it needed a PAT."""
        return self._question in _questions.get()

    def _ask(self, policy: Policy, in_words: List[str]) -> bool:
        self._question = object()
        token = _questions.set((*_questions.get(), self._question))
        try:
            return self._on_policy(policy, in_words)
        finally:
            _questions.reset(token)
            self._question = None

    def _request_pat(self, may_ask: bool = True) -> str:
        policy, in_words = self.policy()
        require_policy_of(self._public_url, policy)
        if policy != self._accepted:
            # a copy, so that only what was fetched is signed
            if not may_ask or self._ask(json.loads(json.dumps(policy)), in_words) is not True:
                raise PolicyDeclined(policy, in_words)
            self._accepted = policy
        self._key = key = self._key if isinstance(self._key, Key) else Key.at(self._key)

        def prepare() -> _Request:
            issued_at = int(time.time())
            # the gate allows clocks that are five minutes slow
            claims = {"iat": issued_at, "exp": issued_at + 420, "aud": self._public_url, "jti": str(uuid.uuid4())}
            directory = {} if self._agent_directory is None else {"agent_directory": self._agent_directory}
            return self._proof("POST", "/api/pat/issue"), {"agent_id": self._agent_id, "signed_policy": key.sign(claims, policy), "agent_public_key": key.pem, **directory}

        answer = self._send("POST", "/api/pat/issue", prepare)
        try:
            pat: str = next(value for member, value in answer.items() if member.endswith("-pat"))
            renew_at = time.time() + 0.9 * life_seconds(pat)
        except (AttributeError, LookupError, StopIteration, TypeError, ValueError) as cause:
            raise UnexpectedAnswer(200) from cause
        self._pat, self._renew_at = pat, renew_at
        return pat

    def _quota_at(self, intent_uid: str) -> Tuple[float, str]:
        """When quota for an intent is available again, and what is used up. Before its first execution, only global limits are known."""
        own = self._limits_of.get(intent_uid)
        known = list(self._free_at.items())
        return max([wait for name, wait in known if (name in own if own else re.fullmatch(r"execute(-\d+)?", name))], default=(0.0, ""))

    def _note_limits(self, intent_uid: str, fields: Mapping[str, str]) -> None:
        pauses = read_limits(fields)
        for name, seconds in pauses.items():
            self._free_at[name] = max(self._free_at.get(name, (0.0, "")), (time.time() + seconds, describe_limit(name, fields)))
        if pauses:
            self._limits_of[intent_uid] = list(pauses)

    def _send(
        self,
        method: str,
        path: str,
        prepare: Callable[[], _Request] = lambda: ({}, None),
        intent_uid: Optional[str] = None,
        parse_float: Callable[[str], Any] = AsWritten,
        may_be_made: bool = False,
    ) -> Answer:
        """Sends a request; retries if nothing answers or the gate is unavailable, and waits if quota is used up.

        may_be_made is whether an earlier request may have made the call that this one is about.
        """
        waited, failures = 0.0, 0
        abandoned = given_up.get() or threading.Event()

        def wait(seconds: float, error: IntentGateError) -> None:
            nonlocal waited
            waited += seconds
            if waited > self._max_wait:
                raise error
            _log.log(logging.WARNING if seconds >= 1 else logging.DEBUG, "Waiting %.1f s. %s", seconds, error)
            abandoned.wait(seconds)

        def note_effect(status: int, error: IntentGateError) -> IntentGateError:
            is_heard = may_be_made or (intent_uid is not None and not 300 <= status < 500)
            if not is_heard or not isinstance(error, UnexpectedAnswer):
                return error
            return UnexpectedAnswer(error.status, f"{error.message} {MAY_BE_MADE}", error.retry_after_seconds)

        while True:
            free_at, used_up = (0.0, "") if intent_uid is None else self._quota_at(intent_uid)
            if free_at > time.time():
                quota_wait = free_at - time.time()
                wait(quota_wait, RateLimited(quota_wait, used_up))
            headers, body = prepare()
            request = urllib.request.Request(self._url + path, method=method, headers={"Accept": "application/json", **headers})
            if body is not None:
                request.data = write_json(body).encode("utf-8")
                request.add_header("Content-Type", "application/json")
            if abandoned.is_set():
                _give_up()
            try:
                with opener.open(request, timeout=self._timeout) as response:
                    status, fields, text = response.status, response.headers, response.read()
            except (OSError, http.client.HTTPException) as cause:
                failures += 1
                # urllib wraps failures to connect and to send, after which no whole request has arrived, and not those to read
                is_sent = not isinstance(cause, urllib.error.URLError)
                may_be_made = may_be_made or (is_sent and intent_uid is not None)
                unreachable = Unreachable(self._url, proxy_of(self._url), may_be_made)
                if failures >= self._max_attempts:
                    raise unreachable from cause
                wait(pause(failures), unreachable)
                continue
            if intent_uid is not None:
                self._note_limits(intent_uid, fields)
            if status < 300:
                try:
                    return read_answer(status, fields, text, parse_float)
                except UnexpectedAnswer as unexpected:
                    raise note_effect(status, unexpected) from unexpected.__cause__
            error = note_effect(status, read_error(status, fields, text))
            seconds, reason = error.retry_after_seconds, error.details.get("reason")
            if status == 429:
                seconds = 1 if seconds is None else seconds
                used_up = describe_used_up(error.message, error.details) if isinstance(error, Refusal) else "The rate limit is used up"
                wait(max(seconds, 0.25), RateLimited(seconds, used_up, error.details))
            elif (status == 503 and reason != "paused") or (status == 504 and intent_uid is None) or reason == "running":
                failures += 1
                if failures >= self._max_attempts:
                    raise error
                is_sent = reason == "running" or error.details.get("outcome") != "not_sent"
                may_be_made = may_be_made or (is_sent and intent_uid is not None)
                wait(pause(failures) if seconds is None else seconds, error)
            else:
                raise error


def _give_up() -> NoReturn:
    raise concurrent.futures.CancelledError
