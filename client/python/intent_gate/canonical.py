"""Canonical JSON (RFC 8785), and its digest."""

from __future__ import annotations

import base64
import hashlib
import json
from decimal import Decimal
from typing import Any, cast


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


class AsWritten(float):
    """A number that keeps its original spelling."""

    text: str

    def __new__(cls, text: str) -> AsWritten:
        number = super().__new__(cls, text)
        number.text = text
        return number


def _spell(text: str) -> str:
    """The canonical spelling of a number: as in RFC 8785 if a double represents it exactly, else its digits and their power of ten, as gates write it."""
    exact, double = Decimal(text), float(text)
    sign, digits, power = exact.as_tuple()
    minus, written = "-" if sign and exact != 0 else "", "".join(map(str, digits))
    shown = written.strip("0")
    point = len(written.lstrip("0")) + cast(int, power)
    if Decimal(repr(double)) != exact:
        return f"{minus}{shown}e{point - len(shown)}"
    if double == 0:
        return "0"
    if len(shown) <= point <= 21:
        return minus + shown + "0" * (point - len(shown))
    if 0 < point <= 21:
        return f"{minus}{shown[:point]}.{shown[point:]}"
    if -6 < point <= 0:
        return f"{minus}0.{'0' * -point}{shown}"
    fraction = f".{shown[1:]}" if len(shown) > 1 else ""
    return f"{minus}{shown[0]}{fraction}e{point - 1:+d}"


def canonical_json(value: Any) -> str:
    """The canonical form of a JSON value. Fractions must have been parsed as AsWritten, as must integers that a double cannot represent."""
    if isinstance(value, dict):
        # section 3.2.3 sorts by UTF-16 code units
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{canonical_json(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical_json, value)) + "]"
    return _spell(value.text) if isinstance(value, AsWritten) else json.dumps(value, ensure_ascii=False)


def canonical_digest(value: Any) -> str:
    """SHA-256 of the canonical form, in base64url."""
    return base64url(hashlib.sha256(canonical_json(value).encode("utf-8")).digest())
