"""Addresses of a gate, and the format of its requests and responses."""

from __future__ import annotations

import base64
import email.utils
import ipaddress
import json
import os
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from decimal import Decimal
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Union

from .answers import Answer, Upstream
from .errors import IntentGateError, Refusal, UnexpectedAnswer


class _AnyStatus(urllib.request.HTTPErrorProcessor):
    """Returns every answer as it is, and follows no redirects, so that credentials go only to the gate."""

    def http_response(self, request: urllib.request.Request, response: Any) -> Any:
        return response

    https_response = http_response


#: http leads to this machine only, so it needs no proxy, which would read the tokens
_proxies = {scheme: address for scheme, address in urllib.request.getproxies().items() if scheme != "http"}


def _is_loopback(host: str) -> bool:
    return re.fullmatch(r"localhost|127\.\d+\.\d+\.\d+|::1", host) is not None


def _host_and_port(text: str) -> Tuple[str, str]:
    """Those of an address, or of an entry in NO_PROXY, where an IPv6 address may have no brackets unless a port follows."""
    host, port = re.findall(r"^(\[.*\]|[^:]*|.*)(?::(\d*))?$", text)[0]
    try:
        return ipaddress.ip_address(host.strip("[]")).compressed, port
    except ValueError:
        return host, port


def _is_excluded(host: str, port: str) -> bool:
    """Whether NO_PROXY has the host or a domain above it, with this port or with none. urllib does not know each form."""
    entries = re.split(r"[\s,]+", (os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "").lower())
    named = [_host_and_port(re.sub(r"^\*?\.", "", entry)) for entry in entries if entry]
    return any(only in ("", port) and (name == "*" or f".{host}".endswith(f".{name}")) for name, only in named)


def proxy_of(address: str) -> Optional[str]:
    """The proxy for an address, for messages: without user information. This machine is never reached through one."""
    parts = urllib.parse.urlsplit(address)
    (host, port), proxy = _host_and_port(parts.netloc.lower()), _proxies.get(parts.scheme)
    if proxy is None or _is_loopback(host) or _is_excluded(host, port or "443") or urllib.request.proxy_bypass(parts.netloc):
        return None
    # / ? # or \ in a password ends what is read as the host, which is then not certain
    certain = re.fullmatch(r"\s*(?:\w+://)?(?:[^/?#\\]*@)?([^/?#\\@]+)(?:[/?#\\][^@]*)?", proxy)
    variable = "https_proxy" if os.environ.get("https_proxy") else "HTTPS_PROXY"
    advice = "which must be an address such as http://proxy.example:3128, with / ? # in a password as %2F %3F %23"
    return certain[1] if certain else f"in {variable}, {advice}"


class _Proxies(urllib.request.ProxyHandler):
    def proxy_open(self, req: urllib.request.Request, proxy: str, type: str) -> Any:
        try:
            return super().proxy_open(req, proxy, type) if proxy_of(req.full_url) else None
        except ValueError:  # its message has the password
            raise urllib.error.URLError("unsupported proxy") from None


opener = urllib.request.build_opener(_AnyStatus, _Proxies(_proxies))


def read_address(text: str) -> str:
    """Parses the address of a gate. Allows plain http only to this machine."""
    parts = urllib.parse.urlsplit(text)
    host = parts.hostname or ""
    if parts.scheme not in ("http", "https") or host == "" or "@" in parts.netloc:
        raise ValueError("the address of the gate must be an http or https URL without user information")
    if parts.scheme == "http" and not _is_loopback(host):
        raise ValueError("the address of the gate must begin with https://; tokens may be sent over http only to this machine")
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc.lower(), parts.path, "", "")).rstrip("/")


def require_policy_of(address: str, policy: Mapping[str, Any]) -> None:
    """Raises unless a policy is of this gate: otherwise a gate could present another gate's policy, and use the signature there."""

    def is_below(uri: object) -> bool:
        return isinstance(uri, str) and (uri == address or uri.startswith(address + "/"))

    uid, permissions = policy.get("uid"), policy.get("permission", [])
    is_own_uid = is_below(uid) or (isinstance(uid, str) and not re.match("https?:", uid, re.IGNORECASE))
    if is_own_uid and isinstance(permissions, list) and all(isinstance(rule, dict) and is_below(rule.get("target")) for rule in permissions):
        return
    raise IntentGateError(
        "FOREIGN_POLICY",
        f"The policy is not that of {address} but of {uid}, so nothing was signed. If you are sure that this is the right gate, "
        "pass its address as public_url.",
    )


def life_seconds(pat: str) -> float:
    """Lifetime of a PAT, from its own timestamps, so that clock skew does not matter."""
    segment = pat.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(segment + "=" * (-len(segment) % 4)))
    return float(claims["exp"] - claims["iat"])


def pause(failures: int) -> float:
    """Exponential back-off up to 8 s, give or take 50 %, so that clients do not retry at the same time."""
    return float(min(0.25 * 2 ** (failures - 1), 8) * (0.5 + random.random()))


def read_limits(fields: Mapping[str, str]) -> Dict[str, int]:
    """Seconds to wait for each limit, 0 unless it is used up (draft-ietf-httpapi-ratelimit-headers)."""
    items = re.findall(r'"([^"]*)";r=(\d+)(?:;t=(\d+))?', fields.get("RateLimit", ""))
    return {name: int(seconds or 0) if remaining == "0" else 0 for name, remaining, seconds in items}


def describe_limit(name: str, fields: Mapping[str, str]) -> str:
    """What is used up: an amount of money if the limit is a budget, which Budget-Warning says."""
    for one, amount, unit in re.findall(r'"([^"]*)";used="[^"]*";budget="([^"]*)";unit="([^"]*)"', fields.get("Budget-Warning", "")):
        if one == name:
            return f'The budget "{name}" is used up ({amount} {unit})'
    return f'The limit "{name}" is used up'


def _parse_int(text: str) -> Union[int, Decimal]:
    try:
        return int(text)
    except ValueError:  # Python parses ints of at most 4,300 digits
        return Decimal(text)


def _parse(text: bytes, parse_float: Callable[[str], Any]) -> Any:
    """Parses JSON, and returns None for anything else. Integers keep every digit."""
    try:
        return json.loads(text, parse_float=parse_float, parse_int=_parse_int)
    except (ArithmeticError, RecursionError, ValueError):
        return None


def read_answer(status: int, fields: Mapping[str, str], text: bytes, parse_float: Callable[[str], Any]) -> Answer:
    value = _parse(text, parse_float)
    if not isinstance(value, dict):
        raise UnexpectedAnswer(status)
    answer = Answer(value)
    answer.status = status
    issues = fields.get("Answer-Issues")
    if issues:
        answer.issues = [urllib.parse.unquote(pointer.strip()) for pointer in issues.split(",")]
    head = {name.lower()[len("upstream-") :]: value for name, value in fields.items() if name.lower().startswith("upstream-")}
    upstream_status = head.pop("status", None)
    if upstream_status:
        answer.upstream = Upstream(int(upstream_status), head)
    receipt = fields.get("Execution-Receipt")
    if receipt:
        answer.receipt = {"receipt": receipt, "salts": fields.get("Execution-Receipt-Salts", ""), "answer": text.decode("utf-8")}
    return answer


def read_error(status: int, fields: Mapping[str, str], text: bytes) -> IntentGateError:
    return refusal_of(status, _parse(text, float), _retry_after(fields.get("Retry-After", "")))


def _retry_after(field: str) -> Optional[float]:
    """Seconds in Retry-After (RFC 9110 section 10.2.3), which has seconds or a date."""
    if re.fullmatch("[0-9]+", field):
        return int(field)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(field).timestamp() - time.time())
    except (TypeError, ValueError):
        return None


def refusal_of(status: int, body: Any, seconds: Optional[float] = None) -> IntentGateError:
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("code"), str) or not isinstance(error.get("message"), str):
        return UnexpectedAnswer(status, retry_after_seconds=seconds)
    details = error["details"] if isinstance(error.get("details"), dict) else {}
    # a deferred call has its outcome without header fields
    later = details.get("retry_after_seconds") if seconds is None else seconds
    return Refusal(error["code"], error["message"], status, details, later if isinstance(later, (int, float)) else None)


def write_json(value: object, indent: Optional[int] = None, ensure_ascii: bool = True) -> str:
    """Writes JSON, with each Decimal as a number with all its digits.

    Raises TypeError or ValueError for values that JSON cannot represent.
    """
    mark = str(uuid.uuid4())

    def mark_decimal(one: object) -> str:
        if not isinstance(one, Decimal):
            raise TypeError(f"{type(one).__name__} cannot be written as JSON")
        if not one.is_finite():
            raise ValueError(f"{one} cannot be written as JSON")
        return f"{mark}{one}"

    text = json.dumps(value, indent=indent, ensure_ascii=ensure_ascii, allow_nan=False, default=mark_decimal)
    return re.sub(f'"{mark}([-+.0-9E]+)"', r"\1", text)
