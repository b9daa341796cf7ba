/**
 * A stolen PAT that is bound to proofs is worthless: a thief has the PAT, the policy that its agent has signed, and every proof that the agent has
 * sent, but not its key. Whatever he sends is refused, nothing reaches the upstream, and nothing of the agent's limit is used up; between his
 * attempts the agent itself is served.
 * `node bin/run.js test/long/stolen-pat.ts [--attempts 100000] [--seed 1]`
 */
import '../environment.js';
import { createHash, createHmac, randomUUID } from 'node:crypto';
import { makeAgent, signJws, signProof, type TestAgent } from '../support/agent-keys.ts';
import { baseUrl, post, startGate } from '../support/gate.ts';
import { openPolicy } from '../support/policy.ts';
import { chooseWith, seededRandom } from '../support/random.ts';
import { intentOf, serviceNamed } from '../support/records.ts';
import { startUpstream } from '../support/upstream.ts';
import { readNumbers } from './options.ts';

const { attempts, seed } = readNumbers({ attempts: 100_000, seed: 1 });
const random = seededRandom(seed);
const { below, pick } = chooseWith(random);

const gate = await startGate();
const upstream = await startUpstream((_, response) =>
  response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"name":"France"}'),
);
const { service_id } = await gate.services.create(serviceNamed('Guarded'));
const uid = 'test.example:guarded:v1';
await gate.intents.create(
  service_id,
  intentOf(uid, { endpoint: { url: `http://127.0.0.1:${upstream.port}/`, method: 'POST', content_type: 'application/json' } }),
);
const [executePath, issuePath] = ['/api/intents/execute', '/api/pat/issue'];
const [url, issueUrl] = [baseUrl + executePath, baseUrl + issuePath];
const [execute, issue] = [gate.openExecute(), gate.openIssue()];
const policyText = openPolicy()(baseUrl).text;

const [victim, thief, rsaThief] = [await makeAgent(), await makeAgent(), await makeAgent('RSA')];

async function obtain(agent: TestAgent, agentId: string, withProof: boolean) {
  const signedPolicy = await signJws(agent, policyText);
  const proof = await signProof(agent, { url: issueUrl });
  const body = { agent_id: agentId, signed_policy: signedPolicy, agent_public_key: JSON.stringify(agent.jwk) };
  const answer = await post(issue, issuePath, body, withProof ? { DPoP: proof } : {});
  if (answer.status !== 200) throw new Error(`no PAT: ${JSON.stringify(answer.body)}`);
  return { pat: String(answer.body['proto-pat']), signedPolicy, proof };
}
const stolen = await obtain(victim, 'victim', true);
const own = await obtain(thief, 'thief', true);
/** Proofs that the agent has sent, all used. */
const captured = [stolen.proof];
const body = { intent_uid: uid, parameters: { code: 'FR' } };
const ofPat = { url, token: stolen.pat };

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url');
const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const claimsNow = () => ({ jti: randomUUID(), htm: 'POST', htu: url, iat: Math.floor(Date.now() / 1000), ath: digest(stolen.pat) });
const changed = (text: string): string => {
  const at = below(text.length);
  return text.slice(0, at) + pick(['', '.', '=', 'A', '_', 'B', ' ', text[at] ?? '']) + text.slice(at + 1);
};
/** Without key, by algorithms that take something public for one. */
function forge(): string {
  const alg = pick(['none', 'HS256', 'None', 'nOnE', 'ES256', 'EdDSA', '']);
  const jwk = pick([
    victim.jwk,
    { kty: 'oct', k: Buffer.from(victim.pem).toString('base64url') },
    undefined,
    { ...victim.jwk, d: thief.jwk.x },
  ]);
  const input = `${encode({ alg, typ: 'dpop+jwt', jwk })}.${encode(claimsNow())}`;
  const key = pick([victim.pem, Buffer.from(JSON.stringify(victim.jwk)), '']);
  return `${input}.${pick(['', createHmac('sha256', key).update(input).digest('base64url'), Buffer.alloc(64).toString('base64url'), Buffer.alloc(64, 1).toString('base64url')])}`;
}

/** What the thief sends with a PAT: proofs of all kinds but the right one. */
const makeProof: (() => Promise<string> | string)[] = [
  () => pick(captured),
  () => captured.at(-1) ?? '',
  () => changed(pick(captured)),
  forge,
  () => signProof(thief, ofPat),
  () => signProof(rsaThief, ofPat),
  () => signProof(thief, ofPat, {}, { jwk: victim.jwk }),
  () => signProof(rsaThief, ofPat, {}, { jwk: victim.jwk }),
  () => signProof(thief, ofPat, {}, { jwk: victim.jwk, alg: 'ES256', kid: victim.thumbprint }),
  () => signProof(thief, { url, token: own.pat }),
  () => signProof(thief, ofPat, { cnf: { jkt: victim.thumbprint }, sub: 'victim' }, { kid: victim.thumbprint }),
  () => signProof(thief, ofPat, { iat: Math.floor(Date.now() / 1000) + pick([-3_600, 3_600]) }),
  () => stolen.pat,
  () => stolen.signedPolicy,
  () => `${pick(captured)},${pick(captured)}`,
  () => '',
];

async function attempt(): Promise<{ status: number; what: string }> {
  if (random() < 0.1) {
    // a PAT of his own, in the name of the agent or with its key
    const agentId = pick(['victim', 'VICTIM', ' victim ', 'vict\u00adim']);
    const [signedPolicy, key] = pick([
      [stolen.signedPolicy, victim],
      [await signJws(thief, policyText), thief],
      [await signJws(thief, policyText), victim],
      [stolen.signedPolicy, thief],
    ] as const);
    const sent = { agent_id: agentId, signed_policy: signedPolicy, agent_public_key: JSON.stringify(key.jwk) };
    const proof = pick([undefined, stolen.proof, await signProof(thief, { url: issueUrl })]);
    const { status } = await post(issue, issuePath, sent, proof === undefined ? {} : { DPoP: proof });
    return {
      status: status === 400 || status === 403 || status === 409 || status === 429 ? 401 : status,
      what: `issue ${JSON.stringify({ sent, proof })}`,
    };
  }
  const proof = random() < 0.1 ? undefined : await pick(makeProof)();
  const scheme = pick(['Bearer', 'DPoP', 'bearer', 'dpop', 'DPOP']);
  const parts = stolen.pat.split('.');
  const claims = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString());
  const token = pick([
    ...[stolen.pat, stolen.pat, stolen.pat, stolen.pat, changed(stolen.pat)],
    `${parts[0]}.${encode({ ...claims, dpop: undefined })}.${parts[2]}`,
    `${parts[0]}.${encode({ ...claims, cnf: { jkt: thief.thumbprint } })}.${parts[2]}`,
  ]);
  const isSame = token === stolen.pat;
  const credential: string | string[] = pick([`${scheme} ${token}`, `${scheme} ${token}`, [`${scheme} ${token}`, `DPoP ${own.pat}`]]);
  const headers: Record<string, string | string[]> = {
    Authorization: credential,
    ...(proof !== undefined && { DPoP: random() < 0.9 ? proof : [proof, pick(captured)] }),
  };
  const { status } = await post(execute, executePath, body, headers);
  // two of one header are a mistake of the request, and a changed text may be the same text
  const isTwice = Array.isArray(credential) || Array.isArray(headers.DPoP);
  return { status: isTwice && status === 400 ? 401 : status, what: `${isSame ? '' : 'changed PAT, '}${JSON.stringify(headers)}` };
}

const violations: string[] = [];
const statuses = new Map<number, number>();
let honest = 0;
const every = Math.max(1, Math.floor(attempts / 50));
for (let made = 0; made < attempts; made++) {
  if (made % every === 0) {
    const proof = await signProof(victim, ofPat);
    const { status } = await post(execute, executePath, body, { Authorization: `DPoP ${stolen.pat}`, DPoP: proof });
    if (status !== 200) violations.push(`the agent itself was refused: ${status}`);
    captured.push(proof);
    honest++;
  }
  const { status, what } = await attempt();
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
  if (status !== 401) violations.push(`${status} for ${what}`);
}
if (upstream.seen.length !== honest)
  violations.push(`the upstream was called ${upstream.seen.length} times, ${honest} of them by the agent`);
await upstream.stop();
await gate.stop();

console.log(`${attempts} attempts with a stolen PAT, ${honest} calls of its agent, ${upstream.seen.length} calls of the upstream`);
for (const violation of violations.slice(0, 10)) console.log(violation.slice(0, 1_500));
console.log(`${violations.length} violations`);
process.exitCode = violations.length > 0 ? 1 : 0;
