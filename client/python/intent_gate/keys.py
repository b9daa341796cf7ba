"""Agent keys (Ed25519), and the JWS that they sign."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
import uuid
from typing import Any, Dict, Mapping, Optional

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from .canonical import base64url


def _encode_json(value: object) -> str:
    return base64url(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode("utf-8"))


class Key:
    """An agent's key: the 32 bytes of an Ed25519 private key (RFC 8032)."""

    def __init__(self, seed: bytes) -> None:
        self._private_key = Ed25519PrivateKey.from_private_bytes(seed)
        public_key = self._private_key.public_key()
        self.jwk: Dict[str, str] = {"kty": "OKP", "crv": "Ed25519", "x": base64url(public_key.public_bytes(Encoding.Raw, PublicFormat.Raw))}
        self.pem = public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")

    @classmethod
    def at(cls, path: str) -> Key:
        """Reads the key in a private file, which is created if it does not exist."""
        if not os.path.exists(path):
            made = Ed25519PrivateKey.generate().private_bytes(Encoding.Raw, PrivateFormat.Raw, NoEncryption())
            draft = f"{path}.{uuid.uuid4()}"
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(made.hex() + "\n")
            try:
                os.link(draft, path)
            except FileExistsError:
                pass  # another process was faster, so its key is used
            finally:
                os.remove(draft)
        _require_private(path)
        with open(path, "rb") as file:
            text = b"".join(file.read().split())
        if not re.fullmatch(b"[0-9A-Fa-f]{64}", text):
            wanted = "a key of this program, which is 64 hexadecimal digits"
            raise ValueError(f"{path} does not contain {wanted}. Name another file, or move this one away; a new one is created.")
        return cls(bytes.fromhex(text.decode("ascii")))

    @property
    def agent_id(self) -> str:
        """A name derived from the key, for agents without one."""
        return "agent-" + self.jwk["x"][:12]

    def sign(self, header: Mapping[str, Any], payload: object) -> str:
        """Signs a compact JWS (RFC 7515)."""
        signed = _encode_json({"alg": "EdDSA", **header}) + "." + _encode_json(payload)
        return signed + "." + base64url(self._private_key.sign(signed.encode("ascii")))

    def prove(self, method: str, url: str, pat: Optional[str] = None) -> str:
        """Signs a proof of possession for one request (RFC 9449 section 4.2)."""
        bound = {} if pat is None else {"ath": base64url(hashlib.sha256(pat.encode("ascii")).digest())}
        claims = {"jti": str(uuid.uuid4()), "htm": method, "htu": url, "iat": int(time.time()), **bound}
        return self.sign({"typ": "dpop+jwt", "jwk": self.jwk}, claims)


def _require_private(path: str) -> None:
    """Raises ValueError if other users can read or replace the key file."""
    if os.name == "nt":
        return
    if os.stat(path).st_mode & 0o077:
        raise ValueError(f"Others can read {path}, which contains a key. Make it private: chmod 600 {path}")
    folder = os.path.dirname(os.path.abspath(path))
    mode = os.stat(folder).st_mode
    if mode & 0o022 and not mode & stat.S_ISVTX:
        raise ValueError(f"Others can write to {folder}, which contains a key. Make it private: chmod 700 {folder}")
