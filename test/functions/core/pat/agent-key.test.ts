import { ECDH, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { ED25519_TORSION_SUBGROUP, ed25519 } from '@noble/curves/ed25519.js';
import fc from 'fast-check';
import { readAgentKey } from '../../../../functions/core/pat/agent-key.ts';
import { ApiError, invalidParameter } from '../../../../functions/core/runtime/api-error.ts';
import { keyForms, kinds, makeAgent } from '../../../support/agent-keys.ts';

const read = async (text: string) => readAgentKey(text, (problem) => invalidParameter([{ path: '/agent_public_key', problem }]));

const agents = await Promise.all(kinds.map((kind) => makeAgent(kind)));
const p256 = await makeAgent('P-256');
const rsa = agents[0] as (typeof agents)[number];

/** The number with a leading zero byte. */
const longer = (text = '') => Buffer.concat([Buffer.alloc(1), Buffer.from(text, 'base64url')]).toString('base64url');

describe('readAgentKey', () => {
  test.each(agents.flatMap((agent) => keyForms(agent).map(([form, text]) => [agent.kind, form, text, agent] as const)))(
    'readAgentKey reads %s as %s',
    async (kind, _, text, { thumbprint, jwk }) => {
      const key = await read(text);
      expect({ kind: key.kind, thumbprint: key.thumbprint, jwk: key.key.export({ format: 'jwk' }) }).toEqual({ kind, thumbprint, jwk });
    },
  );

  const described = `Certificate:\n    Data:\n        Version: 3 (0x2)\n${p256.pem}`;

  test.each<[string, string]>([
    ['text before it', described],
    ['text after it', `${p256.pem}# issued {today}\n`],
    ['text around it, with line ends of Windows', `My key:\n${p256.pem}\nThat was it.`.replaceAll('\n', '\r\n')],
    ['a byte order mark', `\ufeff${p256.pem}`],
    ['text that starts with a digit, in base64', Buffer.from(`0 is the first\n${p256.pem}`).toString('base64')],
    ['a certificate after it', p256.pem + rsa.pem.replaceAll('PUBLIC KEY', 'CERTIFICATE')],
    ['a certificate before it', rsa.pem.replaceAll('PUBLIC KEY', 'CERTIFICATE') + p256.pem],
    ['another public key after it', p256.pem + rsa.pem],
    ['one line', p256.pem.replaceAll('\n', ' ')],
  ])('readAgentKey reads a key in PEM with %s', async (_, text) => {
    expect((await read(text)).thumbprint).toBe(p256.thumbprint);
  });

  test('a key has one thumbprint in all encodings', async () => {
    expect((await read(JSON.stringify({ ...rsa.jwk, n: longer(rsa.jwk.n) }))).thumbprint).toBe(rsa.thumbprint);

    const { x = '', y = '' } = p256.jwk;
    const point = Buffer.concat([Buffer.from([4]), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
    const compressed = Buffer.concat([
      Buffer.from('3039301306072a8648ce3d020106082a8648ce3d030107032200', 'hex'),
      ECDH.convertKey(point, 'prime256v1', undefined, undefined, 'compressed') as Buffer,
    ]);
    expect((await read(compressed.toString('base64'))).thumbprint).toBe(p256.thumbprint);
  });

  const forms =
    'must be a public key: PEM (SPKI), base64 of PEM or of DER SPKI, or a JWK; RSA of at least 2048 bits, P-256, P-384 or Ed25519';
  const secret = 'must be the public key, but a private key was sent: treat it as leaked, and create a new pair';
  const exponent = 'must be an RSA key with an odd public exponent of 3 to 4294967295';
  const size = 'must be an RSA key of 2048 to 8192 bits';
  const use = 'must be a key for signatures: its use must be sig or left out';
  const keyOps = 'must be a key for signatures: its key_ops must contain verify or be left out';
  const json = (edit: object, of = p256.jwk) => JSON.stringify({ ...of, ...edit });
  const shorter = (text = '') => Buffer.from(text, 'base64url').subarray(1).toString('base64url');
  const other = (publicKey: { export(options: { format: 'pem'; type: 'spki' }): string | Buffer }) =>
    publicKey.export({ format: 'pem', type: 'spki' }).toString();
  const privateOf = (agent: typeof p256, type: 'pkcs8' | 'sec1' | 'pkcs1') => agent.privateKey.export({ format: 'pem', type }).toString();
  const privateDer = (agent: typeof p256, type: 'pkcs8' | 'sec1' | 'pkcs1') =>
    agent.privateKey.export({ format: 'der', type }).toString('base64');

  test.each<[string, string, string]>([
    ['prose', 'my key', forms],
    ['base64 of prose', Buffer.from('my key').toString('base64'), forms],
    ['PEM of nothing', '-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----', forms],
    ['PEM without an end', p256.pem.replace(/-----END.*/s, ''), forms],
    ['PEM with a header in its block', p256.pem.replace('\n', '\nProc-Type: 4\n\n'), forms],
    ['a damaged key before a whole one', p256.pem.replace('\n', '\n!') + p256.pem, forms],
    ['a private key after a public one', p256.pem + privateOf(p256, 'pkcs8'), secret],
    ['a private key before a public one', privateOf(rsa, 'pkcs1') + p256.pem, secret],
    ['a private key in text around a public one', `Keys\r\n\r\n${p256.pem}and\r\n${privateOf(p256, 'sec1')}`, secret],
    ['an OpenSSH private key', `${p256.pem}-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----\n`, secret],
    ['base64 of a public and a private key', Buffer.from(p256.pem + privateOf(p256, 'pkcs8')).toString('base64'), secret],
    ['text and a certificate', `Certificate:\n${p256.pem.replaceAll('PUBLIC KEY', 'CERTIFICATE')}`, forms],
    ['a certificate', p256.pem.replaceAll('PUBLIC KEY', 'CERTIFICATE'), forms],
    ['PEM of a private key', privateOf(p256, 'pkcs8'), secret],
    ['PEM of an EC private key', privateOf(p256, 'sec1'), secret],
    ['PEM of an RSA private key', privateOf(rsa, 'pkcs1'), secret],
    [
      'PEM of an encrypted private key',
      p256.privateKey.export({ format: 'pem', type: 'pkcs8', cipher: 'aes-256-cbc', passphrase: 'x' }).toString(),
      secret,
    ],
    ['base64 of PEM of a private key', Buffer.from(privateOf(p256, 'pkcs8')).toString('base64'), secret],
    ['a private key under a public label', privateOf(p256, 'pkcs8').replaceAll('PRIVATE', 'PUBLIC'), secret],
    ['DER of a private key', privateDer(p256, 'pkcs8'), secret],
    ['DER of an EC private key', privateDer(p256, 'sec1'), secret],
    ['DER of an RSA private key', privateDer(rsa, 'pkcs1'), secret],
    ['a JWK with d', json({ d: 'AAAA' }), secret],
    ['a JWK with an empty d', json({ d: '' }), secret],
    ['a JWK of a private RSA key', JSON.stringify(rsa.privateKey.export({ format: 'jwk' })), secret],
    ['a symmetric JWK', JSON.stringify({ kty: 'oct', k: 'AAAA' }), secret],
    ['a JWK for encryption', json({ use: 'enc' }), use],
    ['a JWK for deriving', json({ key_ops: ['deriveKey'] }), keyOps],
    ['a JWK with two kty', `{"kty":"EC",${JSON.stringify(p256.jwk).slice(1)}`, forms],
    ['a point off the curve', json({ y: p256.jwk.x }), forms],
    ['an x of 31 bytes', json({ x: shorter(p256.jwk.x) }), forms],
    ['an x of 33 bytes', json({ x: longer(p256.jwk.x) }), forms],
    ['an x in another alphabet', json({ x: '!'.repeat(43) }), forms],
    ['an x that is a number', json({ x: 7 }), forms],
    ['P-256 coordinates as P-384', json({ crv: 'P-384' }), forms],
    ['P-521', other(generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey), forms],
    ['Ed448', other(generateKeyPairSync('ed448').publicKey), forms],
    ['an RSA key for PSS only', other(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey), forms],
    ['RSA of 1024 bits', other(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey), size],
    ['RSA of 16384 bits', json({ n: Buffer.alloc(2048, 255).toString('base64url') }, rsa.jwk), size],
    ['RSA with exponent 1', json({ e: 'AQ' }, rsa.jwk), exponent],
    ['RSA with an even exponent', json({ e: 'BA' }, rsa.jwk), exponent],
    ['RSA with a huge exponent', json({ e: Buffer.alloc(64, 255).toString('base64url') }, rsa.jwk), exponent],
  ])('readAgentKey refuses %s', async (_, text, problem) => {
    const error = await read(text).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ code: 'INVALID_PARAMETER', status: 400, details: { issues: [{ path: '/agent_public_key', problem }] } });
    expect((error as ApiError).cause).toBeUndefined();
  });

  test('readAgentKey refuses every Ed25519 point of small order in all encodings', async () => {
    const { Point } = ed25519;
    const torsion = ED25519_TORSION_SUBGROUP.flatMap((hex) => {
      const bytes = Buffer.from(hex, 'hex');
      expect(Point.fromBytes(bytes, true).isSmallOrder()).toBe(true);
      const otherSign = Buffer.from(bytes);
      otherSign.writeUInt8(otherSign.readUInt8(31) ^ 0x80, 31);
      return [bytes, otherSign];
    });
    for (const x of torsion) {
      await expect(read(JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url') }))).rejects.toMatchObject({
        details: { issues: [{ path: '/agent_public_key', problem: forms }] },
      });
    }
  });

  test('readAgentKey throws only refusals', async () => {
    const texts = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.base64String(),
      fc.json(),
      fc.uint8Array().map((bytes) => Buffer.concat([Buffer.from([0x30]), bytes]).toString('base64')),
      fc
        .dictionary(
          fc.constantFrom('kty', 'crv', 'x', 'y', 'n', 'e', 'use'),
          fc.constantFrom('EC', 'RSA', 'OKP', 'P-256', 'Ed25519', 'AQAB', p256.jwk.x),
        )
        .map((jwk) => JSON.stringify(jwk)),
    );
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        const result = await read(text).catch((error: unknown) => error);
        expect(result instanceof ApiError || (result as { thumbprint?: string }).thumbprint?.length === 43).toBe(true);
      }),
    );
  });
});
