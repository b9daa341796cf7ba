import { constants, createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readAgentKey } from '../../../../functions/core/pat/agent-key.ts';
import { invalidSignature } from '../../../../functions/core/pat/refusals.ts';
import { signableTexts, verifySignedPolicy } from '../../../../functions/core/pat/signed-policy.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';
import { canonicalText } from '../../../../schemas/canonical.ts';
import { kinds, makeAgent, signDetached, signJws, type TestAgent } from '../../../support/agent-keys.ts';
import { openPolicy } from '../../../support/policy.ts';

const baseUrl = 'https://gate.example';
const current = openPolicy()(baseUrl);
const agentId = 'Agent 7';
const nowMs = 1_800_000_000_500;
const now = 1_800_000_000;

const agents = await Promise.all(kinds.map((kind) => makeAgent(kind)));
const [rsa, p256, p384] = agents as [TestAgent, TestAgent, TestAgent];

async function verify(text: string, agent: TestAgent = p256, isFreshRequired = false) {
  const key = await readAgentKey(agent.pem, invalidSignature);
  return verifySignedPolicy(text, key, current, { baseUrl, nowMs, agentId, isFreshRequired });
}

const policyWith = (members: object): string => JSON.stringify({ ...current.policy, ...members });
const reordered = JSON.stringify(Object.fromEntries(Object.entries(current.policy).reverse()), null, 4);
const texts = signableTexts(current.policy);

/** Signatures without a named algorithm, for each kind of key. */
function bareSignatures({ kind, privateKey: key }: TestAgent, data: Buffer): [string, Buffer][] {
  const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_MAX_SIGN, RSA_PSS_SALTLEN_DIGEST } = constants;
  switch (kind) {
    case 'RSA':
      return [
        ['PKCS1-v1_5', sign('sha256', data, key)],
        ['PSS', sign('sha256', data, { key, padding, saltLength: RSA_PSS_SALTLEN_DIGEST })],
        ['PSS with the longest salt', sign('sha256', data, { key, padding, saltLength: RSA_PSS_SALTLEN_MAX_SIGN })],
      ];
    case 'Ed25519':
      return [['Ed25519', sign(null, data, key)]];
    default:
      return (kind === 'P-256' ? ['sha256'] : ['sha256', 'sha384']).flatMap((hash): [string, Buffer][] => [
        [`DER with ${hash}`, sign(hash, data, key)],
        [`r||s with ${hash}`, sign(hash, data, { key, dsaEncoding: 'ieee-p1363' })],
      ]);
  }
}

describe('a signed policy', () => {
  const algorithms = agents.flatMap((agent) => agent.algorithms.map((alg) => [agent.kind, alg, agent] as const));
  test.each(algorithms)('a signed policy of %s with %s is accepted in every form of JWS', async (_, alg, agent) => {
    for (const payload of [current.text, canonicalText(current.policy), reordered]) {
      expect(await verify(await signJws(agent, payload, { alg, typ: 'JWT', kid: 'mine' }), agent)).toEqual({ isCurrent: true });
    }
    for (const payload of agent.kind === 'Ed25519' ? texts : texts.slice(0, 1)) {
      for (const more of [{}, { b64: false, crit: ['b64'] }, { b64: true, crit: ['b64'] }])
        expect(await verify(await signDetached(agent, payload, { alg, ...more }), agent)).toEqual({ isCurrent: true });
    }
  });

  test.each(agents.map((agent) => [agent.kind, agent] as const))('a bare signature of %s is accepted', async (_, agent) => {
    for (const [at, text] of (agent.kind === 'Ed25519' ? texts : texts.slice(0, 1)).entries()) {
      for (const [, signature] of bareSignatures(agent, Buffer.from(text))) {
        const hex = signature.toString('hex');
        const base64 = signature.toString('base64');
        const ofBase64 = [base64, base64.replace(/=+$/, ''), signature.toString('base64url'), base64.replace(/.{64}/g, '$&\n')];
        for (const encoded of at === 0 ? [hex, hex.toUpperCase(), ` ${hex}\n`, ...ofBase64] : [hex])
          expect(await verify(encoded, agent)).toEqual({ isCurrent: true });
      }
    }
  });

  test.each<[string, () => Promise<string>]>([
    [
      'an added permission',
      () => signJws(p256, policyWith({ permission: [...(current.policy.permission ?? []), { target: 'urn:x', action: 'execute' }] })),
    ],
    ['no policy', () => signJws(p256, '{}')],
    ['a raised rate', () => signJws(p256, current.text.replace('"rightOperand":60', '"rightOperand":61'))],
    ['another address', () => signJws(p256, current.text.replaceAll('gate.example', 'fake.example'))],
    ['no JSON', () => signJws(p256, 'I agree')],
    ['duplicate members', () => signJws(p256, current.text.replace('{', '{"type":"Set",'))],
    ['5,000 levels', () => signJws(p256, `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`)],
    ['bytes that are no text', () => signJws(p256, Buffer.from([0xff]))],
  ])('a signed policy over %s is genuine, but not over the current policy', async (_, make) => {
    expect((await verify(await make())).isCurrent).toBe(false);
  });

  test('a signed policy over another policy with the same uid refers to it', async () => {
    const { otherReference } = await verify(await signJws(p256, policyWith({ obligation: [] })));
    expect(otherReference).toMatch(/^https:\/\/gate\.example\/api\/policy#sha-256=[A-Za-z0-9_-]{43}$/);
    expect(otherReference).not.toBe(current.reference);
    expect(await verify(await signJws(p256, policyWith({ uid: 'urn:other' })))).toEqual({ isCurrent: false });
  });

  const doesNotHold =
    'The signature does not verify with agent_public_key. Sign the bytes that GET /api/policy sends, unchanged, or send a JWS whose payload is that policy.';
  const notCompact = 'The signed policy is not a compact JWS: three parts in base64url without padding, separated by dots. Sign it again.';
  const neither = 'The signed policy is neither a compact JWS nor a signature in hex, base64 or base64url. Sign it again.';
  const alg = 'The alg of the signed policy must be one of RS256, PS256, ES256, ES384, EdDSA, Ed25519.';
  const bringsKey =
    'The header of the signed policy must not contain a key (jwk, jku, x5u, x5c, x5t, x5t#S256): the key is agent_public_key.';
  const critical = 'The crit header of the signed policy may list only b64, and must list it if b64 is false.';
  const segment = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const payload = Buffer.from(current.text).toString('base64url');
  const genuine = () => signJws(p256, current.text);
  /** a validly signed JWS with a header that jose refuses to write */
  const raw = async (header: object, agent = p256) => {
    const input = `${segment(header)}.${payload}`;
    return `${input}.${sign('sha256', Buffer.from(input), { key: agent.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`;
  };
  const keyed = async (secret: string | Buffer) => {
    const input = `${segment({ alg: 'HS256' })}.${payload}`;
    return `${input}.${createHmac('sha256', secret).update(input).digest('base64url')}`;
  };
  const weak = generateKeyPairSync('ed25519').privateKey;

  test.each<[string, () => Promise<string>, string]>([
    ['of another key', async () => signJws(await makeAgent('P-256'), current.text), doesNotHold],
    ['of another kind of key', () => signJws(rsa, current.text), doesNotHold],
    ['a bare one of another key', async () => sign(null, Buffer.from(current.text), weak).toString('hex'), doesNotHold],
    ['a bare one over another text', async () => sign('sha256', Buffer.from(reordered), p256.privateKey).toString('base64'), doesNotHold],
    [
      'with a flipped bit',
      async () => (await genuine()).replace(/\.(.)([^.]*)$/, (_, first: string, rest: string) => `.${first === 'A' ? 'B' : 'A'}${rest}`),
      doesNotHold,
    ],
    ['over a payload that was exchanged', async () => (await genuine()).replace(/\.[^.]+\./, `.${segment({})}.`), doesNotHold],
    ['with alg none', async () => `${segment({ alg: 'none' })}.${payload}.AA`, alg],
    ['a detached one over another text', () => signDetached(p256, reordered), doesNotHold],
    ['with an empty crit', () => raw({ alg: 'ES256', crit: [] }), critical],
    ['without alg', () => raw({}), alg],
    ['with a prototype as alg', () => raw({ alg: 'constructor' }), alg],
    ['HS256 with the PEM', () => keyed(p256.pem), alg],
    ['ES256 under the name of ES384', () => raw({ alg: 'ES384' }), doesNotHold],
    ['with jwk', () => raw({ alg: 'ES256', jwk: p256.jwk }), bringsKey],
    ['with jku', () => raw({ alg: 'ES256', jku: 'https://a.example' }), bringsKey],
    ['with an unknown crit', () => raw({ alg: 'ES256', crit: ['exp'], exp: now + 60 }), critical],
    ['with b64 false that is not critical', () => raw({ alg: 'ES256', b64: false }), critical],
    ['with b64 as text', () => raw({ alg: 'ES256', b64: 'false', crit: ['b64'] }), critical],
    [
      'with b64 false and a payload',
      () => raw({ alg: 'ES256', b64: false, crit: ['b64'] }),
      'With b64 false the payload must be detached: leave the part between the dots empty.',
    ],
    ['with four parts', async () => `${await genuine()}.AA`, notCompact],
    ['with padding', async () => `${await genuine()}==`, notCompact],
    ...(['AAAA', segment([1]), Buffer.from('{"alg":"ES256","alg":"ES256"}').toString('base64url')] as const).map(
      (header): [string, () => Promise<string>, string] => [
        `with the header ${header}`,
        async () => (await genuine()).replace(/^[^.]*/, header),
        'The header of the signed policy must be a JSON object. Sign it again.',
      ],
    ),
    ['in no encoding', async () => 'I agree to the policy!', neither],
    ['of 10 KB', async () => 'ab'.repeat(5000), neither],
  ])('a signed policy is refused: %s', async (_, make, message) => {
    const refusal = { name: 'ApiError', code: 'INVALID_SIGNATURE', status: 400, message, details: {} };
    await expect(verify(await make())).rejects.toMatchObject(refusal);
  });

  test('a signed policy of P-384 is refused under ES256', async () => {
    const refused = verify(await raw({ alg: 'ES256' }, p384), p384);
    await expect(refused).rejects.toMatchObject({ code: 'INVALID_SIGNATURE', message: doesNotHold });
  });
});

describe('the claims of a signed policy', () => {
  const fresh = { iat: now, exp: now + 60, aud: baseUrl, jti: 'j1' };
  const iat = 'The iat of the signed policy must be a number of seconds since 1970. Sign it again.';
  const age = "The iat of the signed policy must be within 300 seconds of the gate's time. Set your clock, and sign it again.";
  const exp =
    'The exp of the signed policy must be a number of seconds since 1970, and not yet past. Sign it again; if that does not help, set your clock.';
  const aud = `The aud of the signed policy must be the address of this gate, and no other: ${baseUrl}. Sign it again.`;
  const farExp = 'With a jti, the exp of the signed policy must be at most 24 hours ahead. Sign it again.';
  const endless =
    'With a jti, the signed policy must have an exp or an iat, so that the jti does not have to be stored forever. Sign it again.';
  const jti = 'The jti of the signed policy must be a string of 1 to 255 characters that differs for every signature. Sign it again.';

  test.each<[string, object, object]>([
    ['all in the header', fresh, { isCurrent: true, singleUse: { jti: 'j1', expiresAt: now + 60 } }],
    ['iat alone', { iat: now - 299 }, { isCurrent: true }],
    ['iat of a clock that is ahead', { iat: now + 299 }, { isCurrent: true }],
    ['jti and iat', { jti: 'j', iat: now - 100 }, { isCurrent: true, singleUse: { jti: 'j', expiresAt: now + 200 } }],
    ['iat with a fraction', { iat: now - 0.25 }, { isCurrent: true }],
    ['iat with a fraction, just young enough', { iat: now + 0.5 - 299.999 }, { isCurrent: true }],
    ['exp with a fraction', { exp: now + 60.5 }, { isCurrent: true }],
    ['exp a tenth of a second ahead', { exp: now + 0.6 }, { isCurrent: true }],
    [
      'jti and dates with fractions',
      { jti: 'j', iat: now - 100.5, exp: now + 60.125 },
      { isCurrent: true, singleUse: { jti: 'j', expiresAt: now + 60.125 } },
    ],
    ['aud in a list', { aud: [baseUrl] }, { isCurrent: true }],
    ['all with aud in a list', { ...fresh, aud: [baseUrl] }, { isCurrent: true, singleUse: { jti: 'j1', expiresAt: now + 60 } }],
    ['a late exp', { ...fresh, exp: now + 86_400 }, { isCurrent: true, singleUse: { jti: 'j1', expiresAt: now + 300 } }],
    ['an exp far ahead without jti', { exp: now + 10 * 365 * 86_400 }, { isCurrent: true }],
    [
      'a jti of 255 characters',
      { jti: '😀'.repeat(255), exp: now + 86_400 },
      { isCurrent: true, singleUse: { jti: '😀'.repeat(255), expiresAt: now + 86_400 } },
    ],
  ])('the claims of a signed policy hold: %s', async (_, claims, result) => {
    expect(await verify(await signJws(p256, current.text, claims))).toEqual(result);
    expect(await verify(await signJws(p256, policyWith(claims)))).toEqual(result);
    expect(await verify(await signDetached(p256, current.text, claims))).toEqual(result);
  });

  test.each<[string, object, string]>([
    ['iat in ten minutes', { iat: now + 600 }, age],
    ['iat ten minutes ago', { iat: now - 600 }, age],
    ['exp as text', { exp: String(now + 60) }, exp],
    ['aud of another service', { aud: 'https://other.example' }, aud],
    ['jti as number', { jti: 1 }, jti],
    ['jti and aud', { jti: 'j', aud: baseUrl }, endless],
    ['iat as text', { iat: String(now) }, iat],
    ['iat before 1970', { iat: -0.5 }, iat],
    ['iat in a list', { iat: [now] }, iat],
    ['iat a moment too old', { iat: now + 0.5 - 300.001 }, age],
    ['exp now', { exp: now }, exp],
    ['exp a tenth of a second ago', { exp: now + 0.4 }, exp],
    ['exp beyond what is exact', { exp: 2 ** 53 }, exp],
    ['aud with a slash', { aud: `${baseUrl}/` }, aud],
    ['an empty list as aud', { aud: [] }, aud],
    ['aud in a list with another', { aud: [baseUrl, 'https://other.example'] }, aud],
    ['aud twice', { aud: [baseUrl, baseUrl] }, aud],
    ['aud of another service in a list', { aud: ['https://other.example'] }, aud],
    ['aud in a list in a list', { aud: [[baseUrl]] }, aud],
    ['aud as an object', { aud: { 0: baseUrl, length: 1 } }, aud],
    ['null as aud', { aud: null }, aud],
    ['jti alone', { jti: 'j' }, endless],
    ['jti and an exp a day and a second ahead', { jti: 'j', exp: now + 86_401 }, farExp],
    ['empty jti', { jti: '' }, jti],
    ['jti of 256 characters', { jti: 'j'.repeat(256) }, jti],
  ])('a signed policy is refused for its claims: %s', async (_, claims, message) => {
    for (const text of [await signJws(p256, current.text, claims), await signJws(p256, policyWith(claims))]) {
      await expect(verify(text)).rejects.toMatchObject({ code: 'INVALID_SIGNATURE', status: 400, message });
    }
  });

  test.each(['exp', 'iat', 'nbf'])('claims with a %s that is not finite are not a policy', async (name) => {
    const payload = current.text.replace('{', `{"${name}":1e400,`);
    expect(await verify(await signJws(p256, payload))).toEqual({ isCurrent: false });
  });

  test('a signed policy may name the agent as issuer and subject, and an nbf in the past', async () => {
    for (const claims of [
      { iss: agentId, sub: agentId },
      { sub: ' agent  7' },
      { nbf: 0 },
      { nbf: now + 300 },
      { nbf: now - 0.5 },
      { nbf: now + 300.25 },
    ]) {
      expect(await verify(await signJws(p256, policyWith(claims)))).toEqual({ isCurrent: true });
      expect(await verify(await signDetached(p256, current.text, { alg: 'ES256', ...claims }))).toEqual({ isCurrent: true });
    }
  });

  test.each([
    ['iss', 7, 'be the agent_id of the request'],
    ['sub', 'another', 'be the agent_id of the request'],
    ['iss', 'https://elsewhere.example', 'be the agent_id of the request'],
    ['sub', null, 'be the agent_id of the request'],
    ['nbf', now + 301, 'be a number of seconds since 1970, not in the future'],
    ['nbf', now + 300.75, 'be a number of seconds since 1970, not in the future'],
    ['nbf', -0.5, 'be a number of seconds since 1970, not in the future'],
    ['nbf', '0', 'be a number of seconds since 1970, not in the future'],
  ])('the claims of a signed policy must not contradict the request: %s %p', async (name, value, problem) => {
    await expect(verify(await signJws(p256, policyWith({ [name]: value })))).rejects.toMatchObject({
      code: 'INVALID_SIGNATURE',
      message: `The ${name} of the signed policy must ${problem}, or be left out. Sign it again.`,
    });
  });

  test('the claims of a signed policy must agree if they are stated twice', async () => {
    expect(await verify(await signJws(p256, policyWith(fresh), fresh))).toMatchObject({ isCurrent: true });
    const listed = { ...fresh, aud: [String(fresh.aud)] };
    expect(await verify(await signJws(p256, policyWith(listed), listed))).toMatchObject({ isCurrent: true });
    await expect(verify(await signJws(p256, policyWith(fresh), { ...fresh, jti: 'j2' }))).rejects.toMatchObject({
      code: 'INVALID_SIGNATURE',
      message:
        'The header and the payload of the signed policy disagree about a claim (iat, exp, aud, jti, iss, sub, nbf). State each claim once.',
    });
  });

  test.each(['iat', 'exp', 'aud', 'jti'])('the claims of a signed policy may be required, and are refused without %s', async (name) => {
    expect(await verify(await signJws(p256, current.text, fresh), p256, true)).toMatchObject({ isCurrent: true });
    await expect(verify(await signJws(p256, current.text, { ...fresh, [name]: undefined }), p256, true)).rejects.toMatchObject({
      code: 'INVALID_SIGNATURE',
      message: 'The signed policy must be a JWS with the claims iat, exp, aud and jti in its header or payload. Sign it again.',
    });
  });

  test('required claims exclude bare signatures', async () => {
    const bare = sign('sha256', Buffer.from(current.text), p256.privateKey).toString('hex');
    await expect(verify(bare, p256, true)).rejects.toMatchObject({ code: 'INVALID_SIGNATURE', status: 400 });
  });
});

test.each(agents.map((agent) => [agent.kind, agent] as const))(
  'for any text sent as signed with %s, only refusals are thrown',
  async (_, agent) => {
    const key = await readAgentKey(agent.pem, invalidSignature);
    const encode = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64url');
    const headers = fc.dictionary(
      fc.constantFrom('alg', 'b64', 'crit', 'iat', 'exp', 'aud', 'jti', 'kid', 'x'),
      fc.oneof(fc.constantFrom(...agent.algorithms, ['b64'], false), fc.jsonValue()),
    );
    const lengths = fc.oneof(fc.nat(300), fc.constantFrom(64, 70, 96, 102, 256));
    const signatures = lengths.chain((length) => fc.uint8Array({ minLength: length, maxLength: length }));
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      signatures.map(encode),
      signatures.map((bytes) => Buffer.from(bytes).toString('hex')),
      fc
        .tuple(headers, fc.constantFrom('', encode(current.text), encode('[')), signatures)
        .map(([header, payload, bytes]) => `${encode(JSON.stringify(header))}.${payload}.${encode(bytes)}`),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(() => verifySignedPolicy(text, key, current, { baseUrl, nowMs, agentId, isFreshRequired: false })).toThrow(ApiError);
      }),
      { numRuns: 50 },
    );
  },
);
