import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';

test('a Node.js without it is told what it lacks', async () => {
  const code = `(await import('./functions/core/search/sqlite/database.ts')).requireFullTextSearch()`;
  const run = promisify(execFile)(process.execPath, ['--no-experimental-sqlite', '--input-type=module', '-e', code]);
  await expect(run).rejects.toMatchObject({
    stderr: expect.stringContaining(`search needs the module node:sqlite, which Node.js ${process.version} lacks. Use Node.js 24 or later`),
  });
});
