"""Verifies signed requests with http-message-signatures: reads [{keys, method, url, headers}] on stdin, writes a list of verdicts."""

import base64
import json
import sys
from types import SimpleNamespace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, HTTPSignatureKeyResolver, algorithms


def read(request):
    keys = {
        key["kid"]: Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(key["x"] + "=")) for key in request["keys"]
    }

    class Keys(HTTPSignatureKeyResolver):
        def resolve_public_key(self, key_id):
            return keys[key_id]

    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=Keys())
    try:
        (result,) = verifier.verify(SimpleNamespace(**{name: request[name] for name in ("method", "url", "headers")}))
        return sorted(name.strip('"') for name in result.covered_components if name != '"@signature-params"')
    except Exception as error:
        return type(error).__name__


print(json.dumps([read(request) for request in json.load(sys.stdin)]))
