"""An agent in the manner of the protocol's mock agents: it knows an address, and the paths by heart; PyJWT signs."""

import base64
import sys

import jwt
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

SERVICE_URL = sys.argv[1]
AGENT_ID = "ai-agent-123"

private_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
public_pem = private_key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def answer(response):
    response.raise_for_status()
    return response.json()


agents = answer(requests.get(f"{SERVICE_URL}/agents.json"))
assert agents["service-info"]["service_url"] == SERVICE_URL
intent = next(intent for intent in agents["intents"] if intent["intent_name"] == "List time zones")

policy = answer(requests.get(f"{SERVICE_URL}/uim-policy.json"))
pat = answer(
    requests.post(
        f"{SERVICE_URL}/pat/issue",
        json={
            "agent_id": AGENT_ID,
            "signed_policy": jwt.encode(policy, private_key, algorithm="RS256"),
            "agent_public_key": base64.urlsafe_b64encode(public_pem).decode(),
        },
    )
)["uim-pat"]
claims = jwt.decode(pat, agents["uim-public-key"], algorithms=["ES256"], audience=SERVICE_URL)
assert claims["sub"].split("~")[0] == AGENT_ID

result = answer(
    requests.post(
        f"{SERVICE_URL}/uim/execute",
        json={"intent_uid": intent["intent_uid"], "parameters": {}},
        headers={"Authorization": f"Bearer {pat}"},
    )
)
print("Europe/Rome" in str(result))
