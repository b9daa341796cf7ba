"""Types of a gate's responses."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Mapping, NamedTuple, NewType, Optional, Sequence, TypedDict

#: uid of an intent found at runtime; literal uids must be declared if the gate's intents are declared ("intent-gate types")
IntentUid = NewType("IntentUid", str)

Policy = Dict[str, Any]


class _Parameter(TypedDict):
    name: str
    type: Literal["string", "number", "integer", "boolean", "array", "object", "null", "any"]


class Parameter(_Parameter, total=False):
    """An input or output parameter of an intent."""

    required: bool
    description: str
    default: Any
    enum: List[Any]
    minimum: float
    maximum: float
    minLength: int
    maxLength: int
    pattern: str
    format: str
    schema: Dict[str, Any]
    style: str
    content_type: str


class Intent(TypedDict):
    """An intent as in search results. `digest` changes whenever the intent does."""

    intent_uid: IntentUid
    service_name: str
    intent_name: str
    description: str
    input_parameters: List[Parameter]
    output_parameters: List[Parameter]
    endpoint: str
    tags: List[str]
    digest: str


class Endpoint(TypedDict):
    url: str
    method: str
    content_type: str


class _FullIntent(TypedDict):
    intent_uid: IntentUid
    intent_id: str
    service_id: str
    service_name: str
    intent_name: str
    description: str
    input_parameters: List[Parameter]
    output_parameters: List[Parameter]
    endpoint: Endpoint
    tags: List[str]
    digest: str
    version: str
    deprecated: bool


class FullIntent(_FullIntent, total=False):
    """An intent with all registered members."""

    category: str


class Pagination(TypedDict):
    total_results: int
    total_pages: int
    current_page: int
    page_size: int


class IntentPage(TypedDict):
    intents: List[Intent]
    pagination: Pagination


class Outcome(TypedDict):
    """HTTP status and body of the execution's response."""

    status: int
    body: Dict[str, Any]


class _ExecutionState(TypedDict):
    status: Literal["waiting", "working", "done", "denied", "expired", "unknown"]
    execution: str


class ExecutionState(_ExecutionState, total=False):
    """State of a deferred call: expires_at while it waits, outcome when it is done, reason if it was not made or its outcome is unknown."""

    expires_at: str
    outcome: Outcome
    reason: str


class _ReceiptFile(TypedDict):
    receipt: str
    salts: str
    answer: str


class ReceiptFile(_ReceiptFile, total=False):
    """A receipt with its salts, to which "intent-gate receipt save" adds what its verification needs. parameters and answer are JSON texts."""

    parameters: str


class Upstream(NamedTuple):
    """Status and header fields of the answer of the service behind an intent. Names of fields are in lower case; "cut" names those that were too long."""

    status: int
    headers: Dict[str, str]


class Answer(Dict[str, Any]):
    """An answer, with its HTTP status, the content of its Answer-Issues and Upstream headers, and its receipt."""

    status: int = 200
    issues: Sequence[str] = ()
    upstream: Optional[Upstream] = None
    receipt: Optional[ReceiptFile] = None


def issues_of(answer: Mapping[str, Any]) -> Sequence[str]:
    """Where an answer of execute differs from the intent's description: JSON pointers, and a final "..." if there are more.

    Empty if it matches. The intent was executed either way. Takes the dictionary returned by execute, not a copy.
    """
    return answer.issues if isinstance(answer, Answer) else ()


def upstream_of(answer: Mapping[str, Any]) -> Optional[Upstream]:
    """The status and header fields of the service's answer, such as upstream_of(order).headers["location"].

    Takes the dictionary returned by execute, not a copy.
    """
    return answer.upstream if isinstance(answer, Answer) else None


def receipt_of(answer: Mapping[str, Any]) -> Optional[ReceiptFile]:
    """The receipt of an answer of execute; None if the gate issues none. "intent-gate receipt save" adds what its verification needs.

    Takes the dictionary returned by execute, not a copy.
    """
    return answer.receipt if isinstance(answer, Answer) else None
