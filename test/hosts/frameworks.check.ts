import { type ChildProcess, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders, type Server, request as sendRequest } from 'node:http';
import { join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib';
import { afterAll, describe, expect, test } from '@jest/globals';
import { listen } from '../../bin/local/http.ts';
import type { FullIntent } from '../../schemas/intent.ts';
import { parseExact } from '../../schemas/number.ts';
import type { NestedSchema, Parameter } from '../../schemas/parameter.ts';
import { openSignedIn } from '../bin/cli/command-line.ts';
import { startApi } from '../e2e/api.ts';
import { makeFolder } from '../support/folder.ts';
import { findFreePort } from '../support/local-process.ts';
import { notTested } from '../support/not-tested.ts';
import { installRequirements } from '../support/python.ts';

// Every operation of services that nobody here wrote answers through the gate as it does directly. The services run twice, from the same beginning: what
// the gate sends to one is recorded, and sent to the other as it was.

interface Sent {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

interface Direct {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

const environment = '.venv-services';
const isInstalled = await installRequirements(environment, 'test/hosts/requirements-services.txt').then(
  () => true,
  (error: Error) => notTested('services of other frameworks', error),
);

const processes: ChildProcess[] = [];
const servers: Server[] = [];
const folder = makeFolder();
const policy = {
  '@context': 'http://www.w3.org/ns/odrl.jsonld',
  uid: '{base_url}/api/policy',
  type: 'Set',
  permission: [{ target: '{base_url}/api/intents', action: 'execute' }],
  obligation: [{ action: 'sign' }],
};
await writeFile(join(folder, 'policy.json'), JSON.stringify(policy));
const api = await startApi({ policyFile: join(folder, 'policy.json') });
const { run } = await openSignedIn(folder, api.stack);
const pat = await api.obtainPat();

afterAll(() => {
  for (const child of processes) child.kill();
  for (const server of servers) server.close();
});

const send = (port: number, { method, url, headers, body }: Sent): Promise<Direct> =>
  new Promise((done, fail) => {
    const call = sendRequest({ host: '127.0.0.1', port, method, path: url, headers, agent: false }, (answer) => {
      buffer(answer).then((content) => done({ status: answer.statusCode ?? 0, headers: answer.headers, body: content }), fail);
    });
    call.on('error', fail);
    call.end(body);
  });

/** Starts a service, and waits until it answers. */
async function startService(kind: string, path: string): Promise<number> {
  const port = await findFreePort();
  processes.push(spawn(resolve(environment, 'bin', 'python'), ['test/hosts/services.py', kind, String(port)], { stdio: 'ignore' }));
  const ask: Sent = { method: 'GET', url: path, headers: {}, body: Buffer.alloc(0) };
  for (let attempt = 0; attempt < 600; attempt++) {
    const answer = await send(port, ask).catch(() => undefined);
    if (answer?.status === 200) return port;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error(`${kind} does not start`);
}

/** A server in front of a service that keeps what it was sent last. */
async function startRecorder(port: number) {
  let last: Sent | undefined;
  const server = createServer(async (request, response) => {
    const sent = { method: request.method ?? '', url: request.url ?? '', headers: request.headers, body: await buffer(request) };
    last = sent;
    const answer = await send(port, sent).catch(() => undefined);
    if (!answer) return void response.destroy();
    const { 'transfer-encoding': _, connection, ...kept } = answer.headers;
    response.writeHead(answer.status, kept).end(answer.body);
  });
  servers.push(server);
  return {
    port: await listen(server),
    take: () => {
      const taken = last;
      last = undefined;
      return taken;
    },
  };
}

const exact = (text: string): unknown => parseExact(text);

/** Values that suit the operations, by the names of their parameters. */
const known: Record<string, unknown> = {
  codes: 200,
  code: 200,
  status_code: 302,
  qop: 'auth',
  user: 'user',
  passwd: 'passwd',
  delay: 0,
  duration: 0,
  numbytes: 10,
  n: 3,
  offset: 1,
  value: 'dGV4dA==',
  url: '/get',
  freeform: 'text',
  limit: exact('9007199254740995'),
  number: exact('9007199254740997'),
  price: exact('1.10000000000000000003'),
};

const takesText = (schema: NestedSchema | boolean | undefined): boolean => typeof schema === 'object' && schema.type === 'string';

function sampleOf({ name, type, enum: allowed, default: fallback, minimum, schema }: Parameter): unknown {
  const isWord = typeof known[name] === 'string';
  if (type === 'string' && name in known) return String(known[name]);
  if (name in known && (type === 'any' || (isWord ? false : type === 'integer' || type === 'number'))) return known[name];
  if (allowed?.[0] !== undefined) return allowed[0];
  if (fallback !== undefined && fallback !== null) return fallback;
  switch (type) {
    case 'integer':
    case 'number':
      return Math.max(Number(minimum ?? 1), 1);
    case 'boolean':
      return true;
    case 'array':
      return [];
    case 'object':
      return { a: 'b', exact: takesText(schema?.additionalProperties) ? '9007199254740993.10' : exact('9007199254740993.10') };
    case 'null':
      return null;
    default:
      return 'text';
  }
}

/** JSON with the text of each number in its place, so that no digit is lost in the comparison. */
const readExactly = (text: string): unknown =>
  JSON.parse(text, (_name, value, { source }) => (typeof value === 'number' ? `number ${source}` : value));

const decoders: Record<string, (bytes: Buffer) => Buffer> = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync };

const contentOf = ({ headers, body }: Direct): Buffer => decoders[headers['content-encoding'] ?? '']?.(body) ?? body;

/** What the gate is to answer for what a service answered in the 200s. */
function expectedOf(direct: Direct, outputs: readonly Parameter[]): unknown {
  const content = contentOf(direct);
  const [type = ''] = (direct.headers['content-type'] ?? '').split(';');
  const charset = /charset=([\w-]+)/.exec(direct.headers['content-type'] ?? '')?.[1] ?? 'utf-8';
  if (content.length === 0) return {};
  let text: string | undefined;
  try {
    text = new TextDecoder(charset, { fatal: true }).decode(content);
  } catch {
    // is no text in that encoding
  }
  if (text === undefined || !/^text\/|xml|json$/.test(type)) return { base64: content.toString('base64'), content_type: type };
  // a member twice, and several documents: both are passed on, as text
  if (!/json$/.test(type) || /"a": 1, "a": 2/.test(text) || /\}\n\{/.test(text)) return { value: text, content_type: type };
  const value = readExactly(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  return { [outputs.length === 1 && outputs[0] ? outputs[0].name : Array.isArray(value) ? 'items' : 'value']: value };
}

/** What the gate is to show of an answer that refuses a call. */
function shownOf({ status, headers, body }: Direct): unknown {
  const [type = ''] = (headers['content-type'] ?? '').split(';');
  if (status < 400 || body.length === 0 || body.length > 4096) return undefined;
  if (/json$/.test(type)) return readExactly(body.toString());
  if (status >= 500) return undefined;
  if (type === 'text/html') return expect.stringMatching(/^[^<]+$/);
  return type === 'text/plain' ? body.toString().trim() : undefined;
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Operations whose answers are new each time, by what remains comparable: the form of a UUID, and the number of bytes. */
const comparables: Record<string, (answer: Record<string, unknown>) => unknown> = {
  'GET /uuid': (answer) => ({ ...answer, uuid: uuid.test(String(answer.uuid)) }),
  'GET /bytes/3': (answer) => ({ ...answer, base64: Buffer.from(String(answer.base64), 'base64').length }),
  'GET /stream-bytes/3': (answer) => ({ ...answer, base64: Buffer.from(String(answer.base64), 'base64').length }),
};

/** Texts of the exact numbers in a value. */
const numbersIn = (value: unknown): string[] => JSON.stringify(value).match(/\d{16,}(?:\.\d+)?|\d\.\d{16,}/g) ?? [];

interface Kind {
  kind: string;
  document: string;
  /** operations that become no intents */
  skipped: string[];
  same: number;
  /** what the services do not answer in the 200s: the call, their status and the gate's */
  others: string[];
}

const sampleQuery = 'a=b&exact=9007199254740993.10';

const refusals = (calls: string[], status: number, ofGate: number): string[] => calls.map((call) => `${call}: ${status}, ${ofGate}`);

const kinds: Kind[] = [
  {
    kind: 'httpbin',
    document: '/spec.json',
    skipped: ['/anything', '/anything/{anything}', '/delay/{delay}', '/redirect-to', '/status/{codes}'].map((path) => `TRACE ${path}`),
    same: 55,
    others: [
      ...refusals(['POST /redirect-to', 'GET /absolute-redirect/3'], 302, 502),
      ...refusals(['GET /basic-auth/user/passwd', 'GET /bearer'], 401, 502),
      ...refusals(
        [`GET /cookies/delete?${sampleQuery}`, 'GET /cookies/set/text/dGV4dA%3D%3D', `GET /cookies/set?${sampleQuery}`],
        302,
        502,
      ),
      ...refusals(
        ['/text/text', '/text', ''].map((more) => `GET /digest-auth/auth/user/passwd${more}`),
        401,
        502,
      ),
      ...refusals(['GET /hidden-basic-auth/user/passwd'], 404, 422),
      // it has pictures only for callers that name a type of picture
      ...refusals(['GET /image'], 406, 422),
      ...refusals(['GET /redirect/3', 'GET /redirect-to?url=%2Fget&status_code=302', 'GET /relative-redirect/3'], 302, 502),
      ...refusals(['PUT /redirect-to', 'PATCH /redirect-to', 'DELETE /redirect-to'], 302, 502),
    ],
  },
  {
    kind: 'fastapi',
    document: '/openapi.json',
    skipped: [],
    same: 16,
    others: ['GET /problem: 409, 422', 'GET /teapot: 418, 422', 'GET /unavailable: 503, 502'],
  },
  { kind: 'django', document: '/schema/?format=json', skipped: [], same: 9, others: [] },
];

const verbs = ['get', 'put', 'post', 'delete', 'patch', 'head', 'options', 'trace'];

/** What changes something comes after what makes it, and before what removes it. */
const order = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'];

(isInstalled ? describe : describe.skip)('every operation', () => {
  test.each(kinds)(
    'every operation of $kind answers through the gate as it does directly',
    async ({ kind, document, ...expected }) => {
      const [behind, beside] = [await startService(kind, document), await startService(kind, document)];
      const recorder = await startRecorder(behind);
      const base = `http://127.0.0.1:${recorder.port}`;
      const imported = await run(['import', `${base}${document}`, '--base-url', base, '--namespace', `${kind}.example`, '--yes', '--json']);
      if (imported.code !== 0) throw new Error(`The import ended with ${imported.code}: ${imported.stderr}${imported.stdout}`);
      const skipped: string[] = JSON.parse(imported.stdout).skipped.map(({ operation }: { operation: string }) => operation);

      const found: FullIntent[] = [];
      for (let page = 1; found.length === (page - 1) * 100; page++) {
        const { body } = await api.call('GET', `/api/intents/search?namespace=${kind}.example&page=${page}&page_size=100`);
        for (const { intent_uid } of body.intents)
          found.push((await api.call('GET', `/api/intents/${encodeURIComponent(intent_uid)}?view=full`)).body);
      }
      const { paths } = (await (await fetch(`${base}${document}`)).json()) as { paths: Record<string, object> };
      const inDocument = Object.values(paths).flatMap((path) => Object.keys(path).filter((name) => verbs.includes(name)));
      expect(found.length + skipped.length).toBe(inDocument.length);

      const others: string[] = [];
      let same = 0;
      found.sort((left, right) => order.indexOf(left.endpoint.method) - order.indexOf(right.endpoint.method));
      for (const intent of found) {
        const given = intent.input_parameters.filter(({ required, in: place, name }) => required || (place === undefined && name in known));
        const parameters = Object.fromEntries(given.map((input) => [input.name, sampleOf(input)]));
        recorder.take();
        const response = await fetch(`${api.stack.base_url}/api/intents/execute`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${pat}` },
          body: JSON.stringify({ intent_uid: intent.intent_uid, parameters }),
        });
        const answer = readExactly(await response.text()) as Record<string, unknown>;
        const sent = recorder.take();
        if (!sent) throw new Error(`${intent.intent_uid} was not called: ${JSON.stringify(answer)}`);
        for (const number of numbersIn(parameters)) expect(`${sent.url} ${sent.body}`).toContain(number);
        const direct = await send(beside, sent);
        const call = `${sent.method} ${sent.url}`;
        if (direct.status < 300) {
          const comparable = comparables[call] ?? ((whole) => whole);
          const wanted = expectedOf(direct, intent.output_parameters) as Record<string, unknown>;
          expect({ call, status: response.status, answer: comparable(answer) }).toEqual({ call, status: 200, answer: comparable(wanted) });
          same++;
          continue;
        }
        const { details } = answer.error as { details: Record<string, unknown> };
        expect({ call, status: details.upstream_status, shown: details.upstream_body }).toEqual({
          call,
          status: `number ${direct.status}`,
          shown: shownOf(direct),
        });
        others.push(`${call}: ${direct.status}, ${response.status}`);
      }
      expect({ skipped, same, others }).toEqual(expected);
    },
    600_000,
  );
});
