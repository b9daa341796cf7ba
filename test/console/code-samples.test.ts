import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { listSamples, toPython } from '../../console/app/code-samples.ts';
import { operand, quote } from '../../registry/shell-words.ts';
import { makeFolder } from '../support/folder.ts';

const hostile = `it's "quoted" $(id) \`id\` \\ \n end`;

test('the shell reads a quoted word unchanged', () => {
  for (const word of [hostile, '', 'plain', '--option', '~', '*']) {
    expect(execFileSync('sh', ['-c', `printf %s ${quote(word)}`], { encoding: 'utf8' })).toBe(word);
  }
});

test.each([
  ['plain', '<plain>'],
  ['-x', '<--><-x>'],
  ['--yes', '<--><--yes>'],
  ["-it's", "<--><-it's>"],
  ['=ls', '<=ls>'],
])('an operand is never read as an option: %s', (word, expected) => {
  expect(execFileSync('sh', ['-c', `words() { printf '<%s>' "$@"; }; words ${operand(word)}`], { encoding: 'utf8' })).toBe(expected);
});

test('zsh does not expand a word that begins with =', () => expect(quote('=ls')).toBe("'=ls'"));

const blockOf = (page: string, language: string, start: string): string =>
  [...readFileSync(page, 'utf8').matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))]
    .map(([, code = '']) => code)
    .find((code) => code.startsWith(start)) ?? '';

/** Samples with the values that replace the search in the READMEs. */
const samples = listSamples('http://127.0.0.1:8080', 'UID', { time_zone: 'Asia/Tokyo' });

test('the programs are those of the READMEs, which other tests run', () => {
  const typescript = blockOf('client/README.md', 'ts', 'import {')
    .replace("process.env.BASE_URL ?? 'http://127.0.0.1:8080'", '"http://127.0.0.1:8080"')
    .replace(/const \[best\].*?\n\n/s, '')
    .replace("execute(best, { time_zone: 'Asia/Tokyo' })", 'execute("UID", {"time_zone":"Asia/Tokyo"})');
  expect(samples.TypeScript?.replace(/^(\/\/.*\n)+/, '')).toBe(typescript);
  const python = blockOf('client/python/README.md', 'python', 'import os')
    .replace('os.environ.get("BASE_URL", "http://127.0.0.1:8080")', '"http://127.0.0.1:8080"')
    .replace(/best = .*\n.*\n/, '')
    .replace('best["intent_uid"]', '"UID"');
  expect(samples.Python?.replace(/^(#.*\n)+/, '')).toBe(python);
  const commands = blockOf('docs/agents.md', 'sh', '(umask');
  expect(commands).toContain('PAT=');
  expect(samples.curl).toContain(`\n\n${commands}\n`);
});

test('the clients are installed from a checkout, as in the READMEs', () => {
  const [line = ''] = /^npm pack .*$/m.exec(readFileSync('client/README.md', 'utf8')) ?? [];
  expect(samples.TypeScript).toContain(`//   ${line}\n`);
  const commands = blockOf('client/python/README.md', 'sh', 'test -d .venv');
  const [, install = ''] = /^# {3}python3 -m venv .venv && (.*)$/m.exec(samples.Python ?? '') ?? [];
  expect(commands.replace(' --quiet', '')).toContain(install);
});

describe('a sample program declines a policy only for its duties to pay, and says which', () => {
  const pay = { action: 'pay', amount: 1, unit: 'EUR' };
  const approve = { action: 'https://gate.example/vocabulary/approve' };
  const policies = [
    {},
    { permission: [{}] },
    { permission: [{ duty: [approve] }] },
    { permission: [{ duty: [approve] }, { duty: [pay] }] },
  ];
  const answers = [true, true, true, false];

  test('TypeScript', () => {
    const [, onPolicy = ''] = /^ {2}onPolicy: (.*?^ {2}\}),$/ms.exec(samples.TypeScript ?? '') ?? [];
    const said: unknown[] = [];
    const decide = new Function('console', `return ${onPolicy}`)({ log: () => {}, error: (...words: unknown[]) => said.push(words) });
    expect(policies.map((policy) => decide(policy, []))).toEqual(answers);
    expect(said).toEqual([['This agent accepts no duty to pay:', [pay]]]);
  });

  test('Python', () => {
    const [onPolicy = ''] = /^def on_policy.*?(?=\n\n\n)/ms.exec(samples.Python ?? '') ?? [];
    const program = `import json\n${onPolicy}\nprint(*(on_policy(policy, ["-"]) for policy in json.loads(${JSON.stringify(JSON.stringify(policies))})))`;
    const said = execFileSync('python3', ['-c', program], { encoding: 'utf8' });
    expect(said).toBe(
      "-\n-\n-\n-\nThis agent accepts no duty to pay: {'action': 'pay', 'amount': 1, 'unit': 'EUR'}\nTrue True True False\n",
    );
  });
});

describe('parameters of every kind', () => {
  const parameters = {
    text: hostile,
    'a-name "with" quotes': [1, 2.5, -3e-7, true, false, null, ''],
    nested: { empty: {}, list: [{ at: { depth: ['\u2028', '☃', '\\u0000', '`tick`'] } }] },
  };
  const of = listSamples('https://gate.example', 'a.example:b:v1', parameters);
  const folder = makeFolder();

  test('the TypeScript sample compiles strictly with parameters of every kind', () => {
    const file = join(folder, 'sample.mts');
    writeFileSync(file, (of.TypeScript ?? '').replace("'intent-gate-client'", JSON.stringify(resolve('client/connect.ts'))));
    const options =
      '--ignoreConfig --noEmit --strict --module nodenext --target es2024 --lib es2024,esnext,dom --allowImportingTsExtensions --types node';
    const roots = ['--typeRoots', resolve('node_modules/@types')];
    execFileSync(process.execPath, [resolve('node_modules/typescript/bin/tsc'), ...options.split(' '), ...roots, file], { stdio: 'pipe' });
  }, 60_000);

  test('the Python sample sends parameters of every kind unchanged', () => {
    const stub = `import json
class Key:
    agent_id = "agent"
    at = staticmethod(lambda path: Key())
class PolicyDeclined(Exception): pass
class Refusal(Exception): pass
class IntentGate:
    def __init__(self, *given): pass
    def execute(self, uid, parameters): return json.dumps([uid, parameters])
`;
    writeFileSync(join(folder, 'intent_gate.py'), stub);
    const sent = execFileSync('python3', ['-'], { input: of.Python, encoding: 'utf8', env: { ...process.env, PYTHONPATH: folder } });
    expect(JSON.parse(sent)).toEqual(['a.example:b:v1', parameters]);
  });

  test.each(['curl', 'MCP'])('the %s sample sends parameters of every kind unchanged', (name) => {
    const text = of[name] ?? '';
    const call = `curl() { for last; do :; done; printf %s "$last"; }\n${text.slice(text.lastIndexOf('\ncurl '))}`;
    const printed = JSON.parse(execFileSync('sh', ['-c', call], { encoding: 'utf8', env: { PATH: process.env.PATH } }));
    expect(name === 'MCP' ? printed.params.arguments : printed).toEqual({ intent_uid: 'a.example:b:v1', parameters });
  });
});

test('values are written as Python literals', () => {
  expect(toPython({ a: [null, true, false, 1.5, 'x"y'] })).toBe('{"a": [None, True, False, 1.5, "x\\"y"]}');
  expect(toPython([JSON.rawJSON('12345678901234567890')])).toBe('[12345678901234567890]');
});
