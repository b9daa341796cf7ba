import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import type { EgressRules } from '../../../functions/core/relay/egress.ts';
import { openFileClient } from '../../../functions/core/relay/fetch-document.ts';
import { createAction } from '../../../functions/documents/get-document.ts';
import { byAdmin, invoke, refusalOf } from '../../support/invoke.ts';
import { startUpstream } from '../../support/upstream.ts';

const yaml = 'openapi: 3.1.0\n# Größe\ninfo: { title: Tides, version: 1.0.10 }\n';

const answers: Record<string, [status: number, headers: Record<string, string>, body: string | Buffer]> = {
  '/yaml': [200, { 'content-type': 'application/octet-stream' }, yaml],
  '/moved': [301, { location: '/elsewhere?a=1' }, ''],
  '/nowhere': [302, {}, ''],
  '/missing': [404, {}, 'no'],
  '/page': [200, { 'content-type': 'text/html; charset=utf-8' }, '<html>'],
  '/latin1': [200, {}, Buffer.from([0x7b, 0xe4, 0x7d])],
  '/bytes': [200, { 'content-type': 'application/json' }, '{\u0001'],
  '/elsewhere': [301, { location: 'javascript:alert(1)' }, ''],
  '/large': [200, {}, 'x'.repeat(100_001)],
};
const upstream = await startUpstream(({ url = '' }, response) => {
  const answer = answers[url];
  if (answer) response.writeHead(answer[0], answer[1]).end(answer[2]);
});
afterAll(() => upstream.stop());
const egress: EgressRules = { ports: [443], allowLoopback: true, ownHosts: [] };
const get = openFileClient({ rules: egress, maxBytes: 100_000, timeoutMs: 500 });
const ask = (path: string, deps = { get, egress }) =>
  invoke(byAdmin(createAction(deps)), 'GET /api/document', {
    query: { url: path.startsWith('/') ? `http://127.0.0.1:${upstream.port}${path}` : path },
  });

test('the text of a document is answered as it was found, whatever its media type, and nobody is named to its host', async () => {
  const { status, headers, body } = await ask('/yaml');
  expect({ status, headers }).toMatchObject({ status: 200, headers: { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' } });
  expect(body).toEqual({ document: yaml });
  expect(Object.keys(upstream.seen.at(-1)?.headers ?? {}).sort()).toEqual([
    'accept',
    'accept-encoding',
    'connection',
    'host',
    'user-agent',
  ]);
});

const refused = (why: string, details: object) => ({
  status: 502,
  code: 'INTENT_EXECUTION_FAILED',
  message: `The address did not give a document (${why}).`,
  details,
});

test.each<[path: string, refusal: object]>([
  [
    '/moved',
    refused('it redirects to details.location; give that address if you trust it', {
      upstream_status: 301,
      location: `http://127.0.0.1:${upstream.port}/elsewhere?a=1`,
    }),
  ],
  ['/nowhere', refused('status 302', { upstream_status: 302 })],
  ['/elsewhere', refused('status 301', { upstream_status: 301 })],
  ['/bytes', refused('it is neither JSON nor YAML', { upstream_status: 200 })],
  ['/missing', refused('status 404', { upstream_status: 404 })],
  ['/page', refused('it is a web page', { upstream_status: 200 })],
  ['/latin1', refused('it is not in UTF-8', { upstream_status: 200 })],
  ['/large', refused('it has more than 20 MB', { reason: 'answer_too_large' })],
  ['/never', refused('it does not answer in time', { reason: 'deadline' })],
  ['http://127.0.0.1:1/', refused('it cannot be reached', { reason: 'unreachable' })],
])('no document is read at %s', async (path, refusal) => {
  expect(refusalOf(await ask(path))).toEqual(refusal);
});

test.each<[address: string, problem: string]>([
  ['https://10.0.0.1/openapi.json', 'must name its host by a full public domain name, not by an address or a local name'],
  ['http://api.example/openapi.json', 'must begin with https://'],
  ['https://api.example@evil.example/x', 'must not contain user information'],
  ['https://gate.example/openapi.json', 'must not lead back to this gate'],
  ['file:///etc/passwd', 'must be an http or https address without a fragment'],
])('a deployed gate does not read %s', async (address, problem) => {
  const deployed = { ...egress, allowLoopback: false, ownHosts: ['gate.example'] };
  const refusal = refusalOf(await ask(address, { get: openFileClient({ rules: deployed, maxBytes: 1, timeoutMs: 1 }), egress: deployed }));
  expect(refusal).toMatchObject({ status: 400, code: 'INVALID_PARAMETER', details: { issues: [{ path: '/url', problem }] } });
});

test('a document too large for an answer of Lambda is refused with the way that is left', async () => {
  const body = Buffer.from(randomBytes(4_400_000).toString('base64'));
  const large: typeof get = async () => ({ status: 200, headers: {}, body });
  expect(refusalOf(await ask('/large', { get: large, egress }))).toEqual(
    refused('it is too large; import it with the command line', { reason: 'answer_too_large' }),
  );
});
