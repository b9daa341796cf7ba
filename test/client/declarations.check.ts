import { execFile } from 'node:child_process';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { IntentInput } from '../../schemas/intent.ts';
import { openCommandLine } from '../bin/cli/command-line.ts';
import { makeFolder } from '../support/folder.ts';
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
const folder = makeFolder();

/** mypy's cache, shared between runs. */
const mypyCache = resolve('node_modules/.cache/intent-gate/mypy');

const inFolder = (...parts: string[]) => join(folder, ...parts);

beforeAll(async () => {
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

/** The output of a checker for calls that the declarations allow, and for calls that they do not, each with its message. */
interface Dialect {
  program(calls: string): string;
  right: string;
  wrong: [what: string, call: string, message: string][];
  check(isDeclared: boolean): Promise<string>;
  file: string;
  /** the beginning of an error in a line */
  errorAt(line: number): string;
}

const typescript: Dialect = {
  file: 'program.ts',
  program: (calls) => `import { connect, type Intent } from 'intent-gate-client';
const gate = await connect('https://gate.example', { agentId: 'a', onPolicy: () => true });
declare const found: Intent;
declare const text: string;
${calls}
export { gate, found, text };
`,
  right: `
const { id, note } = await gate.execute('a.example:create-issue:v1', { title: 'x', state: 'it"s\\n', count: 9007199254740993n, labels: ['y'] });
export const [number, remark]: [number, string | undefined] = [id, note];
await gate.execute('a.example:strange:v1', ${JSON.stringify(Object.fromEntries(strange.map((name) => [name, true])))});
await gate.execute('a.example:nothing:v1', {});
await gate.execute(found, { anything: 1 });
await gate.execute(text, { anything: 1 });
export const some: number | undefined = (await gate.execute('a.example:create-issue:v1', { title: 'x' }, { fields: ['/note'] })).id;
`,
  wrong: [
    ['a uid that does not exist', `gate.execute('a.example:creat-issue:v1', { title: 'x' })`, 'is not assignable'],
    ['a deprecated intent', `gate.execute('a.example:old:v1', { code: 'x' })`, 'is not assignable'],
    ['a missing parameter', `gate.execute('a.example:create-issue:v1', {})`, "Property 'title' is missing"],
    [
      'a parameter of another type',
      `gate.execute('a.example:create-issue:v1', { title: 1 })`,
      "'number' is not assignable to type 'string'",
    ],
    ['a value not in the enum', `gate.execute('a.example:create-issue:v1', { title: 'x', state: 'shut' })`, `'"shut"' is not assignable`],
    ['a parameter that does not exist', `gate.execute('a.example:nothing:v1', { title: 'x' })`, 'is not assignable'],
    ['a misspelt parameter', `gate.execute('a.example:create-issue:v1', { title: 'x', stat: 'open' })`, "'stat' does not exist"],
    ['an answer of another type', `(await gate.execute('a.example:create-issue:v1', { title: 'x' })).id satisfies string`, "'string'"],
    [
      'a member that may be left out of the answer',
      `(await gate.execute('a.example:create-issue:v1', { title: 'x' }, { fields: ['/note'] })).id satisfies number`,
      "'number | undefined'",
    ],
  ],
  check: async (isDeclared) => {
    const options = ['--strict', '--exactOptionalPropertyTypes', '--target', 'es2022', '--module', 'nodenext', '--noEmit', '--types', ''];
    const args = [resolve('node_modules/typescript/bin/tsc'), '--ignoreConfig', ...options, 'program.ts'];
    return said(run(process.execPath, isDeclared ? [...args, 'intents.d.ts'] : args, { cwd: folder }));
  },
  errorAt: (line) => `program.ts(${line},`,
};

const pythonDialect: Dialect = {
  file: 'program.py',
  program: (calls) => `from intent_gate import AsyncIntentGate, IntentGate, Key, Refusal, issues_of

gate = IntentGate("https://gate.example", "a", Key(bytes(32)), lambda policy, in_words: True)

${calls}
`,
  right: `
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
`,
  wrong: [
    ['a uid that does not exist', 'gate.execute("a.example:creat-issue:v1", {"title": "x"})', 'No overload variant'],
    ['a missing parameter', 'gate.execute("a.example:create-issue:v1", {})', 'No overload variant'],
    ['a parameter of another type', 'gate.execute("a.example:create-issue:v1", {"title": 1})', 'No overload variant'],
    ['a value not in the enum', 'gate.execute("a.example:create-issue:v1", {"title": "x", "state": "shut"})', 'No overload variant'],
    ['an answer of another type', 'text: str = gate.execute("a.example:create-issue:v1", {"title": "x"})["id"]', 'has type "int"'],
    ['a misspelt code', 'same = Refusal("FORBIDDEN", "").code == "FORBIDEN"', 'Non-overlapping equality check'],
  ],
  check: async (isDeclared) => {
    const args = ['-m', 'mypy', '--strict', '--cache-dir', mypyCache, '--python-executable', `${client}/bin/python`, 'program.py'];
    const env = { ...process.env, MYPYPATH: isDeclared ? inFolder('typings') : '' };
    return said(run(mypy ?? '', args, { cwd: folder, env }));
  },
  errorAt: (line) => `program.py:${line}: error`,
};

const said = (checking: Promise<unknown>): Promise<string> =>
  checking.then(
    () => '',
    ({ stdout }) => stdout,
  );

describe.each([
  ['TypeScript', typescript, true],
  ['Python', pythonDialect, mypy !== undefined],
] as const)('in %s', (_, { file, program, right, wrong, check, errorAt }, isPossible) => {
  const given = isPossible ? test : test.skip;

  given('what is declared is accepted, and what contradicts the declarations is not', async () => {
    await writeFile(inFolder(file), program([...wrong.map(([, call]) => call), right].join(';\n')));
    const errors = (await check(true)).split('\n').filter((line) => line.startsWith(file));
    // the calls follow four lines
    const found = wrong.map((_row, at) => errors.filter((line) => line.startsWith(errorAt(at + 5))));
    expect(found.map((own, at) => [wrong[at]?.[0], own.join()])).toEqual(
      wrong.map(([what, , message]) => [what, expect.stringContaining(message)]),
    );
    expect(errors.filter((line) => line.includes('error') && !found.flat().includes(line))).toEqual([]);
  });

  given('without declarations, calls are accepted', async () => {
    const [, call = ''] = wrong[0] ?? [];
    await writeFile(inFolder(file), program(call.replace("'x'", '1').replace('"x"', '1')));
    expect(await check(false)).toBe('');
  });
});
