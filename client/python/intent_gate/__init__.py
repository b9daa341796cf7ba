"""Intent Gate for agents in Python.

    from intent_gate import IntentGate

    gate = IntentGate("https://gate.example", "my-agent", "my-agent.key", on_policy=lambda policy, in_words: ask(in_words))
    found = gate.search("what time is it in Tokyo")
    answer = gate.execute(found["intents"][0]["intent_uid"], {"time_zone": "Asia/Tokyo"})

AsyncIntentGate is the same for asyncio. From a shell: python3 -m intent_gate --help
"""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version

from .aio import AsyncIntentGate
from .answers import ExecutionState, FullIntent, Intent, IntentPage, IntentUid, Parameter, Policy, ReceiptFile, Upstream, issues_of, receipt_of, upstream_of
from .errors import (
    ClientErrorCode,
    Deferred,
    ErrorCode,
    GateErrorCode,
    IntentGateError,
    Issue,
    PolicyDeclined,
    RateLimited,
    Refusal,
    UnexpectedAnswer,
    Unreachable,
)
from .gate import IntentGate
from .keys import Key

try:
    __version__ = _version("intent-gate")
except PackageNotFoundError:  # not installed, but imported from a checkout
    __version__ = "unknown"

__all__ = [
    "AsyncIntentGate",
    "ClientErrorCode",
    "Deferred",
    "ErrorCode",
    "ExecutionState",
    "FullIntent",
    "GateErrorCode",
    "Intent",
    "IntentGate",
    "IntentGateError",
    "IntentPage",
    "IntentUid",
    "Issue",
    "Key",
    "Parameter",
    "Policy",
    "PolicyDeclined",
    "RateLimited",
    "ReceiptFile",
    "Refusal",
    "UnexpectedAnswer",
    "Unreachable",
    "Upstream",
    "issues_of",
    "receipt_of",
    "upstream_of",
]
