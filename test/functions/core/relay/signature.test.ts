import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Credential } from '../../../../functions/core/credentials/credentials.ts';
import { openRelay, type Relay } from '../../../../functions/core/relay/call.ts';
import type { UpstreamCall, UpstreamRequest } from '../../../../functions/core/relay/request.ts';
import { callUpstream } from '../../../support/call-upstream.ts';
import { makeCertificate } from '../../../support/certificate.ts';
import { type SeenRequest, startUpstream } from '../../../support/upstream.ts';

type IsSigned = (call: { method: string; url: string; headers: unknown; body: string }, signingKey: string) => boolean;

const certificate = makeCertificate('upstream.example');
const credential: Credential = {
  headers: { 'X-Api-Key': 'Bearer canary' },
  query: {},
  origins: [],
  signing_key: randomBytes(32).toString('base64url'),
};

let isSigned: IsSigned;
let upstream: Awaited<ReturnType<typeof startUpstream>>;
let relay: Relay;
/** what the relay asked the credentials for */
let asked: string[];

beforeAll(async () => {
  ({ isSigned } = await import(resolve('samples/verify-signature.js')));
  upstream = await startUpstream((_, response) => response.end('{}'), certificate);
  relay = openRelay({
    rules: { ports: [443], allowLoopback: true, ownHosts: [] },
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    trustedCertificate: certificate.cert,
    credentials: {
      read: async (serviceId) => {
        asked.push(`read ${serviceId}`);
        return { ...credential, origins: [`https://upstream.example:${upstream.port}`] };
      },
    },
  });
});
afterAll(async () => {
  await relay.close();
  await upstream.stop();
});

const withCredential = () => ({
  service_id: 'service-1',
  service_url: `https://upstream.example:${upstream.port}/v1`,
  credential: { headers: ['X-Api-Key'], query: [], origins: [`https://upstream.example:${upstream.port}`], version: '1', set_at: 1 },
});

async function call(
  request: Omit<UpstreamRequest, 'url'> & { path: string },
  service: UpstreamCall['service'] = withCredential(),
): Promise<SeenRequest> {
  asked = [];
  const { path, ...rest } = request;
  await callUpstream(relay, {
    request: { ...rest, url: `https://upstream.example:${upstream.port}${path}` },
    service,
    intentUid: 'world.example:get-country:v1',
    agentId: 'agent é',
    account: 'thumbprint-1',
    requestId: 'request-1',
    executionId: 'execution-1',
    baseUrl: 'https://gate.example',
    deadlineMs: 5_000,
  });
  const seen = upstream.seen.at(-1);
  if (seen === undefined) throw new Error('nothing came');
  return seen;
}

const seenUrl = ({ url }: SeenRequest) => `https://upstream.example:${upstream.port}${url}`;
const post = { method: 'POST', path: "/orders/a%20b?x=1&y='", contentType: 'application/json', body: '{"city":"Zürich"}' } as const;

describe('the code that the documentation gives to upstreams', () => {
  test.each([
    ['a body', post],
    ['none', { method: 'GET', path: '/?q=%C3%A9' } as const],
  ])('recognises a call with %s', async (_, request) => {
    const seen = await call(request);
    expect(isSigned({ ...seen, url: seenUrl(seen) }, credential.signing_key)).toBe(true);
    expect(seen.headers['x-api-key']).toBe('Bearer canary');
    expect(asked).toEqual(['read service-1']);
  });

  test('recognises no other', async () => {
    const seen = await call(post);
    const genuine = { ...seen, url: seenUrl(seen) };
    const withHeader = (name: string, value: string | undefined) => ({ ...genuine, headers: { ...genuine.headers, [name]: value } });
    const input = String(genuine.headers['signature-input']);
    const forgeries: [string, Parameters<IsSigned>[0]][] = [
      ['another method', { ...genuine, method: 'PUT' }],
      ['another URL', { ...genuine, url: genuine.url.replace('x=1', 'x=2') }],
      ['another body', { ...genuine, body: `${genuine.body} ` }],
      ['another body with its digest', { ...withHeader('content-digest', 'sha-256=:AAAA:'), body: '' }],
      ['another agent', withHeader('agent-id', 'agent-2')],
      ['another intent', withHeader('intent-uid', 'world.example:get-country:v2')],
      ['another execution', withHeader('execution-id', 'execution-2')],
      ['no signature', withHeader('signature', undefined)],
      ['an empty signature', withHeader('signature', 'gate=::')],
      ['no input', withHeader('signature-input', undefined)],
      ['fewer components', withHeader('signature-input', input.replace(' "agent-id"', ''))],
      ['an older time', withHeader('signature-input', input.replace(/created=\d+/, 'created=1'))],
    ];
    for (const [name, forgery] of forgeries) expect([name, isSigned(forgery, credential.signing_key)]).toEqual([name, false]);
    expect(isSigned(genuine, randomBytes(32).toString('base64url'))).toBe(false);
  });
});

test('the signature has the form of RFC 9421', async () => {
  const { headers } = await call(post);
  expect(headers['content-digest']).toMatch(/^sha-256=:[A-Za-z0-9+/]{43}=:$/);
  expect(headers['signature-input']).toMatch(
    /^gate=\("@method" "@target-uri" "content-digest" "agent-id" "agent-key" "intent-uid" "execution-id"\);created=\d{10};keyid="service-1";alg="hmac-sha256"$/,
  );
  expect(headers.signature).toMatch(/^gate=:[A-Za-z0-9+/]{43}=:$/);
});

test('a service without a credential gets calls without a signature', async () => {
  const { headers } = await call(post, { service_id: 'service-2', service_url: 'https://upstream.example' });
  expect(Object.keys(headers).filter((name) => /signature|digest|api-key/.test(name))).toEqual([]);
  expect(asked).toEqual([]);
});
