/**
 * Schemathesis, a foreign tool that knows nothing of the gate but its OpenAPI document, makes requests from the document that `/openapi.json`
 * serves, and compares every answer with it: status, media type, headers, schema, methods, credentials; no 5xx; what has been deleted is gone.
 * It gets a PAT first, then the token of an admin; then, at a gate with the setting `catalogue: permitted`, the PATs of two agents, of which one may
 * not see a service. Needs Python 3.10 with pip; says so and ends with 0 without it.
 * `node bin/run.js test/long/schemathesis.ts [--examples 1000] [--phases examples,coverage,fuzzing,stateful] [--seconds 900] [--seed 1]`
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { type RunningStack, type StackOptions, startStack } from '../../bin/local/stack.ts';
import { connect, openMemoryKeyStore } from '../../client/connect.ts';
import { openHttp } from '../../client/http.ts';
import { oneOfEach } from '../support/environments.ts';
import { installWitnesses } from '../support/python.ts';
import { intentOf, serviceNamed } from '../support/records.ts';

const { values } = parseArgs({
  options: {
    examples: { type: 'string', default: '1000' },
    phases: { type: 'string', default: 'examples,coverage,fuzzing,stateful' },
    seconds: { type: 'string', default: '900' },
    seed: { type: 'string', default: '1' },
  },
});

const skippedWith = 'skipped: Schemathesis cannot be installed here';
const python = await installWitnesses(skippedWith);
if (!python) {
  console.log(skippedWith);
  process.exit(0);
}

/** What a document can say in full. Not whether a request that fits it is accepted: rules between members, and those of text, are no JSON Schema. */
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'negative_data_rejection',
  'missing_required_header',
  'unsupported_method',
  'allow_header_conformance',
  'use_after_free',
  'ensure_resource_availability',
  'ignored_auth',
];

/** The names of the service and intent that one of the agents may not see; the policy, which everybody may read, names their namespace only. */
const secret = 'numbat';

const folder = await mkdtemp(join(tmpdir(), 'intent-gate-schemathesis-'));
/** These call the address that the request gives, as id of a client or as a server's; all else stays on this machine. */
const left = ['authorize', 'get-document', 'list-mcp-tools'].flatMap((id) => ['--exclude-operation-id', id]);

async function run({ base_url }: RunningStack, holder: string, token: string, unseen?: string): Promise<number> {
  const used = [...checks, ...(unseen === undefined ? [] : ['hides_what_is_not_permitted'])];
  const child = spawn(
    String(python),
    [
      ...[
        '-m',
        'schemathesis.cli',
        'run',
        `${base_url}/openapi.json`,
        '--header',
        `Authorization: Bearer ${token}`,
        '--checks',
        used.join(','),
      ],
      ...[
        '--phases',
        values.phases,
        '--max-examples',
        values.examples,
        '--max-time',
        String(Math.ceil(Number(values.seconds) / 4)),
        '--seed',
        values.seed,
      ],
      ...['--generation-database', 'none', '--continue-on-failure', '--max-redirects', '0', '--no-color', '--warnings', 'off', ...left],
    ],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
      // whatever else it might call is refused at once instead of leaving this machine
      env: {
        ...process.env,
        ...(unseen !== undefined && { UNSEEN: unseen }),
        SCHEMATHESIS_HOOKS: join(import.meta.dirname, 'schemathesis.py'),
        HTTP_PROXY: 'http://127.0.0.1:9',
        HTTPS_PROXY: 'http://127.0.0.1:9',
        NO_PROXY: '127.0.0.1',
      },
    },
  );
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  const found = output.slice(Math.max(0, output.search(/^=+ (ERRORS|FAILURES|SUMMARY) =+$/m)));
  console.log(`${holder}:\n${code === 0 ? output.slice(output.indexOf('Test cases:')) : found.replaceAll(/^(.{600}).+$/gm, '$1 ...')}`);
  return code;
}

const patOf = async ({ base_url }: RunningStack, agentId: string, keyStore = openMemoryKeyStore()) =>
  (await (await connect(base_url, { agentId, keyStore, onPolicy: () => true })).obtainPat()).pat;

async function tryPublic(stack: RunningStack): Promise<number[]> {
  const pat = await patOf(stack, 'witness');
  // in this order: what an admin registers is never executed, so no address that the tool has made up is called
  return [await run(stack, 'With a PAT', pat), await run(stack, 'With the token of an admin', stack.admin_token)];
}

async function tryPermitted(stack: RunningStack): Promise<number[]> {
  const http = openHttp({ url: stack.base_url });
  const asAdmin = (method: 'POST' | 'PUT', path: string, body: object, headers = {}) =>
    http.send(method, path, { bearer: stack.admin_token, body, headers });
  const service = await asAdmin('POST', '/api/services', { ...serviceNamed(secret), namespace: 'inner.example' });
  const { service_id } = service.body as { service_id: string };
  await asAdmin('POST', `/api/services/${service_id}/intents`, intentOf(`inner.example:${secret}:v1`));
  const { headers } = await http.send('GET', '/api/policy');
  const rule = (namespace: string, more = {}) => ({ target: `{base_url}/api/intents?namespace=${namespace}`, action: 'execute', ...more });
  const permission = [rule('demo.example'), rule('inner.example', { assignee: 'insider' })];
  const policy = { '@context': 'http://www.w3.org/ns/odrl.jsonld', uid: '{base_url}/api/policy', type: 'Set', permission };
  await asAdmin('PUT', '/api/policy', policy, { 'If-Match': headers.get('etag') ?? '' });
  const [outsider, insider] = [await patOf(stack, 'outsider'), await patOf(stack, 'insider')];
  // else nothing would be hidden
  await http.send('GET', `/api/services/${service_id}`, { bearer: insider });
  return [
    await run(stack, 'With the PAT of an agent that may not see a service', outsider, secret),
    await run(stack, 'With the PAT of an agent that may', insider),
  ];
}

async function tryStack(options: StackOptions, trial: (stack: RunningStack) => Promise<number[]>): Promise<void> {
  const stack = await startStack({ port: 0, quiet: true, environments: oneOfEach, ...options });
  try {
    if ((await trial(stack)).some((code) => code !== 0)) process.exitCode = 1;
  } finally {
    await stack.stop();
  }
}

try {
  await tryStack({}, tryPublic);
  await tryStack({ context: { catalogue: 'permitted' } }, tryPermitted);
} finally {
  await rm(folder, { recursive: true, force: true });
}
