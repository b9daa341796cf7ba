"""An agent in the manner of the protocol's guides: agents.json leads it; it signs what json.dumps writes, in hex."""

import base64
import json
import sys
from datetime import datetime

import requests
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa


class Agent:
    def __init__(self, service_url):
        self.service_url = service_url
        self.agent_id = "ai-agent-123"
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.agents = self.call("GET", f"{service_url}/agents.json")

    def call(self, method, url, **more):
        response = requests.request(method, url, **more)
        response.raise_for_status()
        return response.json()

    def sign(self, policy):
        data = json.dumps(policy).encode()
        return self.key.sign(data, padding.PKCS1v15(), hashes.SHA256()).hex()

    def get_pat(self):
        policy = self.call("GET", self.agents["uim-policy-file"])
        public_key = self.key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        body = {
            "agent_id": self.agent_id,
            "signed_policy": self.sign(policy),
            "agent_public_key": base64.b64encode(public_key).decode(),
        }
        issued = self.call("POST", f"{self.service_url}/pat/issue", json=body)
        datetime.strptime(issued["expires_at"], "%Y-%m-%dT%H:%M:%SZ")
        return issued["uim-pat"]

    def search(self, **criteria):
        return self.call("GET", self.agents["uim-api-discovery"], params=criteria)["intents"]

    def execute(self, intent_uid, parameters):
        headers = {"Authorization": f"Bearer {self.get_pat()}", "Content-Type": "application/uim+json"}
        body = json.dumps({"intent_uid": intent_uid, "parameters": parameters})
        return self.call("POST", self.agents["uim-api-execute"], data=body, headers=headers)


agent = Agent(sys.argv[1])
assert any(intent["intent_uid"] == "world.example:get-country:v1" for intent in agent.agents["intents"])
[found] = agent.search(tags="countries", intent_name="country", page_size=1)
print(agent.execute(found["intent_uid"], {"code": "JP"})["name"])
