"""Verifies PATs with PyJWT, from the published key set and the documents alone: a check on the gate's own verifier.

Reads a line of JSON with the key set and the address, then one with token and time for every token; answers 1 or 0 a line.
"""

import base64
import json
import re
import sys

import jwt

HALF_ORDER = 0x7FFFFFFF800000007FFFFFFFFFFFFFFFDE737D56D38BCF4279DCE5617E3192A8
TEXTS = ("iss", "sub", "aud", "jti", "pol", "gen")
DATES = ("iat", "nbf", "exp")
MAX_SAFE = 2**53 - 1


class Refused(Exception):
    pass


def need(holds):
    if not holds:
        raise Refused


def decode(part):
    need(re.fullmatch(r"[A-Za-z0-9_-]+", part))
    data = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    need(base64.urlsafe_b64encode(data).decode().rstrip("=") == part)
    return data


def read(data):
    def once(pairs):
        names = [name for name, _ in pairs]
        need(len(names) == len(set(names)) and "__proto__" not in names)
        return dict(pairs)

    def constant(name):
        raise Refused

    value = json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_constant=constant)
    # half of a character cannot be written
    json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def is_whole(value, least):
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) > MAX_SAFE:
        return False
    return value == int(value) and value >= least


def is_text(value):
    return isinstance(value, str)


def has_exactly(value, **tests):
    return isinstance(value, dict) and set(value) == set(tests) and all(test(value[name]) for name, test in tests.items())


def check_claims(claims, now):
    need(isinstance(claims, dict))
    need(set(claims) <= {*TEXTS, *DATES, "scope", "cnf", "dpop", "lmt", "bil", "person", "client_id"})
    need(all(is_text(claims.get(name)) for name in TEXTS) and all(is_whole(claims.get(name), 0) for name in DATES))
    need(claims["nbf"] <= now < claims["exp"])
    need(isinstance(claims.get("scope"), list) and all(is_text(one) for one in claims["scope"]))
    if "cnf" in claims:
        need("person" not in claims and "client_id" not in claims and has_exactly(claims["cnf"], jkt=is_text))
        need("dpop" not in claims or claims["dpop"] is True)
    else:
        need("dpop" not in claims and is_text(claims.get("client_id")) and is_text(claims.get("person")))
        need(re.fullmatch(r"person\.[A-Za-z0-9_-]{43}", claims["person"]))
    count = lambda value: is_whole(value, 1)
    need("lmt" not in claims or has_exactly(claims["lmt"], rate=count, period=count))
    method = lambda value: is_text(value) and value in ("credit_card", "invoice", "wallet", "processor", "other")
    need("bil" not in claims or has_exactly(claims["bil"], method=method, id=lambda value: is_text(value) and value != ""))


def verify(token, now, keys, address):
    need(token.isascii() and len(token) <= 6144)
    parts = token.split(".")
    need(len(parts) == 3)
    header, payload, signature = (decode(part) for part in parts)
    found = [kid for kid in keys if header == b'{"alg":"ES256","typ":"pat+jwt","kid":"%s"}' % kid.encode()]
    need(len(found) == 1 and len(signature) == 64 and int.from_bytes(signature[32:], "big") <= HALF_ORDER)
    # the times are compared with a given one, below
    options = {"require": [*DATES, "iss", "aud", "sub", "jti"], "verify_exp": False, "verify_nbf": False, "verify_iat": False}
    jwt.decode(token, keys[found[0]], algorithms=["ES256"], issuer=address, audience=address, options=options)
    check_claims(read(payload), now)


def main():
    setting = json.loads(sys.stdin.readline())
    keys = {jwk["kid"]: jwt.PyJWK(jwk).key for jwk in setting["jwks"]["keys"]}
    for line in sys.stdin:
        case = json.loads(line)
        try:
            verify(case["token"], case["now"], keys, setting["address"])
            print(1)
        except (Refused, jwt.PyJWTError, ValueError, RecursionError):
            print(0)


main()
