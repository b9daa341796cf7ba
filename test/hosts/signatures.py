"""Verifies signed requests with regent-httpsig: reads [{method, url, headers}] on stdin, writes what each valid signature covers."""

import asyncio
import json
import sys

from regent_httpsig import HttpsigConfig, HttpsigVerifier, parse_signature_input


async def verify(requests):
    verifier = HttpsigVerifier(HttpsigConfig(insecure_hosts=frozenset({"127.0.0.1", "localhost"})))

    async def judge(request):
        verified = await verifier.verify(request["method"], request["url"], request["headers"])
        if verified is None:
            return None
        covered, _ = parse_signature_input(request["headers"]["signature-input"])[verified.label]
        return {"agent": verified.agent, "covered": sorted(covered)}

    return [await judge(request) for request in requests]


print(json.dumps(asyncio.run(verify(json.load(sys.stdin)))))
