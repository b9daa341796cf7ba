import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { close, listen } from '../../../bin/local/http.ts';
import { canonicalDigest } from '../../../schemas/canonical.ts';
import { makeFolder } from '../../support/folder.ts';
import { installPythonClient } from '../../support/python.ts';
import { openCommandLine } from './command-line.ts';

/** Text that would clear the screen, hide or reverse what follows, or be visible only to models. */
const attack = '\u001b[2J\u001b[8m\u009b8m\u007f\u202e\u2066\u200f\u061c\u2028\u{e0041}';

/** The code points of a text that should not be shown; deliberately independent of the product's own rule. */
const findHarmful = (text: string): string[] =>
  [...text]
    .map((character) => character.codePointAt(0) ?? 0)
    .filter(
      (code) =>
        (code < 0x20 && code !== 9 && code !== 10) ||
        (code > 0x7e && code < 0xa0) ||
        code === 0x61c ||
        (code > 0x200a && code < 0x2010) ||
        (code > 0x2027 && code < 0x202f) ||
        (code > 0x205f && code < 0x2070) ||
        code > 0xdffff,
    )
    .map((code) => code.toString(16));

/** The attack as it should be shown, in text or in JSON. */
const escaped = /\\(u\{1b\}|u001b|U0000001b|e)\[2J/;
const uid = 'x.example:do:v1';
const pagination = { current_page: 1, page_size: 10, total_results: 1, total_pages: 1 };
/** Outputs without the attack: they identify the mistake by its place and code point, or only by the request. */
const silent = ['a policy file', 'a policy that differs', 'the smoke test', 'conformance'];
const parameter = { name: `p${attack}`, type: 'string', required: false, description: attack };

const details = {
  intent_uid: uid,
  service_name: `Service ${attack}`,
  intent_name: `Name ${attack}`,
  description: `Text ${attack}`,
  input_parameters: [parameter],
  output_parameters: [],
  endpoint: `https://x.example/${attack}`,
  tags: [attack],
  digest: `${'a'.repeat(43)}.${'b'.repeat(32)}`,
};
const full = {
  ...details,
  intent_id: uid,
  service_id: 's',
  endpoint: { url: details.endpoint, method: 'POST', content_type: 'application/json' },
  version: 'v1',
  deprecated: false,
  draft: false,
};
const service = { service_id: 's', service_name: details.service_name, service_url: 'https://x.example', description: attack };
const entry = {
  seq: 1,
  at: '2026-01-01T00:00:00Z',
  actor: { subject: attack, user_name: attack },
  request_id: attack,
  namespace: attack,
  changes: [{ kind: 'agent', id: attack, action: 'block' }],
  previous: null,
};
const makePolicy = (url: string) => ({
  '@context': 'http://www.w3.org/ns/odrl.jsonld',
  uid: `${url}/${attack}`,
  type: 'Set',
  permission: [
    {
      target: `${url}/api/intents/${attack}`,
      action: 'execute',
      duty: [{ action: 'pay', amount: 5000, unit: 'https://currency.example/EUR' }],
    },
  ],
});

let isRefusing = false;

function answerTo(path: string): object {
  const policy = makePolicy(url);
  if (path === '/.well-known/jwks.json') return { keys: [] };
  if (path === '/api/policy') return policy;
  if (path.startsWith('/api/policy?'))
    return { policy: `${policy.uid}#sha-256=${canonicalDigest(policy)}`, sentences: [`You may ${attack}, for 5000 EUR each time.`] };
  if (path === '/api/pat/issue')
    return {
      'proto-pat': `a.${Buffer.from('{"iat":0,"exp":3600}').toString('base64url')}.c`,
      expires_at: new Date(Date.now() + 3_600_000).toISOString(),
    };
  if (path === '/api/intents/execute') return { [`member ${attack}`]: attack };
  if (path.startsWith('/api/intents/search')) return { intents: [details], pagination };
  if (path.startsWith('/api/intents/')) return full;
  if (path.startsWith('/api/services/s/intents'))
    return { intents: [{ intent_id: uid, intent_uid: uid, intent_name: details.intent_name, description: attack, tags: [] }], pagination };
  if (path.startsWith('/api/services?')) return { services: [{ ...service, intents: 1 }], pagination: { current_page: 1, page_size: 10 } };
  if (path.startsWith('/api/services')) return service;
  if (path.startsWith('/api/changes')) return { entries: [entry], head: { seq: 1, digest: attack } };
  return {
    agent_id: attack,
    state: 'active',
    key_thumbprint: attack,
    first_seen: '2026-01-01T00:00:00Z',
    last_issue: '2026-01-01T00:00:00Z',
    usage: [],
  };
}

const refusal = {
  error: {
    code: `CODE ${attack}`,
    message: `Message ${attack}`,
    details: { issues: [{ path: attack, problem: attack }], changes: [attack], request_id: attack },
  },
};

const server = createServer((incoming, outgoing) => {
  outgoing.writeHead(isRefusing ? 400 : 200, { 'Content-Type': 'application/json', ETag: '"1"' });
  incoming.resume().once('end', () => outgoing.end(JSON.stringify(isRefusing ? refusal : answerTo(incoming.url ?? ''))));
});

const python = await installPythonClient();

const document = {
  openapi: '3.1.0',
  info: { title: `API ${attack}`, version: '1', description: attack },
  servers: [{ url: 'https://x.example' }],
  components: { securitySchemes: { [attack]: { type: 'apiKey', in: 'header', name: attack } } },
  security: [{ [attack]: [] }],
  paths: {
    '/fine': {
      get: {
        summary: `Fine ${attack}`,
        tags: [attack],
        parameters: [{ name: `q${attack}`, in: 'query', schema: { type: 'string', pattern: `(?=${attack})` } }],
        responses: { 200: { description: attack } },
      },
    },
    [`/${attack}`]: { get: { operationId: attack, responses: { 200: { $ref: `#/${attack}` } } } },
  },
};

const url: string = `http://127.0.0.1:${await listen(server)}`;
afterAll(() => close(server));
const folder = makeFolder();
const { run } = await openCommandLine(folder, { INTENT_GATE_TOKEN: 'token', FORCE_COLOR: '0' });
await writeFile(join(folder, 'api.json'), JSON.stringify(document));
await writeFile(join(folder, 'broken.yaml'), `a: [${attack}\nb: }`);
await writeFile(join(folder, 'policy.json'), JSON.stringify(makePolicy('{base_url}')));

const commands: [string, string[]][] = [
  ['import of a document', ['import', 'api.json', '--dry-run', '--verbose', '--namespace', 'x.example']],
  ['import of an invalid document', ['import', 'broken.yaml', '--dry-run']],
  ['a file that does not exist', ['apply', `${attack.replaceAll('\0', '')}.yaml`]],
  ['search', ['intents', 'list', 'anything']],
  ['intents of a service', ['intents', 'list', '--service', 's']],
  ['an intent', ['intents', 'show', uid]],
  ['services', ['services', 'list']],
  ['a service', ['services', 'show', 's']],
  ['a question', ['services', 'delete', 's']],
  ['an agent', ['agents', 'show', 'x']],
  ['the log', ['history']],
  ['the policy in force', ['policy', 'show']],
  ['a policy file', ['policy', 'show', 'policy.json']],
  ['a policy that differs', ['policy', 'diff', 'policy.json']],
  ['an execution', ['try', '--intent', uid, '--accept-policy']],
  ['an export as YAML', ['export', '--service', 's']],
  ['an export as JSON', ['export', '--service', 's', '--format', 'json']],
  ['the smoke test', ['smoke']],
  ['conformance', ['conform', '--only', 'policy-answer,search-answer']],
];

describe.each([
  ['a hostile gate answers', false],
  ['a hostile gate refuses', true],
])('when %s', (_, refuses) => {
  beforeAll(() => {
    isRefusing = refuses;
  });

  // all commands report refusals in the same place
  const used = refuses ? commands.filter(([name]) => ['search', 'an execution', 'the smoke test', 'conformance'].includes(name)) : commands;

  test.each(used)('no output controls the terminal: %s', async (name, words) => {
    for (const more of [[], ['--json']]) {
      const address = ['smoke', 'conform'].includes(words[0] ?? '') ? [url] : ['--url', url];
      const { stdout, stderr } = await run([...words, ...address, ...(words[0] === 'smoke' ? [] : more)]);
      expect(findHarmful(stdout + stderr)).toEqual([]);
      expect(stdout + stderr).toMatch(silent.includes(name) ? /./ : escaped);
      expect(stderr).not.toContain('    at ');
    }
  });

  test.each(refuses ? [[['accept', '--yes']]] : [[['accept', '--yes']], [['accept']]])(
    'nothing speaks to the terminal: the MCP program, %j',
    async ([command = '', ...options]) => {
      const started = promisify(execFile)(process.execPath, [
        'client/mcp-stdio.ts',
        command,
        url,
        '--folder',
        join(folder, 'mcp'),
        ...options,
      ]);
      started.child.stdin?.end('n\n');
      const { stdout, stderr } = await started.catch((error) => error);
      expect(findHarmful(stdout + stderr)).toEqual([]);
      expect(stderr).toContain(refuses ? 'Message \\u{1b}[2J' : 'You may \\u{1b}[2J');
      if (!refuses) expect(stderr).toContain(', for 5000 EUR each time.');
    },
  );

  const inPython = [['policy'], ['search', 'x'], ['get', uid], ['execute', uid, '{}'], ['--accept-policy', 'execute', uid, '{}']];
  (python ? test : test.skip).each((refuses ? inPython.slice(-1) : inPython).map((words) => [words]))(
    'nothing speaks to the terminal: Python %j',
    async (words) => {
      const program = join(python ?? '', 'bin', 'intent-gate-agent');
      const started = promisify(execFile)(program, ['--url', url, '--key', join(folder, 'python.key'), ...words]);
      started.child.stdin?.end('n\n');
      const { stdout, stderr } = await started.catch((error) => error);
      expect(findHarmful(stdout + stderr)).toEqual([]);
      expect(stdout + stderr).not.toContain('Traceback');
      expect(stdout + stderr).toMatch(escaped);
    },
  );
});
