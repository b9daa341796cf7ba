import { execFile } from 'node:child_process';
import { createPublicKey, randomUUID, verify as verifyBytes } from 'node:crypto';
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bodyOf, startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { notTested } from '../support/not-tested.ts';
import { installTools } from '../support/python.ts';
import { startUpstream } from '../support/upstream.ts';

// Verifiers that nobody here wrote check the calls that a running gate makes.

const directoryPath = '/.well-known/http-message-signatures-directory';
const python = await installTools(['http-message-signatures'], 'http-message-signatures is not tested');
// a folder of its own, because another check installs into test/hosts at the same time
const folder = makeFolder();
for (const file of ['package.json', 'package-lock.json']) copyFileSync(join('test/hosts', file), join(folder, file));
const hasNpm = await promisify(execFile)('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund']).then(
  () => true,
  (error) => notTested('web-bot-auth', error) ?? false,
);

const api = await startApi();
const upstream = await startUpstream((_, response) => response.setHeader('Content-Type', 'application/json').end('{}'));
afterAll(() => upstream.stop());
let keys: Record<string, string>[];
let sent: { method: string; url: string; headers: Record<string, string> }[];

beforeAll(async () => {
  ({ keys } = bodyOf(await api.call('GET', directoryPath)));
  const pat = await api.obtainPat();
  const service_id = await api.createService();
  const origin = `http://127.0.0.1:${upstream.port}`;
  for (const method of ['GET', 'POST', 'DELETE']) {
    const input_parameters = [{ name: 'city', type: 'string', description: 'A city', required: true }];
    const created = await api.asAdmin('POST', `/api/services/${service_id}/intents`, {
      ...{
        intent_name: `Look up ${method}`,
        description: 'Looks up',
        version: 'v1',
        intent_uid: `signed.example:look-${method.toLowerCase()}:v1`,
      },
      ...{ endpoint: { url: `${origin}/places`, method }, input_parameters, output_parameters: [] },
    });
    const { intent_uid } = bodyOf(created, 201);
    bodyOf(await api.execute(pat, intent_uid, { city: 'Zürich & Bern' }, { 'Idempotency-Key': randomUUID() }));
  }
  sent = upstream.seen.map(({ method, url, headers }) => ({ method, url: origin + url, headers: headers as Record<string, string> }));
}, 150_000);
const replayed = () => sent.map((request) => ({ ...request, url: request.url.replace('/places', '/payments') }));

(hasNpm ? test : test.skip)('web-bot-auth of Cloudflare accepts every call, and none on another path', async () => {
  const [{ verify, jwkToKeyID, helpers }, { verifierFromJWK }] = await Promise.all(
    ['index', 'crypto'].map((name) => import(`${folder}/node_modules/web-bot-auth/dist/${name}.mjs`)),
  );
  for (const key of keys) expect(await jwkToKeyID(key, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE)).toBe(key.kid);
  const verifier = await verifierFromJWK(keys[0]);
  for (const request of sent) expect(await verify(request, verifier)).toBeUndefined();
  for (const request of replayed()) await expect(verify(request, verifier)).rejects.toThrow('invalid signature');
  const other = await verifierFromJWK(keys[1]);
  for (const request of sent) await expect(verify(request, other)).rejects.toThrow('invalid signature');
});

(python ? test : test.skip)('http-message-signatures accepts every call, and none on another path', async () => {
  const child = execFile(python ?? '', ['test/hosts/signatures.py']);
  child.stdin?.end(JSON.stringify([...sent, ...replayed()].map((request) => ({ ...request, keys }))));
  const verdicts = JSON.parse(
    await text(
      child.stdout ??
        (() => {
          throw new Error('no output');
        })(),
    ),
  );
  const covered = [
    '@authority',
    '@method',
    '@target-uri',
    'agent-id',
    'agent-key',
    'execution-id',
    'idempotency-key',
    'intent-uid',
    'signature-agent',
  ];
  const withBody = [...covered, 'content-digest', 'content-type'].sort();
  expect(verdicts).toEqual([covered, withBody, covered, ...sent.map(() => 'InvalidSignature')]);
});

test('each key of the directory has signed it for this host', async () => {
  const { headers } = await api.call('GET', directoryPath);
  expect(headers.get('content-type')).toBe('application/http-message-signatures-directory+json');
  const inputs = (headers.get('signature-input') ?? '').split(', ');
  const signatures = (headers.get('signature') ?? '').split(', ');
  for (const [at, key] of keys.entries()) {
    const base = `"@authority";req: ${new URL(api.stack.base_url).host}\n"@signature-params": ${inputs[at]?.slice('key0='.length)}`;
    const signature = Buffer.from(signatures[at]?.slice('key0=:'.length, -1) ?? '', 'base64');
    expect(verifyBytes(undefined, Buffer.from(base), createPublicKey({ key, format: 'jwk' }), signature)).toBe(true);
  }
});
