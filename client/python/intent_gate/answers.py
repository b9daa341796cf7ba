"""What a gate answers, for type checkers."""

from __future__ import annotations

from typing import Any, Dict, List, Literal, Mapping, NewType, Optional, Sequence, TypedDict

#: the uid of an intent that was found at runtime; where the uids of a gate are declared ("intent-gate types"), any other has to be one of them
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


class Intent(TypedDict):
    """An intent as search shows it. `digest` tells two states of it apart."""

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
    """An intent with everything that was registered."""

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
    """What executing would have answered: its HTTP status and its body."""

    status: int
    body: Dict[str, Any]


class _ExecutionState(TypedDict):
    status: Literal["waiting", "working", "done", "denied", "expired", "unknown"]
    execution: str


class ExecutionState(_ExecutionState, total=False):
    """What has become of a call that is made later: expires_at if it waits, outcome if it is done, reason if it was not made or nobody knows."""

    expires_at: str
    outcome: Outcome
    reason: str


class _ReceiptFile(TypedDict):
    receipt: str


class ReceiptFile(_ReceiptFile, total=False):
    """A receipt with all that verifying it takes, as "intent-gate receipt save" writes it. parameters and answer are JSON texts."""

    salts: str
    parameters: str
    answer: str
    proof: str
    log_key: str
    jwks: Dict[str, List[Dict[str, str]]]


class _ReceiptCheck(TypedDict):
    what: str


class ReceiptCheck(_ReceiptCheck, total=False):
    problem: str
    is_skipped: bool


class ReceiptReport(TypedDict):
    """What was compared, in order, and what the receipt says if its signature is good."""

    checks: List[ReceiptCheck]
    is_valid: bool
    claims: Optional[Dict[str, Any]]


class Answer(Dict[str, Any]):
    """An answer, with its HTTP status, what its header Answer-Issues says, and its receipt."""

    status: int = 200
    issues: Sequence[str] = ()
    receipt: Optional[ReceiptFile] = None


def issues_of(answer: Mapping[str, Any]) -> Sequence[str]:
    """Where an answer of execute does not match what the intent says of it: JSON pointers, and "..." at the end if there are more.

    Empty if it matches. It was executed either way. Takes the dictionary that execute returned, not a copy.
    """
    return answer.issues if isinstance(answer, Answer) else ()
