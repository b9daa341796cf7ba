import { execFile } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type RunningStack, startStack } from '../../bin/local/stack.ts';

/** How the code blocks of each language run: as one program a page, in the order of the page. */
const languages = {
  sh: { file: 'page.sh', command: ['bash', '-euo', 'pipefail'] },
  ts: { file: 'page.ts', command: [process.execPath] },
  python: { file: 'page.py', command: ['python3'] },
};

const pages = [...globSync('docs/*.md'), 'README.md', ...globSync('client/**/*.md', { exclude: ['**/node_modules/**'] })];

const programs = pages.flatMap((page) =>
  Object.entries(languages).flatMap(([language, how]) => {
    const blocks = [...readFileSync(page, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(([, code]) => code);
    return blocks.length > 0 ? [{ page, language, code: blocks.join('\n'), ...how }] : [];
  }),
);

let stack: RunningStack;
let folder: string;

beforeAll(async () => {
  stack = await startStack({ port: 0, quiet: true });
  folder = mkdtempSync(join(tmpdir(), 'intent-gate-docs-'));
}, 60_000);
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await stack.stop();
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
        BASE_URL: stack.base_url,
        INTENT_GATE_URL: stack.base_url,
        ADMIN_TOKEN: stack.admin_token,
        PROJECT: resolve('.'),
        PATH: [resolve('node_modules/.bin'), process.env.PATH].join(delimiter),
      },
      timeout: 60_000,
    });
    expect(stdout).not.toContain('"error":');
  },
  90_000,
);

test('the first call of the README tells of Japan', () => {
  expect(programs).toContainEqual(
    expect.objectContaining({ page: 'README.md', language: 'sh', code: expect.stringContaining('"code":"JP"') }),
  );
});
