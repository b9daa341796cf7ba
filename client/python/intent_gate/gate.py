"""A gate, as an agent sees it."""

from __future__ import annotations

import concurrent.futures
import contextvars
import http.client
import json
import re
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Callable, Dict, List, Mapping, NoReturn, Optional, Sequence, Tuple, Union, cast

from .answers import Answer, ExecutionState, FullIntent, IntentPage, Policy
from .errors import Deferred, IntentGateError, PolicyDeclined, RateLimited, Unreachable, UnexpectedAnswer
from .keys import AsWritten, Key, canonical_digest
from .wire import life_seconds, opener, pause, read_address, read_answer, read_error, read_limits, refusal_of, require_policy_of, write_json

OnPolicy = Callable[[Policy, List[str]], bool]

#: is told the state of a call that is waited for
OnWait = Callable[[ExecutionState], object]

_Request = Tuple[Dict[str, str], Optional[Mapping[str, Any]]]

#: how often policy and sentences are read to get a matching pair
_MAX_READS = 3

#: how often one execution may ask for another PAT: once because it was refused, once more because the policy changed in the meantime
_MAX_REPLACEMENTS = 2

#: how often the state of a call is read while it is waited for
_POLL_SECONDS = 2.0

#: set when nobody waits for a call any more
given_up: contextvars.ContextVar[Optional[threading.Event]] = contextvars.ContextVar("given_up", default=None)


def _require(answer: Answer, members: Mapping[str, type]) -> None:
    """Raises UnexpectedAnswer for an object that no gate answers with."""
    if not all(isinstance(answer.get(name), kind) for name, kind in members.items()):
        raise UnexpectedAnswer(answer.status)


class IntentGate:
    """A gate, as an agent sees it. Threads may share one.

    on_policy(policy, in_words) decides whether the usage policy is accepted; nothing is signed unless it returns True. in_words are the sentences
    of the gate about exactly this policy. key is a Key, or the path of the file that keeps one, made at the first execution. public_url is the
    gate's own address for itself, if it differs from the one at which it is reached. A call waits at most max_wait seconds for quota or for an
    unavailable gate, and is sent at most max_attempts times, each for at most timeout seconds. parse_float reads the fractions in the answers of
    intents: Decimal keeps every digit. Integers always do. agent_directory is the https origin of the company behind the agent, whose Web Bot
    Auth directory lists the key: the agent is verified for its domain.
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
    ) -> None:
        self._url = read_address(url)
        self._public_url = read_address(public_url or url)
        self._agent_id = agent_id
        self._agent_directory = agent_directory
        self._key = key
        self._on_policy = on_policy
        self._max_attempts = max_attempts
        self._max_wait = max_wait
        self._timeout = timeout
        self._parse_float = parse_float
        # one PAT is requested, however many threads need one
        self._lock = threading.RLock()
        self._accepted: Optional[Policy] = None
        self._pat: Optional[str] = None
        self._renew_at = 0.0
        self._free_at: Dict[str, float] = {}  # when there is something left again of limits, by their names
        self._limits_of: Dict[str, List[str]] = {}  # the limits that the last execution of an intent counted in

    def search(self, /, query: Optional[str] = None, **filters: Union[str, int, None]) -> IntentPage:
        """Finds intents. Filters: service_name, intent_name, uid, namespace, description, tags, page, page_size."""
        given = {name: value for name, value in {"query": query, **filters}.items() if value is not None}
        answer = self._send("GET", "/api/intents/search?" + urllib.parse.urlencode(given))
        _require(answer, {"intents": list, "pagination": dict})
        return cast(IntentPage, answer)

    def get(self, intent_uid: str) -> FullIntent:
        """One intent, with everything that was registered."""
        answer = self._send("GET", f"/api/intents/{urllib.parse.quote(intent_uid, safe='')}?view=full")
        _require(answer, {"intent_uid": str})
        return cast(FullIntent, answer)

    def policy(self) -> Tuple[Policy, List[str]]:
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

        With the same idempotency_key it is executed once, however often it is requested within a day. fields are JSON pointers to the members of the
        answer that are wanted. An answer longer than max_bytes is cut after a member or item, and "cut" in it says where. if_match is the digest of
        the intent as it was read: if it has changed since, nothing is executed, and the refusal is CONFLICT. issues_of(answer) says where it is not as described,
        and receipt_of(answer) proves the execution.
        A call that a person has to approve, or that takes minutes, raises Deferred unless wait is true or a function, which gets its state at first and
        after each change. With respond_async, the gate answers before the call has ended, which may then take ten minutes.
        traceparent is the caller's position in a trace (W3C Trace Context), which the gate continues.
        """
        key = idempotency_key or str(uuid.uuid4())
        options = {"fields": None if fields is None else list(fields), "max_bytes": max_bytes}
        body = {"intent_uid": intent_uid, "parameters": parameters, **{name: value for name, value in options.items() if value is not None}}
        headers = {"Idempotency-Key": key}
        if if_match is not None:
            headers["If-Match"] = if_match if re.match(r'(W/)?"|\*$', if_match) else f'"{if_match}"'
        if traceparent is not None:
            headers["traceparent"] = traceparent
        if respond_async:
            headers["Prefer"] = "respond-async"
        for is_last in (wait is False, True):
            answer = self._send_with_pat("POST", "/api/intents/execute", headers, body, intent_uid, self._parse_float)
            if answer.status != 202:
                break
            state = cast(ExecutionState, dict(answer))
            if is_last:
                raise Deferred(state, key)
            self._wait_for_end(state, wait)
        if answer.receipt:
            answer.receipt["parameters"] = write_json(parameters, ensure_ascii=False)
        return answer

    def read_execution(self, execution: str) -> ExecutionState:
        """What has become of a call that is made later. execution is its id, or the address in its state."""
        path = "/api/executions/" + urllib.parse.quote(execution.rsplit("/", 1)[-1], safe="")
        answer = self._send_with_pat("GET", path, {}, None, None, self._parse_float)
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
            state = self.read_execution(state["execution"])
        # the key may be free again, and asking again would make another call
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
    ) -> Answer:
        """Sends a request with a PAT, and with another one if that is refused."""
        replacements = 0
        while True:
            pat = self._obtain_pat()
            try:
                return self._send(method, path, lambda: ({"Authorization": f"Bearer {pat}", **headers}, body), intent_uid, parse_float)
            except IntentGateError as error:
                is_for_another_pat = error.code == "UNAUTHORIZED" or error.details.get("reason") == "policy_changed"
                replacements += 1
                if not is_for_another_pat or replacements > _MAX_REPLACEMENTS:
                    raise
                with self._lock:
                    if self._pat == pat:
                        self._pat = None

    def _obtain_pat(self) -> str:
        with self._lock:
            if self._pat is None or time.time() >= self._renew_at:
                try:
                    return self._request_pat()
                except IntentGateError as error:
                    if error.details.get("reason") != "not_current_policy":
                        raise
                    return self._request_pat()
            return self._pat

    def _request_pat(self) -> str:
        policy, in_words = self.policy()
        require_policy_of(self._public_url, policy)
        if policy != self._accepted:
            # a copy, so that nothing is signed but what was fetched
            if self._on_policy(json.loads(json.dumps(policy)), in_words) is not True:
                raise PolicyDeclined(policy, in_words)
            self._accepted = policy
        self._key = key = self._key if isinstance(self._key, Key) else Key.at(self._key)

        def prepare() -> _Request:
            issued_at = int(time.time())
            claims = {"iat": issued_at, "exp": issued_at + 120, "aud": self._public_url, "jti": str(uuid.uuid4())}
            directory = {} if self._agent_directory is None else {"agent_directory": self._agent_directory}
            return {}, {"agent_id": self._agent_id, "signed_policy": key.sign(claims, policy), "agent_public_key": key.pem, **directory}

        answer = self._send("POST", "/api/pat/issue", prepare)
        try:
            pat: str = next(value for member, value in answer.items() if member.endswith("-pat"))
            renew_at = time.time() + 0.9 * life_seconds(pat)
        except (AttributeError, LookupError, StopIteration, TypeError, ValueError) as cause:
            raise UnexpectedAnswer(200) from cause
        self._pat, self._renew_at = pat, renew_at
        return pat

    def _quota_at(self, intent_uid: str) -> float:
        """Of an intent that has not been executed, only the limits of everything are known."""
        own = self._limits_of.get(intent_uid)
        known = list(self._free_at.items())
        return max([at for name, at in known if (name in own if own else re.fullmatch(r"execute(-\d+)?", name))], default=0.0)

    def _note_limits(self, intent_uid: str, fields: Mapping[str, str]) -> None:
        pauses = read_limits(fields)
        for name, seconds in pauses.items():
            self._free_at[name] = max(self._free_at.get(name, 0.0), time.time() + seconds)
        if pauses:
            self._limits_of[intent_uid] = list(pauses)

    def _send(
        self,
        method: str,
        path: str,
        prepare: Callable[[], _Request] = lambda: ({}, None),
        intent_uid: Optional[str] = None,
        parse_float: Callable[[str], Any] = AsWritten,
    ) -> Answer:
        """Sends a request until it is answered: again if nothing answers or the gate is unavailable, later if quota is used up."""
        waited, failures = 0.0, 0
        nobody_waits = given_up.get() or threading.Event()

        def wait(seconds: float, error: IntentGateError) -> None:
            nonlocal waited
            waited += seconds
            if waited > self._max_wait:
                raise error
            nobody_waits.wait(seconds)

        while True:
            early = 0.0 if intent_uid is None else self._quota_at(intent_uid) - time.time()
            if early > 0:
                wait(early, RateLimited(early))
            headers, body = prepare()
            request = urllib.request.Request(self._url + path, method=method, headers={"Accept": "application/json", **headers})
            if body is not None:
                request.data = write_json(body).encode("utf-8")
                request.add_header("Content-Type", "application/json")
            if nobody_waits.is_set():
                _give_up()
            try:
                with opener.open(request, timeout=self._timeout) as response:
                    status, fields, text = response.status, response.headers, response.read()
            except urllib.error.HTTPError as response:
                with response:
                    status, fields, text = response.code, response.headers, response.read()
            except (OSError, http.client.HTTPException) as cause:
                failures += 1
                unreachable = Unreachable(self._url)
                if failures >= self._max_attempts:
                    raise unreachable from cause
                wait(pause(failures), unreachable)
                continue
            if intent_uid is not None:
                self._note_limits(intent_uid, fields)
            if status < 300:
                return read_answer(status, fields, text, parse_float)
            error = read_error(status, fields, text)
            seconds, reason = error.retry_after_seconds, error.details.get("reason")
            if status == 429:
                seconds = 1 if seconds is None else seconds
                wait(seconds, RateLimited(seconds, error.details))
            elif (status == 503 and reason != "paused") or reason == "running":
                failures += 1
                if failures >= self._max_attempts:
                    raise error
                wait(pause(failures) if seconds is None else seconds, error)
            else:
                raise error


def _give_up() -> NoReturn:
    raise concurrent.futures.CancelledError
