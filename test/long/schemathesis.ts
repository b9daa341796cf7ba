/**
 * Schemathesis, a foreign tool that knows nothing of the gate but its OpenAPI document, makes requests from the document that `/openapi.json`
 * serves, and compares every answer with it: status, media type, headers, schema, methods, credentials; no 5xx; what has been deleted is gone.
 * It gets a PAT first, then the token of an admin. Needs Python 3.10 with pip; says so and ends with 0 without it.
 * `node bin/run.js test/long/schemathesis.ts [--examples 1000] [--phases examples,coverage,fuzzing,stateful] [--seconds 900] [--seed 1]`
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { startStack } from '../../bin/local/stack.ts';
import { connect } from '../../client/connect.ts';
import { oneOfEach } from '../support/environments.ts';
import { installWitnesses } from '../support/python.ts';

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

const stack = await startStack({ port: 0, quiet: true, environments: oneOfEach });
const folder = await mkdtemp(join(tmpdir(), 'intent-gate-schemathesis-'));
/** `authorize` calls the address that its client gives as its id; all else stays on this machine. */
const left = ['--exclude-operation-id', 'authorize'];

async function run(holder: string, token: string): Promise<number> {
  const child = spawn(
    String(python),
    [
      ...[
        '-m',
        'schemathesis.cli',
        'run',
        `${stack.base_url}/openapi.json`,
        '--header',
        `Authorization: Bearer ${token}`,
        '--checks',
        checks.join(','),
      ],
      ...[
        '--phases',
        values.phases,
        '--max-examples',
        values.examples,
        '--max-time',
        String(Math.ceil(Number(values.seconds) / 2)),
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

try {
  const agent = await connect(stack.base_url, { agentId: 'witness', onPolicy: () => true });
  const { pat } = await agent.obtainPat();
  // in this order: what an admin registers is never executed, so no address that the tool has made up is called
  const codes = [await run('With a PAT', pat), await run('With the token of an admin', stack.admin_token)];
  process.exitCode = codes.every((code) => code === 0) ? 0 : 1;
} finally {
  await stack.stop();
  await rm(folder, { recursive: true, force: true });
}
