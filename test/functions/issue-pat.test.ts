import { randomUUID } from 'node:crypto';
import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startKms } from '../../bin/local/kms.ts';
import { openUsedJtis } from '../../functions/core/activity/used-jti.ts';
import { openKms } from '../../functions/core/aws/kms.ts';
import { openPolicyArchive, openPolicyRefusals } from '../../functions/core/pat/policy-refusals.ts';
import { openProofs } from '../../functions/core/pat/proof.ts';
import { openSigningKeys } from '../../functions/core/pat/signing-keys.ts';
import { openPatVerifier } from '../../functions/core/pat/verify.ts';
import { keys } from '../../functions/core/table/keys.ts';
import { createAction as createGetJwks } from '../../functions/get-jwks.ts';
import { createAction as createGetPolicy } from '../../functions/get-policy.ts';
import type { Settings } from '../../functions/issue-pat.ts';
import { errorBody } from '../../schemas/error-body.ts';
import { keyPatClaims } from '../../schemas/pat.ts';
import { type Policy, policyWords } from '../../schemas/policy.ts';
import { openIssueOver } from '../support/actions.ts';
import { makeAgent, signJws, signProof, type TestAgent } from '../support/agent-keys.ts';
import { type Answer, invoke, refusalOf } from '../support/invoke.ts';
import { loadPolicyTemplate, openPolicy } from '../support/policy.ts';
import { refusals } from '../support/registry.ts';
import { judgePat } from '../support/second-verifier.ts';
import { startTable } from '../support/table.ts';

/** the address at which `invoke` calls the gate */
const address = 'https://api.example/test';
const url = `${address}/api/pat/issue`;
const template = loadPolicyTemplate();
const findPolicy = openPolicy(template);
const current = findPolicy(address);

const [store, kms] = await Promise.all([startTable(), startKms()]);
afterAll(() => Promise.all([store.stop(), kms.stop()]));
const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
const signingKeys = openSigningKeys(openKms({ endpoint: kms.endpoint, region: 'eu-west-1', credentials }), kms.keyIds);
await signingKeys.current();
beforeEach(() => {
  store.operations.length = 0;
  kms.operations.length = 0;
});

interface Options extends Partial<Settings> {
  isProofRequired?: boolean;
  findPolicy?: typeof findPolicy;
}

/** One instance of the function. */
function openGate({ isProofRequired = false, findPolicy: find = findPolicy, ...settings }: Options = {}) {
  const handler = openIssueOver(store.table, {
    template,
    signingKeys,
    findPolicy: find,
    proofs: openProofs(openUsedJtis(store.table), isProofRequired),
    settings,
  });
  return (body: unknown, headers: Record<string, string | string[]> = {}): Promise<Answer> =>
    invoke(handler, 'POST /api/pat/issue', { headers: { 'Content-Type': 'application/json', ...headers }, body });
}
const issue = openGate();

const inAnHour = () => Math.floor(Date.now() / 1000) + 3_600;

const requestOf = async (agent: TestAgent, edit: object = {}) => ({
  agent_id: randomUUID(),
  signed_policy: await signJws(agent, current.text),
  agent_public_key: agent.pem,
  ...edit,
});

const invalid = (message: string) => ({ status: 400, code: 'INVALID_SIGNATURE', message });

function expectRefusal(answer: Answer, expected: { status: number; code: string; message: string; details?: object }) {
  expect(refusalOf(answer)).toEqual({ details: {}, ...expected });
  const { headers, body } = answer;
  expect(body.error.details.request_id).toBe('request-1');
  expect(headers).toMatchObject({ 'X-Request-Id': 'request-1', 'Content-Type': 'application/json' });
  errorBody.parse(body);
}

/** The claims of an issued PAT that both verifiers accept. */
async function readClaims({ status, body }: Answer) {
  expect(status).toBe(200);
  const nowMs = Date.now();
  const claims = await openPatVerifier({ findKey: signingKeys.find })(body['proto-pat'], { baseUrl: address, nowMs });
  const { body: jwks } = await invoke(createGetJwks({ signingKeys }), 'GET /.well-known/jwks.json');
  expect(judgePat(body['proto-pat'], { jwks, address, now: Math.floor(nowMs / 1000) })).toEqual({ claims });
  return keyPatClaims.parse(claims);
}

describe('GET /api/policy', () => {
  const ask = (query: Record<string, string> = {}, headers = {}) =>
    invoke(createGetPolicy({ findPolicy, findVersion: async () => undefined }), 'GET /api/policy', { query, headers });

  test('GET /api/policy returns the text that agents sign, with its digest as entity tag', async () => {
    expect(await ask()).toEqual({
      status: 200,
      body: current.policy,
      headers: expect.objectContaining({ ETag: `"${current.digest}"`, 'Cache-Control': 'no-cache', 'Content-Type': 'application/json' }),
    });
    expect((await ask({}, { 'If-None-Match': `"${current.digest}"` })).status).toBe(304);
  });

  test('GET /api/policy?view=words returns plain sentences, and names the policy', async () => {
    const answer = await ask({ view: 'words' });
    expect(answer).toEqual({
      status: 200,
      body: { policy: current.reference, sentences: current.sentences, source: 'file' },
      headers: expect.objectContaining({ ETag: expect.stringMatching(/^"[\w-]{22}"$/), 'Cache-Control': 'no-cache' }),
    });
    expect(policyWords.safeParse(answer.body).error).toBeUndefined();
    expect((await ask({ view: '' })).body).toEqual(current.policy);
  });
});

test('GET /.well-known/jwks.json may be cached for five minutes', async () => {
  const { status, headers, body } = await invoke(createGetJwks({ signingKeys }), 'GET /.well-known/jwks.json');
  expect({ status, body }).toEqual({ status: 200, body: await signingKeys.jwks() });
  expect(headers).toMatchObject({ 'Cache-Control': 'public, max-age=300', ETag: expect.any(String) });
});

describe('POST /api/pat/issue', () => {
  const rejected = {
    status: 403,
    code: 'POLICY_REJECTED',
    message: 'The signature is valid, but the signed text is not the policy in force. Read it with GET /api/policy, and sign that.',
    details: { reason: 'not_current_policy', policy: current.reference },
  };

  test('POST /api/pat/issue issues a PAT with all claims', async () => {
    const agent = await makeAgent();
    const before = Math.floor(Date.now() / 1000);
    const request = await requestOf(agent, { agent_id: 'Ágent #1' });
    const answer = await issue(request);
    const claims = await readClaims(answer);
    expect(claims).toEqual({
      iss: address,
      sub: 'Ágent #1',
      aud: address,
      iat: expect.any(Number),
      nbf: claims.iat - 10,
      exp: claims.iat + 3600,
      jti: expect.any(String),
      scope: ['*:*:*:execute'],
      pol: `${address}/api/policy#sha-256=${current.digest}`,
      cnf: { jkt: agent.thumbprint },
      gen: expect.any(String),
      lmt: { rate: 60, period: 60 },
    });
    expect(claims.iat).toBeGreaterThanOrEqual(before);
    expect(answer.body).toEqual({
      'proto-pat': expect.any(String),
      expires_at: new Date(claims.exp * 1000).toISOString().replace('.000Z', 'Z'),
    });
    expect(answer.headers).toMatchObject({ 'Cache-Control': 'no-store', 'RateLimit-Policy': expect.stringContaining('"issue";q=60') });
    expect((await readClaims(await issue(request))).jti).not.toBe(claims.jti);
  });

  test('POST /api/pat/issue refuses agent_directory if the gate verifies no domains', async () => {
    const answer = await issue(await requestOf(await makeAgent(), { agent_directory: 'https://bot.example' }));
    const problem = 'must be left out: this gate does not verify the domains of agents';
    expect(refusalOf(answer)).toMatchObject({ status: 400, details: { issues: [{ path: '/agent_directory', problem }] } });
  });

  test('POST /api/pat/issue takes null for agent_directory, which leaves it out', async () => {
    expect((await issue(await requestOf(await makeAgent(), { agent_directory: null }))).status).toBe(200);
  });

  test('POST /api/pat/issue grants what the policy permits, adds billing if configured, and uses the configured protocol name', async () => {
    const paid: Policy = {
      ...template,
      permission: [
        { target: '{base_url}/api/intents?namespace=a.example', action: 'execute', duty: [{ action: 'pay', amount: 1, unit: 'urn:EUR' }] },
      ],
      prohibition: [],
    };
    const find = openPolicy(paid, { method: 'wallet', id: 'w1' });
    const agent = await makeAgent();
    const { status, body } = await openGate({ findPolicy: find, protocol: 'uim', patLifeSeconds: 60 })(
      await requestOf(agent, { signed_policy: await signJws(agent, find(address).text) }),
    );
    const claims = await readClaims({ status, headers: {}, body: { 'proto-pat': body['uim-pat'] } });
    expect(claims).toMatchObject({ scope: ['a.example:*:*:execute'], bil: { method: 'wallet', id: 'w1' }, exp: claims.iat + 60 });
    expect(claims.lmt).toBeUndefined();
  });

  describe('refused requests', () => {
    const doesNotHold = invalid(
      'The signature does not verify with agent_public_key. Sign the bytes that GET /api/policy sends, unchanged, or send a JWS whose payload is that policy.',
    );

    test.each<[string, (agent: TestAgent) => Promise<unknown> | unknown, Parameters<typeof expectRefusal>[1]]>([
      [
        'an empty body',
        () => ({}),
        refusals.invalid(['/agent_id', 'is required'], ['/signed_policy', 'is required'], ['/agent_public_key', 'is required']),
      ],
      [
        'an agent_id of 257 characters',
        (agent) => requestOf(agent, { agent_id: 'ü'.repeat(257) }),
        refusals.invalid(['/agent_id', 'must have at most 256 characters']),
      ],
      [
        'U+202E in agent_id',
        (agent) => requestOf(agent, { agent_id: 'a\u202eb' }),
        refusals.invalid(['/agent_id', 'must not contain the invisible or control character U+202E (character 2)']),
      ],
      [
        'a private key',
        (agent) => requestOf(agent, { agent_public_key: agent.privateKey.export({ format: 'pem', type: 'pkcs8' }) }),
        refusals.invalid([
          '/agent_public_key',
          'must be the public key, but a private key was sent: treat it as leaked, and create a new pair',
        ]),
      ],
      [
        'the signature of another key',
        async (agent) => requestOf(agent, { signed_policy: await signJws(await makeAgent(), current.text) }),
        doesNotHold,
      ],
      [
        'a policy with more',
        async (agent) => requestOf(agent, { signed_policy: await signJws(agent, current.text.replace(':60,', ':61,')) }),
        rejected,
      ],
    ])('POST /api/pat/issue writes nothing if it refuses %s', async (_, make, expected) => {
      const agent = await makeAgent();
      const request = await make(agent);
      const answer = await issue(request);
      expectRefusal(answer, expected);
      expect(store.operations.filter((operation) => operation !== 'GetItem')).toEqual([]);
      expect(kms.operations).toEqual([]);
      const shown = JSON.stringify(answer);
      for (const sent of Object.values(request as object))
        if (String(sent).length > 3) expect(shown).not.toContain(String(sent).slice(0, 60));
    });
  });

  describe('an earlier policy', () => {
    const tighter = openPolicy({
      ...template,
      permission: [{ target: '{base_url}/api/intents/a.example:x:v1', action: 'execute' }],
      prohibition: [],
    });

    test('an earlier policy is rejected with the changes since, if PATs were issued under it', async () => {
      const agent = await makeAgent();
      const signed_policy = await signJws(agent, tighter(address).text);
      expect((await openGate({ findPolicy: tighter })(await requestOf(agent, { signed_policy }))).status).toBe(200);
      const changes = [
        'Removed: You may execute the intent a.example:x:v1.',
        'Added: You may execute every intent, at most 60 times a minute.',
      ];
      const answer = await issue(await requestOf(agent, { signed_policy }));
      expectRefusal(answer, { ...rejected, details: { ...rejected.details, changes } });
    });

    test('PATs of an earlier policy are refused with the changes since', async () => {
      const refuse = openPolicyRefusals(openPolicyArchive(store.table)).refuseOldPolicy;
      expect(await refuse(tighter(address).reference, current)).toMatchObject({
        code: 'FORBIDDEN',
        status: 403,
        message:
          'The policy has changed since the PAT was issued. Read it with GET /api/policy, sign it, and get a new PAT with POST /api/pat/issue.',
        details: {
          reason: 'policy_changed',
          policy: current.reference,
          changes: expect.arrayContaining(['Removed: You may execute the intent a.example:x:v1.']),
        },
      });
      const unknown = await refuse(`${address}/api/policy#sha-256=unknown`, current);
      expect(unknown.details).toEqual({ reason: 'policy_changed', policy: current.reference });
    });
  });

  describe('a jti', () => {
    const used = invalid('The jti of the signed policy has been used before. Sign the policy again with a new one.');
    const onceBy = async (agent: TestAgent) =>
      requestOf(agent, { signed_policy: await signJws(agent, current.text, { jti: 'once', exp: inAnHour() }) });

    test('a jti is valid for one PAT, and not consumed by an invalid signature', async () => {
      const agent = await makeAgent();
      const request = await onceBy(agent);
      const forged = request.signed_policy.replace(
        /\.([^.])([^.]*)$/,
        (_, first: string, rest: string) => `.${first === 'A' ? 'B' : 'A'}${rest}`,
      );
      expect(refusalOf(await issue({ ...request, signed_policy: forged }))).toMatchObject({ status: 400, code: 'INVALID_SIGNATURE' });
      expect((await issue(request)).status).toBe(200);
      expectRefusal(await issue(request), used);
      expectRefusal(await issue({ ...request, agent_id: 'another' }), used);
      expect((await issue(await onceBy(await makeAgent()))).status).toBe(200);
    });

    test.each([
      ['whole seconds', 0, address],
      ['fractions of a second, and aud in a list', 0.25, [address]],
    ])('a jti may be required together with iat, exp and aud, which have %s', async (_, fraction, aud) => {
      const agent = await makeAgent();
      const ask = openGate({ isFreshRequired: true });
      const missing = 'The signed policy must be a JWS with the claims iat, exp, aud and jti in its header or payload. Sign it again.';
      expectRefusal(await ask(await requestOf(agent)), invalid(missing));
      const iat = Math.floor(Date.now() / 1000);
      const signed_policy = await signJws(agent, current.text, { iat: iat + fraction, exp: iat + 60 + fraction, aud, jti: randomUUID() });
      expect((await ask(await requestOf(agent, { signed_policy }))).status).toBe(200);
    });
  });

  describe('an agent_id', () => {
    test('an agent_id belongs to the key that presents it first, in any Unicode normal form', async () => {
      const [first, second] = [await makeAgent(), await makeAgent('Ed25519')];
      expect((await issue(await requestOf(first, { agent_id: 'caf\u00e9' }))).status).toBe(200);
      expectRefusal(await issue(await requestOf(second, { agent_id: 'caf\u00e9' })), refusals.boundAgentId);
      expectRefusal(await issue(await requestOf(second, { agent_id: 'cafe\u0301' })), refusals.boundAgentId);
      expect((await readClaims(await issue(await requestOf(first, { agent_id: 'cafe\u0301' })))).sub).toBe('caf\u00e9');
      expect(kms.operations).toEqual(['Sign', 'Sign']);
    });

    test('an agent_id may contain the delimiters of table keys', async () => {
      const [first, second] = [await makeAgent(), await makeAgent()];
      for (const [agent, agent_id] of [
        [first, 'x'],
        [second, 'x#AGENT'],
        [second, 'AGENT#x'],
        [second, '__proto__'],
      ] as const) {
        expect((await readClaims(await issue(await requestOf(agent, { agent_id })))).sub).toBe(agent_id);
      }
    });
  });

  test('POST /api/pat/issue limits requests by key for all agent_ids, and binds no id beyond the limit', async () => {
    const agent = await makeAgent();
    const ask = openGate({ issueLimitPerHour: 2 });
    expect((await ask(await requestOf(agent))).status).toBe(200);
    expect((await ask(await requestOf(agent))).headers.RateLimit).toMatch(/^"issue";r=0;/);
    const answer = await ask(await requestOf(agent, { agent_id: 'late' }));
    expectRefusal(answer, {
      status: 429,
      code: 'TOO_MANY_REQUESTS',
      message: 'Too many PATs have been issued to this key. Use the one you have, or ask again after Retry-After seconds.',
      details: { limit: { rate: 2, period: 3600, window: 3962 }, retry_after_seconds: expect.any(Number) },
    });
    expect(Number(answer.headers['Retry-After'])).toBeGreaterThan(0);
    expect(await store.table.get(keys.agent('late'))).toBeUndefined();
  });

  test('a proof of possession is valid once, may be required, and yields a PAT that needs one at every use', async () => {
    const agent = await makeAgent();
    const proof = await signProof(agent, { url });
    expect((await readClaims(await issue(await requestOf(agent), { DPoP: proof }))).dpop).toBe(true);
    const used = invalid('The jti of the DPoP proof has been used before. Make a new proof for every request.');
    expectRefusal(await issue(await requestOf(agent), { DPoP: proof }), used);
    const foreign = invalid('The DPoP proof was not made with the key that the agent presented. Use that key.');
    expectRefusal(await issue(await requestOf(agent), { DPoP: await signProof(await makeAgent(), { url }) }), foreign);

    const ask = openGate({ isProofRequired: true });
    const missing = invalid('This gate requires proof of possession. Send a DPoP header (RFC 9449) made with agent_public_key.');
    expectRefusal(await ask(await requestOf(agent)), missing);
    expect((await ask(await requestOf(agent), { DPoP: await signProof(agent, { url }) })).status).toBe(200);
  });
});
