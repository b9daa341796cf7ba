import { execFile } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import { errorTable } from '../../schemas/errors.ts';
import { installPythonClient, installTools } from '../support/python.ts';

const run = promisify(execFile);

test("the codes of the Python client are those of the gate's table", () => {
  const [, list = ''] = /^GateErrorCode = Literal\[(.*?)^\]/ms.exec(readFileSync('client/python/intent_gate/errors.py', 'utf8')) ?? [];
  expect([...list.matchAll(/"(\w+)"/g)].map(([, code]) => code).sort()).toEqual(Object.keys(errorTable).sort());
});

const before = globSync('client/python/**');
const client = await installPythonClient();
const mypy = client && (await installTools(['mypy==2.4.1'], 'The types of the Python client are not checked'));

(client ? describe : describe.skip)('as pip installs it', () => {
  test('an installation of the Python client by pip leaves nothing in the checkout', () => {
    const isNoise = (path: string) => path.includes('__pycache__') || path.includes('.mypy_cache');
    expect(globSync('client/python/**').filter((path) => !before.includes(path) && !isNoise(path))).toEqual([]);
    expect(before.filter((path) => /\/(build|dist)$|egg-info/.test(path))).toEqual([]);
  });

  test('the installed Python client declares that it has types', async () => {
    const where = 'import os, intent_gate; print(os.path.exists(os.path.join(os.path.dirname(intent_gate.__file__), "py.typed")))';
    expect((await run(`${client}/bin/python`, ['-c', where])).stdout).toBe('True\n');
  });
});

(mypy ? describe : describe.skip)('for mypy', () => {
  test('the Python client is completely annotated for mypy', async () => {
    const args = [
      '-m',
      'mypy',
      '--strict',
      '--cache-dir',
      'node_modules/.cache/intent-gate/mypy',
      '--python-executable',
      `${client}/bin/python`,
    ];
    const { stdout } = await run(mypy ?? '', [...args, 'client/python/intent_gate']).catch((error) => error);
    expect(stdout).toMatch(/^Success: no issues found in \d+ source files\n$/);
  });
});
