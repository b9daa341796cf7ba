import { execFile } from 'node:child_process';
import { createPublicKey, randomUUID, verify as verifyBytes } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bodyOf, startApi } from '../e2e/api.ts';
import { installTools } from '../support/python.ts';
import { startUpstream } from '../support/upstream.ts';

// Verifiers that nobody here wrote check the calls that a running gate makes.

const directoryPath = '/.well-known/http-message-signatures-directory';
const python = await installTools(['regent-httpsig==0.7.3'], 'regent-httpsig is not tested');

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

(python ? test : test.skip)(
  'regent-httpsig fetches the directory and accepts every call, but none on another path or for another gate',
  async () => {
    const child = execFile(python ?? '', ['test/hosts/signatures.py']);
    const stolen = sent.map(({ headers, ...request }) => {
      const [gate, elsewhere] = [api.stack.base_url, api.stack.base_url.replace('127.0.0.1', 'localhost')];
      return { ...request, headers: { ...headers, 'signature-agent': String(headers['signature-agent']).replace(gate, elsewhere) } };
    });
    child.stdin?.end(JSON.stringify([...sent, ...replayed(), ...stolen]));
    if (child.stdout === null) throw new Error('no output');
    const verdicts = JSON.parse(await text(child.stdout));
    const fields = ['agent-id', 'agent-key', 'execution-id', 'idempotency-key', 'intent-uid', 'signature-agent'];
    const covered = ['@authority', '@method', '@target-uri', ...fields];
    const withBody = [...covered, 'content-digest', 'content-type'].sort();
    const of = (names: string[]) => ({ agent: api.stack.base_url, covered: names });
    expect(verdicts).toEqual([of(covered), of(withBody), of(covered), ...[...sent, ...sent].map(() => null)]);
  },
);

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
