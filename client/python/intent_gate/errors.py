"""Exceptions of this client."""

from __future__ import annotations

import json
import math
import re
import time
from typing import Any, Dict, List, Literal, Mapping, Optional, TypedDict, Union, cast

from .answers import ExecutionState
from .printable import without_hidden

#: error codes of a gate (specification section 7.2); a gate newer than this client may have others
GateErrorCode = Literal[
    "INVALID_PARAMETER",
    "INVALID_SIGNATURE",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "POLICY_REJECTED",
    "NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "CONFLICT",
    "UNSUPPORTED_MEDIA_TYPE",
    "TOO_MANY_REQUESTS",
    "INTERNAL_SERVER_ERROR",
    "NOT_IMPLEMENTED",
    "SERVICE_UNAVAILABLE",
    "GATEWAY_TIMEOUT",
    "INTENT_EXECUTION_FAILED",
    "INTENT_NOT_SUPPORTED",
    "VERSION_CONFLICT",
    "INTENT_DEPRECATED",
]

#: codes of this client's own errors
ClientErrorCode = Literal["DEFERRED", "POLICY_DECLINED", "FOREIGN_POLICY", "UNREACHABLE", "UNEXPECTED_ANSWER"]

ErrorCode = Union[GateErrorCode, ClientErrorCode]

#: how much of an upstream's response an error message repeats, in bytes
_MAX_REASON_BYTES = 1024


class Issue(TypedDict):
    """A place in the request, as a JSON pointer, and its problem."""

    path: str
    problem: str


class IntentGateError(Exception):
    """Base class of this client's errors. Further lines of the text say why the service refused, or which uids resemble an unknown one."""

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        status: Optional[int] = None,
        details: Optional[Mapping[str, Any]] = None,
        retry_after_seconds: Optional[float] = None,
    ) -> None:
        self.details: Dict[str, Any] = dict(details or {})
        reason = _describe_upstream(self.details.get("upstream_body"))
        nearest = without_hidden(", ".join(map(str, self.details.get("nearest") or [])))
        further = (reason and f"\nThe service said: {reason}") + (nearest and f"\nDid you mean {nearest}?")
        super().__init__(f"{code}: {message}{further}")
        self.code: ErrorCode = code
        self.message = message
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        #: of an execution that failed: the key under which it can be repeated without making a second call
        self.idempotency_key: Optional[str] = None

    @property
    def request_id(self) -> Optional[str]:
        """Id of the request, for the gate's operators."""
        return self.details.get("request_id")


class Refusal(IntentGateError):
    """An error response of the gate."""

    code: GateErrorCode

    @property
    def issues(self) -> List[Issue]:
        """Every invalid place in the request."""
        return cast(List[Issue], self.details.get("issues", []))


class RateLimited(IntentGateError):
    """The quota is used up, and waiting retry_after_seconds would exceed max_wait."""

    def __init__(self, seconds: float, used_up: str, details: Optional[Mapping[str, Any]] = None) -> None:
        when = f"in {math.ceil(seconds)} seconds" if seconds < 600 else time.strftime("after %Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        super().__init__("TOO_MANY_REQUESTS", f"{used_up}. Try again {when}.", 429, details, seconds)


class PolicyDeclined(IntentGateError):
    """on_policy did not allow the policy to be signed."""

    def __init__(self, policy: Dict[str, Any], in_words: List[str]) -> None:
        message = "The usage policy was not accepted, so nothing was signed and no intent can be executed."
        super().__init__("POLICY_DECLINED", message)
        self.policy = policy
        self.in_words = in_words


class Deferred(IntentGateError):
    """The call was deferred, and execute was called without wait. It can be repeated with idempotency_key without making a second call."""

    def __init__(self, state: ExecutionState, idempotency_key: str) -> None:
        happens = f"waits for a person's approval until {state.get('expires_at')}" if state["status"] == "waiting" else "is being made"
        address = state["execution"]
        super().__init__("DEFERRED", f"The call {happens}. Read its state at {address}, or execute it again with the same idempotency_key.", 202)
        self.state = state
        self.idempotency_key = idempotency_key


MAY_BE_MADE = "The call may have been made. Execute the intent again with the same idempotency key, which makes no second call."


class Unreachable(IntentGateError):
    """Nothing answered. An execution may have taken effect; it can be repeated safely with the same idempotency_key."""

    def __init__(self, url: str, proxy: Optional[str] = None, may_be_made: bool = False) -> None:
        through, also = ("", "") if proxy is None else (f" through the proxy {proxy}", " the proxy,")
        advice = MAY_BE_MADE if may_be_made else f"Check the address,{also} and whether the gate is running."
        super().__init__("UNREACHABLE", f"Nothing answers at {url}{through}. {advice}")


class UnexpectedAnswer(IntentGateError):
    """The response is not from a gate, or not in the specification's format."""

    def __init__(self, status: Optional[int], message: Optional[str] = None, retry_after_seconds: Optional[float] = None) -> None:
        default = f"The answer (status {status}) is not in the specified format. Is there an Intent Gate at this address, and of the same version?"
        super().__init__("UNEXPECTED_ANSWER", message or default, status, None, retry_after_seconds)


def describe_used_up(message: str, details: Mapping[str, Any]) -> str:
    """What a refusal says is used up, without its advice, which names header fields."""
    first, budget, limit = re.split(r"[.\n]", message)[0], details.get("budget"), details.get("limit")
    if budget:
        return f"{first} ({budget['amount']} {budget['unit']} in {_describe_period(budget['period'])})"
    return f"{first} ({limit['rate']} calls in {_describe_period(limit['period'])})" if isinstance(limit, dict) and "period" in limit else first


def _describe_period(seconds: float) -> str:
    return f"{seconds} seconds" if seconds < 172_800 else f"{round(seconds / 86_400)} days"


def _describe_upstream(said: object) -> str:
    """The response of the service behind an intent, on one line without hidden characters."""
    if said is None:
        return ""
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, separators=(",", ":"), default=str)
    line = without_hidden(re.sub(r"\s+", " ", text)).strip().encode("utf-8", "replace")
    if len(line) <= _MAX_REASON_BYTES:
        return line.decode("utf-8")
    # drops a character that was cut in half
    return line[: _MAX_REASON_BYTES - 3].decode("utf-8", "ignore") + "…"
