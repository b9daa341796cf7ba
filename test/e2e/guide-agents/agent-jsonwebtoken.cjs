// An agent in the manner of the protocol's guides for JavaScript: jsonwebtoken signs, and adds its claims.
const { generateKeyPairSync } = require('node:crypto');
const jwt = require('jsonwebtoken');

const [, , serviceUrl] = process.argv;
const agentId = 'ai-agent-123';

async function call(method, url, body, headers = {}) {
  const response = await fetch(url, {
    method,
    headers: { 'Content-Type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${JSON.stringify(answer)}`);
  return answer;
}

async function main() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const agents = await call('GET', `${serviceUrl}/agents.json`);
  const policy = await call('GET', agents['uim-policy-file']);
  const options = { algorithm: 'RS256', expiresIn: '5m', issuer: agentId, subject: agentId, notBefore: 0 };
  const signed = jwt.sign(policy, privateKey, options);
  const issued = await call('POST', `${serviceUrl}/pat/issue`, { agent_id: agentId, signed_policy: signed, agent_public_key: publicKey });
  const { intents } = await call('GET', `${serviceUrl}/uim/intents/search?query=currency+of+a+code`);
  const [{ intent_uid }] = intents.filter((intent) => agents.intents.some((listed) => listed.intent_uid === intent.intent_uid));
  const authorization = { Authorization: `Bearer ${issued['uim-pat']}` };
  const { name } = await call('POST', `${serviceUrl}/uim/execute`, { intent_uid, parameters: { code: 'CHF' } }, authorization);
  console.log(name);
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
