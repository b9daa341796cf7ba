import { resolve } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { UpstreamRequest } from '../../../functions/core/relay/build-request.ts';
import type { RelayOptions } from '../../../functions/core/relay/call.ts';
import { openCallKeys, periodMs } from '../../../functions/web-bot-auth/call-keys.ts';
import { createAction } from '../../../functions/web-bot-auth/get-signature-directory.ts';
import { openCallSigner } from '../../../functions/web-bot-auth/signer.ts';
import { callOf, callUpstream, openLocalRelay } from '../../support/call-upstream.ts';
import { makeCertificate } from '../../support/certificate.ts';
import { baseUrl } from '../../support/gate.ts';
import { invoke } from '../../support/invoke.ts';
import { type SeenRequest, startUpstream } from '../../support/upstream.ts';
import { makeCallKeys } from '../../support/web-bot-auth/call-keys.ts';

type Seen = Pick<SeenRequest, 'method' | 'url' | 'body'> & { headers: Record<string, unknown> };
type IsSigned = (call: Seen, gate: { gate: string; keys: unknown[] }) => boolean;

const certificate = makeCertificate('upstream.example');
const callKeys = makeCallKeys();

const openWith = (options: Partial<RelayOptions> = {}) =>
  openLocalRelay({ trustedCertificate: certificate.cert, signers: [openCallSigner(callKeys)], ...options });

const directory = async (of = callKeys, headers = {}) =>
  invoke(createAction({ callKeys: of }), 'GET /.well-known/http-message-signatures-directory', { headers });

const { isSigned }: { isSigned: IsSigned } = await import(resolve('samples/verify-signature.js'));
const upstream = await startUpstream((_, response) => response.end('{}'), certificate);
const relay = openWith();
const { keys } = (await directory()).body;
afterAll(async () => {
  await relay.close();
  await upstream.stop();
});

async function call({ path, ...request }: Omit<UpstreamRequest, 'url'> & { path: string }, through = relay): Promise<Seen> {
  const origin = `https://upstream.example:${upstream.port}`;
  const url = `${origin}${path}`;
  const service = { service_id: 'service-1', service_url: origin };
  const more = { request: { ...request, url }, service, agentId: 'agent é', idempotencyKey: 'again', baseUrl };
  await callUpstream(through, callOf(url, more));
  const seen = upstream.seen.at(-1);
  if (seen === undefined) throw new Error('nothing came');
  return { ...seen, url: `${origin}${seen.url}` };
}

const post = { method: 'POST', path: "/orders/a%20b?x=1&y='", contentType: 'application/json', body: '{"city":"Zürich"}' } as const;
const verify = (seen: Seen, against = keys): boolean => isSigned(seen, { gate: baseUrl, keys: against });

describe('the code that the documentation gives to upstreams', () => {
  test.each([
    ['text', post],
    ['bytes', { ...post, contentType: 'image/png', body: Buffer.from([0xff, 0, 1]) }],
    ['nothing', { method: 'GET', path: '/?q=%C3%A9' } as const],
    ['an empty body', { ...post, body: '' }],
  ] satisfies [string, Parameters<typeof call>[0]][])('the code accepts a call with %s', async (_, request: Parameters<typeof call>[0]) => {
    const seen = await call(request);
    const sent = { ...seen, ...(Buffer.isBuffer(request.body) && { body: request.body as never }) };
    expect(verify(sent)).toBe(true);
    expect('content-digest' in seen.headers).toBe('body' in request);
  });

  test('the documented code recognises no other call', async () => {
    const genuine = await call(post);
    const withHeader = (name: string, value: string | undefined) => ({ ...genuine, headers: { ...genuine.headers, [name]: value } });
    const input = String(genuine.headers['signature-input']);
    const forgeries: [string, Seen][] = [
      ['another method', { ...genuine, method: 'PUT' }],
      ['another path', { ...genuine, url: genuine.url.replace('/orders/', '/payments/') }],
      ['another query', { ...genuine, url: genuine.url.replace('x=1', 'x=2') }],
      ['another host', { ...genuine, url: genuine.url.replace('upstream.example', 'other.example') }],
      ['another body', { ...genuine, body: `${genuine.body} ` }],
      ['another body with its digest', { ...withHeader('content-digest', 'sha-256=:AAAA:'), body: '' }],
      ['another agent', withHeader('agent-id', 'agent-2')],
      ['another intent', withHeader('intent-uid', 'world.example:get-country:v2')],
      ['another execution', withHeader('execution-id', 'execution-2')],
      ['another idempotency key', withHeader('idempotency-key', 'once more')],
      ['another gate', withHeader('signature-agent', 'gate="https://other.example"')],
      ['another gate for another signature', withHeader('signature-agent', `gate="${baseUrl}", other="https://other.example"`)],
      ['a gate that is no member', withHeader('signature-agent', `"${baseUrl}"`)],
      ['a gate without its key', withHeader('signature-input', input.replace(';key="gate"', ''))],
      ['a gate that is not covered', withHeader('signature-input', input.replace(' "signature-agent";key="gate"', ''))],
      ['no signature', withHeader('signature', undefined)],
      ['another signature', withHeader('signature', `gate=:${Buffer.alloc(64).toString('base64')}:`)],
      ['no input', withHeader('signature-input', undefined)],
      ['fewer components', withHeader('signature-input', input.replace(' "agent-id"', ''))],
      ['another tag', withHeader('signature-input', input.replace('web-bot-auth', 'web-bot'))],
      ['a later expiry', withHeader('signature-input', input.replace(/expires=\d+/, 'expires=9999999999'))],
    ];
    for (const [name, forgery] of forgeries) expect([name, verify(forgery)]).toEqual([name, false]);
    expect(verify(genuine, (await directory(makeCallKeys('another'))).body.keys)).toBe(false);
  });

  test('the documented code accepts a call with a clock that is five minutes off, and not for longer than that', async () => {
    const { now } = Date;
    const startMs = now();
    const seen = await call(post);
    const results = [-301, -298, 299, 362].map((seconds) => {
      Date.now = () => startMs + seconds * 1_000;
      return verify(seen);
    });
    Date.now = now;
    expect(results).toEqual([false, true, true, false]);
  });
});

test('a call and the directory have the fields of the profile', async () => {
  const { headers } = await call(post);
  const { keyid } = await callKeys.signing();
  const times = 'created=\\d{10};expires=\\d{10};nonce="[A-Za-z0-9+/]{86}=="';
  const fields =
    '"@method" "@authority" "@target-uri" "content-digest" "content-type" "idempotency-key" "agent-id" "agent-key" "intent-uid" "execution-id" "signature-agent";key="gate"';
  expect(headers['signature-input']).toMatch(
    new RegExp(`^gate=\\(${fields}\\);${times};keyid="${keyid}";alg="ed25519";tag="web-bot-auth"$`),
  );
  expect(headers['signature-agent']).toBe(`gate="${baseUrl}"`);
  const answer = await directory();
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'Content-Type': 'application/http-message-signatures-directory+json', 'Cache-Control': 'public, max-age=300' },
  });
  expect(answer.body.keys.map(({ kid }: { kid: string }) => kid)).toHaveLength(3);
  expect(answer.body.keys[0].kid).toBe(keyid);
  const inputs = String(answer.headers['Signature-Input']).split(', ');
  for (const [at, { kid }] of answer.body.keys.entries())
    expect(inputs[at]).toMatch(
      new RegExp(`^key${at}=\\("@authority";req\\);${times};keyid="${kid}";alg="ed25519";tag="http-message-signatures-directory"$`),
    );
});

test('a copy of the directory that is revalidated gets a new signature', async () => {
  const { headers } = await directory();
  const again = await directory(callKeys, { 'If-None-Match': '*' });
  expect(again).toMatchObject({ status: 200, body: { keys } });
  for (const name of ['Signature', 'Signature-Input'])
    expect([typeof again.headers[name], again.headers[name] === headers[name]]).toEqual(['string', false]);
});

describe('key rotation', () => {
  test('keys rotate, and each is published a period before it signs and a period after', async () => {
    const listed = async (period: number) => {
      const at = makeCallKeys('test', () => period * periodMs);
      return { signing: (await at.signing()).keyid, published: (await at.published()).map(({ keyid }) => keyid) };
    };
    const [before, then, after] = [await listed(7), await listed(8), await listed(9)];
    expect(new Set([before, then, after].map(({ signing }) => signing)).size).toBe(3);
    for (const { published } of [before, then, after]) expect(published).toContain(then.signing);
    expect((await listed(10)).published).not.toContain(then.signing);
  });

  test('keys rotate without leaving a call unsigned or making it wait, whatever becomes of KMS', async () => {
    let nowMs = 7.5 * periodMs;
    let asked = 0;
    let isUp = true;
    const kms = {
      generateMac: async (_: string, message: string) => {
        asked++;
        if (!isUp) throw new Error('down');
        return Buffer.from(message.padEnd(32).slice(-32));
      },
    };
    const of = openCallKeys(kms, 'key', () => nowMs);
    const first = await of.signing();
    expect([await of.signing(), asked]).toEqual([first, 1]);
    isUp = false;
    nowMs += periodMs;
    expect([await of.signing(), await of.signing(), asked]).toEqual([first, first, 2]);
    await new Promise(setImmediate);
    isUp = true;
    nowMs += 1_000;
    expect(await of.signing()).toBe(first);
    await new Promise(setImmediate);
    expect((await of.signing()).keyid).not.toBe(first.keyid);
    expect(asked).toBe(3);
  });

  test('nothing is sent without any key', async () => {
    const through = openWith({ signers: [openCallSigner({ signing: () => Promise.reject(new Error('down')) })] });
    const before = upstream.seen.length;
    await expect(call(post, through)).rejects.toMatchObject({
      code: 'SERVICE_UNAVAILABLE',
      message: 'The key that signs calls cannot be read at the moment. Nothing was sent; try again after Retry-After.',
      details: { reason: 'no_key', outcome: 'not_sent' },
    });
    expect(upstream.seen.length).toBe(before);
    await through.close();
  });
});
