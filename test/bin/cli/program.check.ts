import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { chooseBaseUrl } from '../../../bin/cli/context.ts';
import { type CommandLine, type Outcome, openCommandLine } from './command-line.ts';
import { startSignedIn } from './signed-in.ts';

const { stack, folder, run, runAlone, writeTo, home } = await startSignedIn();

test.each(['command-line.md', 'import.md'])('the commands in %s work', async (name) => {
  const page = await readFile(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');
  const blocks = [...page.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block]) => block);
  const { runScript } = await openCommandLine(folder, { INTENT_GATE_TOKEN: stack.admin_token });
  const outcome = await runScript(
    blocks
      .join('\n')
      .replaceAll('/tmp/', `${folder}/`)
      .replaceAll(' samples/', ` ${fileURLToPath(new URL('../../../samples', import.meta.url))}/`),
  );
  expect(outcome).toMatchObject({ code: 0 });
});

test.each<[string[]]>([[['--help']], [['services', 'list']], [['export']], [['types']]])(
  'closing the pipe that %j writes to is no error',
  async (words) => {
    const { code, stderr } = await runAlone(words, '', true);
    expect(code).toBe(0);
    expect(stderr).not.toMatch(/EPIPE|\n {4}at /);
  },
);

test('a full disk makes a command exit with 1', async () => {
  const { runScript } = await openCommandLine(folder);
  const stderr = expect.stringMatching(/(^|\n)The output could not be written: ENOSPC: .*\n$/);
  expect(await runScript('npx intent-gate --help > /dev/full')).toEqual({ code: 1, stdout: '', stderr });
});

test.each(['/console', '/console/services', '/docs', '/mcp', '/openapi.json?x#y'])('the address of the page %s is understood', (page) => {
  expect(chooseBaseUrl(stack.base_url + page)).toBe(stack.base_url);
});

describe('the gate that a command calls', () => {
  let sessions: string;
  /** command lines in a folder in which no stack runs: with the session, with nothing, and with the variable */
  let [signedIn, nobody, configured]: CommandLine[] = [];
  const runElsewhere = (words: string[], commandLine = signedIn) => (commandLine as CommandLine).run(words);

  beforeAll(async () => {
    const elsewhere = await mkdtemp(join(folder, 'elsewhere-'));
    [signedIn, nobody, configured] = await Promise.all(
      [{ INTENT_GATE_HOME: home }, {}, { INTENT_GATE_URL: stack.base_url }].map((environment) => openCommandLine(elsewhere, environment)),
    );
    sessions = await readFile(join(home, 'sessions.json'), 'utf8');
  });
  afterEach(() => writeFile(join(home, 'sessions.json'), sessions));

  test('the gate signed in to is the default when there is only one', async () => {
    const shown = await runElsewhere(['services', 'list', '--json']);
    expect(shown).toEqual({ code: 0, stderr: '', stdout: expect.stringContaining('"service_id"') });
  });

  test('with two gates there is no default, and both are named; nor is there one without a login', async () => {
    const other = 'https://gate.example';
    await writeFile(
      join(home, 'sessions.json'),
      JSON.stringify({ ...JSON.parse(sessions), [other]: { kind: 'local', stack_file: 'none' } }),
    );
    const advice = 'Give its address with --url or INTENT_GATE_URL, or start one with "npm start".\n';
    expect(await runElsewhere(['services', 'list'])).toEqual({
      code: 3,
      stdout: '',
      stderr: `No gate selected. You are signed in to ${stack.base_url} and ${other}. ${advice}`,
    });
    expect(await runElsewhere(['services', 'list'], nobody)).toEqual({ code: 3, stdout: '', stderr: `No gate selected. ${advice}` });
  });

  describe('names in a policy', () => {
    const target = '{base_url}/api/intents';
    const policy = {
      permission: [{ target, action: 'execute' }],
      prohibition: [{ target: `${target}/world.example:get-countri:v1`, action: 'execute' }],
    };
    const problem = 'names the intent "world.example:get-countri:v1", which does not exist; the nearest is "world.example:get-country:v1"';
    const country = 'world.example:get-country:v1';
    const gates: { gate: string; ask: (words: string[]) => Promise<Outcome> }[] = [
      { gate: 'of the stack here', ask: (words) => run(words) },
      { gate: 'signed in to', ask: (words) => runElsewhere(words) },
      { gate: 'of --url', ask: (words) => runElsewhere(['--url', stack.base_url, ...words], nobody) },
      { gate: 'of INTENT_GATE_URL', ask: (words) => runElsewhere(words, configured) },
    ];

    test.each(gates)('the names in a policy are looked up in the gate $gate', async ({ ask }) => {
      const file = await writeTo('misspelt.json', policy);
      const { code, stderr } = await ask(['policy', 'show', file]);
      expect([code, stderr]).toEqual([2, expect.stringContaining('The policy refers to names that do not exist in the registry:')]);
      expect(stderr).toContain(problem);
      expect(stderr).not.toContain('were not checked');
      expect(await ask(['policy', 'explain', country, '--param', 'code=JP'])).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^Permitted by /),
        stderr: '',
      });
    });

    test('a gate that was named must answer; the default one need not', async () => {
      const file = fileURLToPath(new URL('../../../policy.json', import.meta.url));
      await writeFile(join(home, 'sessions.json'), JSON.stringify({ 'http://127.0.0.1:9': { kind: 'local', stack_file: 'none' } }));
      const unchecked = 'The names in the policy were not checked. Give a gate with --url, or a registry file with --registry.\n';
      expect(await runElsewhere(['policy', 'show', file])).toMatchObject({ code: 0, stderr: unchecked });
      expect(await runElsewhere(['--url', 'http://127.0.0.1:9', 'policy', 'show', file])).toMatchObject({
        code: 5,
        stderr: expect.stringContaining('Nothing answers at http://127.0.0.1:9.'),
      });
    });
  });
});

const oversized = await writeTo(
  'oversized.json',
  `{"openapi":"3.1.0","info":{"title":"Oversized","version":"1"},"paths":{},"x-list":[${'1,'.repeat(1_000_000)}1]}`,
);

test.each([
  { what: 'an unknown command', words: ['nonsense'], code: 3, message: "error: unknown command 'nonsense'" },
  { what: 'an unknown option', words: ['diff', 'x', '--nonsense'], code: 3, message: "error: unknown option '--nonsense'" },
  ...(
    [
      [['nonsense'], "unknown command 'nonsense'"],
      [['services', '--nonsense'], "unknown option '--nonsense'"],
      [['services'], 'Name a command; --help lists them.'],
    ] as const
  ).map(([words, message]) => ({
    what: `${words.join(' ')} with --json`,
    words: [...words, '--json'],
    code: 3,
    message: JSON.stringify({ error: { code: 'usage', message, details: {} } }),
  })),
  { what: 'a missing file', words: ['diff', 'none.yaml'], code: 3, message: 'The file none.yaml does not exist.' },
  ...['lately', '5'].map((since) => ({
    what: `the invalid time ${since}`,
    words: ['history', '--since', since],
    code: 3,
    message: '--since takes a duration such as 30m, 12h, 7d or 4w, or a date such as 2027-03-01.',
  })),
  {
    what: 'a document that takes much memory',
    words: ['import', oversized],
    code: 3,
    message:
      'The document is too large: reading more than 20 MB of JSON or 5 MB of YAML, or an extreme number of values, can take gigabytes of memory. Import it with the command line and --large.',
  },
  {
    what: 'a document that takes much memory, even if that is allowed, without operations',
    words: ['import', oversized, '--large', '--base-url', 'https://oversized.example'],
    code: 1,
    message: 'No operation in the document can be imported, so nothing was registered.',
  },
  {
    what: 'a concurrency of 0',
    words: ['diff', 'x', '--concurrency', '0'],
    code: 3,
    message: '--concurrency must be a whole number from 1 to 64.',
  },
  {
    what: 'an invalid address',
    words: ['--url', 'nowhere', 'policy', 'show'],
    code: 3,
    message: 'The address of the gate must be an http or https URL, such as https://gate.example.',
  },
  {
    what: 'http to another machine',
    words: ['--url', 'http://gate.example', 'services', 'list'],
    code: 3,
    message: 'The address of the gate must begin with https://; tokens may be sent over http only to this machine.',
  },
  {
    what: 'a password over http',
    words: ['--url', 'https://gate.example', 'login', '--region', 'x', '--client-id', 'y', '--endpoint', 'http://pool.example'],
    code: 3,
    message: '--endpoint must be an https address; plain http is allowed only for this machine.',
  },
  {
    what: 'silence',
    words: ['--url', 'http://127.0.0.1:9', 'policy', 'show'],
    code: 5,
    message: 'Nothing answers at http://127.0.0.1:9. Check the address, and whether the gate is running.',
  },
  {
    what: 'no login',
    words: ['--url', 'http://127.0.0.1:9', 'agents', 'show', 'x'],
    code: 4,
    message: 'You are not signed in to http://127.0.0.1:9. Sign in with: npx intent-gate login --url http://127.0.0.1:9',
  },
])('$what makes a command exit with $code', async ({ words, code, message }) => {
  const outcome = await run(words);
  expect(outcome).toMatchObject({ code, stdout: '' });
  expect(outcome.stderr.split('\n')[0]).toBe(message);
});
