import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { IntentInput } from '../../schemas/intent.ts';
import { openCommandLine } from '../bin/cli/command-line.ts';
import { installPythonClient, installTools } from '../support/python.ts';
import { intentOf, serviceNamed } from '../support/records.ts';

const run = promisify(execFile);

const strange = ['class', "it's", 'a "quote"', 'x-y', '1st', '__proto_', '*/', 'from', '\\', '😀'];

const intents: IntentInput[] = [
  intentOf('a.example:create-issue:v1', {
    intent_name: 'Create an issue',
    description: 'Creates it. And more.',
    input_parameters: [
      { name: 'title', type: 'string', required: true, description: '*/ What it is called' },
      { name: 'state', type: 'string', enum: ['open', 'closed', 'it"s\n'] },
      { name: 'count', type: 'integer' },
      { name: 'labels', type: 'array' },
      { name: 'page', type: 'integer', required: true, default: 1 },
    ],
    output_parameters: [
      { name: 'id', type: 'integer', required: true },
      { name: 'note', type: 'string' },
    ],
  }),
  intentOf('a.example:strange:v1', { input_parameters: strange.map((name) => ({ name, type: 'boolean', required: true })) }),
  intentOf('a.example:nothing:v1', { input_parameters: [], output_parameters: [] }),
  intentOf('a.example:old:v1', { deprecated: true }),
];

const client = await installPythonClient();
const mypy = client && (await installTools(['mypy==2.4.1'], 'The stubs of intents are not checked'));
let folder: string;

const inFolder = (...parts: string[]) => join(folder, ...parts);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'intent-gate-declarations-'));
  const installed = inFolder('node_modules', 'intent-gate-client');
  await run(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', 'client', '--outDir', join(installed, 'dist')]);
  await cp('client/package.json', join(installed, 'package.json'));
  await writeFile(inFolder('package.json'), '{ "type": "module" }');
  await writeFile(inFolder('registry.json'), JSON.stringify({ registry: 1, services: [{ ...serviceNamed('A'), intents }] }));
  await mkdir(inFolder('typings', 'intent_gate'), { recursive: true });
  const { run: intentGate } = await openCommandLine(folder);
  const outcomes = [
    await intentGate(['types', 'registry.json', '-o', 'intents.d.ts']),
    await intentGate(['types', 'registry.json', '--service', 'a', '--language', 'python', '-o', 'typings/intent_gate/__init__.pyi']),
    await intentGate(['types', 'registry.json', '--service', 'nobody']),
    await intentGate(['types', 'registry.json', '--language', 'cobol']),
  ];
  const written = { code: 0, stdout: '', stderr: '3 intents. Skipped 1 deprecated or draft.\n' };
  expect(outcomes).toEqual([
    written,
    written,
    { code: 1, stdout: '', stderr: 'The file has no service called nobody.\n' },
    { code: 3, stdout: '', stderr: expect.stringContaining('Allowed choices are typescript, python.') },
  ]);
}, 120_000);
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('in TypeScript', () => {
  const program = (call: string) => `import { connect, type Intent } from 'intent-gate-client';
const gate = await connect('https://gate.example', { agentId: 'a', onPolicy: () => true });
declare const found: Intent;
declare const text: string;
${call}
export { gate, found, text };
`;

  async function compile(call: string, files: string[]): Promise<string> {
    await writeFile(inFolder('program.ts'), program(call));
    const options = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--module', 'nodenext', '--noEmit', '--types', ''];
    const args = [resolve('node_modules/typescript/bin/tsc'), '--ignoreConfig', ...options, 'program.ts', ...files];
    return run(process.execPath, args, { cwd: folder }).then(
      () => '',
      ({ stdout }) => stdout,
    );
  }

  const right = `
const { id, note } = await gate.execute('a.example:create-issue:v1', { title: 'x', state: 'it"s\\n', count: 9007199254740993n, labels: ['y'] });
export const [number, remark]: [number, string | undefined] = [id, note];
await gate.execute('a.example:strange:v1', ${JSON.stringify(Object.fromEntries(strange.map((name) => [name, true])))});
await gate.execute('a.example:nothing:v1', {});
await gate.execute(found, { anything: 1 });
await gate.execute(text, { anything: 1 });
export const some: number | undefined = (await gate.execute('a.example:create-issue:v1', { title: 'x' }, { fields: ['/note'] })).id;
`;

  test('what is declared compiles', async () => {
    expect(await compile(right, ['intents.d.ts'])).toBe('');
  });

  const wrong: [string, string, string][] = [
    [
      'a uid that does not exist',
      `await gate.execute('a.example:creat-issue:v1', { title: 'x' });`,
      '\'"a.example:creat-issue:v1"\' is not assignable',
    ],
    ['a deprecated intent', `await gate.execute('a.example:old:v1', { code: 'x' });`, 'is not assignable'],
    ['a missing parameter', `await gate.execute('a.example:create-issue:v1', {});`, "Property 'title' is missing"],
    [
      'a parameter of another type',
      `await gate.execute('a.example:create-issue:v1', { title: 1 });`,
      "'number' is not assignable to type 'string'",
    ],
    [
      'a value that is not in the enum',
      `await gate.execute('a.example:create-issue:v1', { title: 'x', state: 'shut' });`,
      `'"shut"' is not assignable`,
    ],
    ['a parameter that does not exist', `await gate.execute('a.example:nothing:v1', { title: 'x' });`, 'is not assignable'],
    ['a misspelt parameter', `await gate.execute('a.example:create-issue:v1', { title: 'x', stat: 'open' });`, "'stat' does not exist"],
    [
      'an answer of another type',
      `export const id: string = (await gate.execute('a.example:create-issue:v1', { title: 'x' })).id;`,
      "'number' is not assignable to type 'string'",
    ],
    [
      'a member that may be left out of the answer',
      `export const id: number = (await gate.execute('a.example:create-issue:v1', { title: 'x' }, { fields: ['/note'] })).id;`,
      "'number | undefined' is not assignable to type 'number'",
    ],
  ];

  test('what contradicts the declarations does not', async () => {
    const calls = wrong.map(([, call]) => `{ ${call.replace('export ', '')} }`);
    const lines = (await compile(calls.join('\n'), ['intents.d.ts'])).split('\n');
    // the calls follow four lines
    const said = wrong.map(([what], at) => [what, lines.filter((line) => line.startsWith(`program.ts(${at + 5},`)).join()]);
    expect(said).toEqual(wrong.map(([what, , message]) => [what, expect.stringContaining(message)]));
  });

  test('without declarations, calls compile', async () => {
    const calls = wrong.filter(([, call]) => !call.startsWith('export')).map(([, call]) => call);
    expect(await compile([...calls, 'await gate.execute(found, {});'].join('\n'), [])).toBe('');
  });
});

(mypy ? describe : describe.skip)('in Python', () => {
  const program = (call: string) => `from intent_gate import AsyncIntentGate, IntentGate, Key, Refusal, issues_of

gate = IntentGate("https://gate.example", "a", Key(bytes(32)), lambda policy, in_words: True)
${call}
`;

  async function check(call: string, typings: string | undefined): Promise<string> {
    await writeFile(inFolder('program.py'), program(call));
    const args = ['-m', 'mypy', '--strict', '--cache-dir', '/dev/null', '--python-executable', `${client}/bin/python`, 'program.py'];
    const env = { ...process.env, MYPYPATH: typings === undefined ? '' : inFolder(typings) };
    return run(mypy ?? '', args, { cwd: folder, env }).then(
      () => '',
      ({ stdout }) => stdout,
    );
  }

  const right = `
answer = gate.execute("a.example:create-issue:v1", {"title": "x", "state": 'it"s\\n', "labels": ["y"]}, fields=["/id"])
number: int = answer["id"]
place: str = issues_of(answer)[0]
gate.execute("a.example:strange:v1", {${strange.map((name) => `${JSON.stringify(name)}: True`).join(', ')}})
gate.execute("a.example:nothing:v1", {})
gate.execute(gate.search("x")["intents"][0]["intent_uid"], {"anything": 1})


async def main() -> int:
    awaited = AsyncIntentGate("https://gate.example", "a", Key(bytes(32)), lambda policy, in_words: True)
    return (await awaited.execute("a.example:create-issue:v1", {"title": "x"}))["id"]


def code_of(error: Refusal) -> bool:
    return error.code == "INVALID_PARAMETER"
`;

  test('what is declared is accepted', async () => {
    expect(await check(right, 'typings')).toBe('');
  });

  const wrong: [string, string, string][] = [
    ['a uid that does not exist', 'gate.execute("a.example:creat-issue:v1", {"title": "x"})', 'No overload variant'],
    ['a missing parameter', 'gate.execute("a.example:create-issue:v1", {})', 'No overload variant'],
    ['a parameter of another type', 'gate.execute("a.example:create-issue:v1", {"title": 1})', 'No overload variant'],
    ['a value not in the enum', 'gate.execute("a.example:create-issue:v1", {"title": "x", "state": "shut"})', 'No overload variant'],
    ['an answer of another type', 'number: str = gate.execute("a.example:create-issue:v1", {"title": "x"})["id"]', 'has type "int"'],
    ['a misspelt code', 'same = Refusal("FORBIDDEN", "").code == "FORBIDEN"', 'Non-overlapping equality check'],
  ];

  test('what contradicts the declarations is not', async () => {
    const lines = (await check(wrong.map(([, call]) => call).join('\n'), 'typings')).split('\n');
    // the calls follow three lines
    const said = wrong.map(([what], at) => [what, lines.filter((line) => line.startsWith(`program.py:${at + 4}: error`)).join()]);
    expect(said).toEqual(wrong.map(([what, , message]) => [what, expect.stringContaining(message)]));
  });

  test('without declarations, calls are accepted', async () => {
    expect(await check('gate.execute("a.example:creat-issue:v1", {"title": 1})', undefined)).toBe('');
  });
});
