/**
 * Hostile requests over real HTTP: whatever is sent, the answer is one that the OpenAPI document describes, and a refusal repeats nothing.
 * `npm run fuzz -- [--requests 100000] [--concurrency 8] [--seed 1]`
 */
import { request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import * as z from 'zod';
import { startStack } from '../../bin/local/stack.ts';
import { connect } from '../../client/connect.ts';
import type { ApiDocument, ApiResponse } from '../../schemas/openapi.ts';
import { oneOfEach } from '../support/environments.ts';
import { seededRandom } from '../support/random.ts';
import { type HostileRequest, openHostileRequests } from './hostile-requests.ts';
import { readNumbers } from './options.ts';

const { requests, concurrency, seed } = readNumbers({ requests: 100_000, concurrency: 8, seed: 1 });
const canary = `canary${seed}q7`;

const stack = await startStack({ port: 0, quiet: true, environments: oneOfEach });
const { port } = new URL(stack.base_url);

interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** Sends a request as it is, also what `fetch` would refuse or correct. */
const send = ({ method, target, headers, body }: Omit<HostileRequest, 'operationId' | 'route'>): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const flat = headers.flatMap(([name, value]) => [
      name,
      Buffer.from(value)
        .toString('latin1')
        .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?'),
    ]);
    const length = body === undefined ? [] : ['Content-Length', String(Buffer.byteLength(body))];
    const sent = request(
      { host: '127.0.0.1', port, method, path: target, headers: ['Host', `127.0.0.1:${port}`, ...flat, ...length] },
      (answer) =>
        buffer(answer).then(
          (bytes) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text: bytes.toString() }),
          reject,
        ),
    );
    sent.on('error', reject).end(body);
  });

const call = async (method: string, path: string, content?: object) => {
  const headers: [string, string][] = [
    ['Authorization', `Bearer ${stack.admin_token}`],
    ['Content-Type', 'application/json'],
  ];
  const { text } = await send({ method, target: path, headers, ...(content && { body: JSON.stringify(content) }) });
  return JSON.parse(text);
};

const document: ApiDocument = await call('GET', '/openapi.json');
const { service_id } = await call('POST', '/api/services', {
  service_name: 'Fuzzed',
  service_url: 'https://world.example',
  description: 'Takes whatever comes',
});
const agent = await connect(stack.base_url, { agentId: 'fuzzer', onPolicy: () => true });
const { pat } = await agent.obtainPat();

const ajv = new Ajv2020({ strict: false, allErrors: false });
formats.default(ajv);
ajv.addSchema({ $id: 'gate', ...document });
const validators = new Map<string, ValidateFunction>();
const validatorOf = (path: string): ValidateFunction => {
  const known = validators.get(path) ?? ajv.compile({ $ref: `gate#${path}` });
  validators.set(path, known);
  return known;
};
const segment = (text: string): string => text.replaceAll('~', '~0').replaceAll('/', '~1');

/** What is wrong with an answer, if anything is. */
function findViolation({ operationId, route, method }: HostileRequest, { status, headers, text }: Answer): string | undefined {
  if (headers['x-request-id'] === undefined) return 'has no X-Request-Id';
  // What other people's services do is not the gate's fault, and has codes of its own.
  const isUpstreams = operationId === 'execute-intent' && [501, 502, 504].includes(status) && text.includes('INTENT_');
  if (status >= 500 && !isUpstreams) return 'is a 5xx';
  // a JSON-RPC answer repeats the id of its request
  const said = operationId === 'mcp' ? text.replace(/"id":"[^"]*"/, '') : text;
  if (status >= 400 && said.includes(canary)) return 'repeats what was sent';
  // it is the local stack, and not the gate, that refuses pages of other origins: everywhere alike, also where the gate answers with a page
  if (status === 403 && text.includes('"reason":"origin"')) return undefined;
  const base = `/paths/${segment(route)}/${method.toLowerCase()}/responses`;
  const responses = document.paths[route]?.[method.toLowerCase()]?.responses ?? {};
  const described = String(status) in responses ? String(status) : 'default';
  if (responses[described] === undefined) return `has a status that is not described`;
  const found = responses[described] as ApiResponse & { $ref?: string };
  const at = found.$ref === undefined ? `${base}/${described}` : found.$ref.slice(1);
  const response = found.$ref === undefined ? found : (document.components.responses?.[found.$ref.split('/').at(-1) ?? ''] as ApiResponse);
  const [mediaType] = String(headers['content-type'] ?? '').split(';');
  if (text === '') return response.content === undefined || method === 'HEAD' ? undefined : 'has no content, though some is described';
  if (response.content?.[mediaType ?? ''] === undefined) return `has content of the type ${mediaType}, which is not described`;
  if (mediaType !== 'application/json') return undefined;
  const validate = validatorOf(`${at}/content/${segment('application/json')}/schema`);
  if (validate(JSON.parse(text))) return undefined;
  return `does not match its schema: ${ajv.errorsText(validate.errors)}`;
}

/** By path parameter; what requests create joins them. */
const known = {
  service_id: [service_id, '01ARZ3NDEKTSV4RRFFQ69G5FAV'],
  intent_uid: ['world.example:get-country:v1', 'world.example:get-country:v9', 'fuzz:made-up:v1'],
  agent_id: ['other agent'],
  asset: ['main.js', 'console.css'],
};
const created = z.object({ service_id: z.string().optional(), intent_uid: z.string().optional() });

const next = openHostileRequests(
  {
    document,
    known,
    tokens: [stack.admin_token, stack.admin_token, pat, pat, stack.user_token, 'a.b.c', `${pat.slice(0, -4)}AAAA`],
    canary,
  },
  seededRandom(seed),
);

const statuses = new Map<number, number>();
const violations = new Map<string, string>();
let [done, failed] = [0, 0];
const startedMs = Date.now();

async function work(): Promise<void> {
  while (done < requests) {
    done += 1;
    const made = next();
    const answer = await send(made).catch((error: NodeJS.ErrnoException): Answer => ({ status: 0, headers: {}, text: String(error.code) }));
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    if (answer.status === 201) {
      const { service_id: service, intent_uid: uid } = created.parse(JSON.parse(answer.text));
      if (service) known.service_id.push(service);
      if (uid) known.intent_uid.push(uid);
    }
    const problem = answer.status === 0 ? `was cut off (${answer.text})` : findViolation(made, answer);
    if (problem === undefined) continue;
    failed += 1;
    const kind = `${made.method} ${made.route}: an answer ${answer.status} ${problem}`;
    if (!violations.has(kind)) violations.set(kind, JSON.stringify({ ...made, answer: answer.text.slice(0, 500) }).slice(0, 2_000));
  }
}

const progress = setInterval(() => console.log(`${done} of ${requests} requests, ${failed} violations`), 10_000);
await Promise.all(Array.from({ length: concurrency }, work));
clearInterval(progress);
await stack.stop();

const counts = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
console.log(`${done} requests in ${Math.round((Date.now() - startedMs) / 1_000)} s, seed ${seed}. Answers by status: ${counts.join(', ')}`);
for (const [kind, example] of violations) console.log(`\n${kind}\n  ${example}`);
console.log(`\n${failed} violations of ${violations.size} kinds`);
process.exitCode = failed > 0 ? 1 : 0;
