import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { startStack } from '../../bin/local/stack.ts';
import { installPythonClient } from '../support/python.ts';

/** Pages that test/bin/cli/stack.check.ts runs, with a logged-in command line, test/client/package.check.ts, with the client as a package,
 * or test/hosts, with the frameworks. */
const elsewhere = ['docs/command-line.md', 'docs/import.md', 'docs/frameworks.md'];

const python = await installPythonClient();

const pages = ['README.md', ...globSync('docs/*.md'), ...(python ? ['client/python/README.md'] : [])].filter(
  (page) => !elsewhere.includes(page),
);

const blocksOf = (page: string, language: string): string[] =>
  [...readFileSync(page, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code = '']) => code);

/** The commands of a page are run one after the other in one shell; programs are run separately. */
const programs = pages.flatMap((page) => {
  const commands = blocksOf(page, 'sh').join('\n');
  return [
    ...(commands ? [{ page, file: 'page.sh', command: ['bash', '-euo', 'pipefail'], code: commands }] : []),
    // test/lib/construct.check.ts runs the app of another team, with the packed construct installed
    ...blocksOf(page, 'ts')
      .filter((code) => !code.includes("'intent-gate-cdk'"))
      .map((code) => ({ page, file: 'block.ts', command: [process.execPath], code })),
    ...blocksOf(page, 'python').map((code) => ({ page, file: 'block.py', command: [join('.venv', 'bin', 'python')], code })),
  ];
});

const stack = await startStack({ port: 0, quiet: true });
const folder = mkdtempSync(join(tmpdir(), 'intent-gate-docs-'));
for (const entry of ['bin', 'client', 'functions', 'lib', 'node_modules', 'samples', 'schemas', 'package.json'])
  symlinkSync(resolve(entry), join(folder, entry));
if (python) symlinkSync(python.folder, join(folder, '.venv'));
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await stack.stop();
  await python?.remove();
});

test.each(programs)(
  'the $language blocks of $page do what they say',
  async ({ file, command: [program = '', ...options], code }) => {
    const path = join(folder, file);
    writeFileSync(path, code);
    const { stdout } = await promisify(execFile)(program, [...options, path], {
      cwd: folder,
      env: {
        ...process.env,
        // keys belong into the folder of a person, and a test has its own
        HOME: folder,
        BASE_URL: stack.base_url,
        INTENT_GATE_URL: stack.base_url,
        INTENT_GATE_TOKEN: stack.admin_token,
        PROJECT: resolve('.'),
        PATH: [resolve('node_modules/.bin'), process.env.PATH].join(delimiter),
      },
      timeout: 90_000,
    });
    expect(stdout).not.toContain('"error":');
  },
  120_000,
);

test('there are programs to run', () => {
  expect(programs.length).toBeGreaterThan(5);
});
