import { execFileSync } from 'node:child_process';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from '@jest/globals';
import { createProgram } from '../../../bin/cli/program.ts';
import { openTerminal } from '../../../bin/cli/terminal.ts';
import { makeFolder } from '../../support/folder.ts';
import { openCommandLine } from './command-line.ts';

const { run } = await openCommandLine(makeFolder());

/** A terminal of this width, and what is written to its stdout. */
function openWith(columns: number | undefined) {
  const stdout = Object.assign(new PassThrough(), columns === undefined ? {} : { isTTY: true, columns });
  const terminal = openTerminal('text', { ...process, stdout } as unknown as typeof process);
  return { terminal, stdout, written: () => String(stdout.read()) };
}

const rows = [
  ['01M85BA8ACA6JFVXZ7BHD03GE5', 'An agent', 'payments.example:refund:v1', ''],
  ['01M85BA8ACA6JFVXZ7BHD03GE6', 'Another', 'world.example:get-country:v1', 'late'],
];

test.each<[string, number | undefined, string]>([
  ['a file', undefined, 'Id                          Agent     Intent                        State\n'],
  ['a terminal of 100 columns', 100, 'Id                          Agent     Intent                        State\n'],
  [
    'a terminal of 60 columns',
    60,
    'Id\n  Agent\n  Intent\n  State\n01M85BA8ACA6JFVXZ7BHD03GE5\n  An agent\n  payments.example:refund:v1\n01M85BA8ACA6JFVXZ7BHD03GE6\n',
  ],
])('a table that does not fit is printed with a cell per line: %s', (_, columns, begin) => {
  const { terminal, written } = openWith(columns);
  terminal.list(['Id', 'Agent', 'Intent', 'State'], rows, []);
  const text = written();
  expect(text.slice(0, begin.length)).toBe(begin);
  if (columns !== undefined) for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(columns);
});

test('a command with --watch ends once nobody reads its output', async () => {
  const { terminal, stdout } = openWith(undefined);
  let times = 0;
  await terminal.watch(true, async () => {
    times++;
    stdout.emit('error', new Error('EPIPE'));
  });
  expect(times).toBe(1);
});

test.each([
  ['xterm', true],
  ['dumb', false],
])('a command with --watch clears the screen if the terminal can do so: %s', async (name, clears) => {
  const { terminal, stdout, written } = openWith(80);
  const { TERM } = process.env;
  process.env.TERM = name;
  await terminal.watch(true, async () => {
    terminal.say('now');
    stdout.emit('error', new Error('EPIPE'));
  });
  if (TERM === undefined) delete process.env.TERM;
  else process.env.TERM = TERM;
  expect(written()).toBe(clears ? '\u001b[2J\u001b[Hnow\n' : 'now\n');
});

describe('completion', () => {
  test.each<[string, string[], number, string[]]>([
    ['a command', ['ser'], 1, ['services']],
    ['a subcommand', ['services', 'cre'], 2, ['create', 'credential']],
    ['a subcommand of a subcommand', ['services', 'credential', 'rem'], 3, ['remove']],
    ['an option', ['policy', 'publish', '--dr'], 3, ['--dry-run']],
    ['an option of the program', ['policy', 'publish', '--js'], 3, ['--json']],
    ['a command after options', ['--json', 'history', 'u'], 3, ['undo']],
    ['an option after an argument', ['services', 'show', 'Tides', '--h'], 4, ['--help']],
  ])('bash completes %s', async (_, given, at, completed) => {
    const words = ['intent-gate', ...given];
    const { stdout: script } = await run(['completion', 'bash']);
    const ask = `COMP_WORDS=("$@"); COMP_CWORD=${at}; _intent_gate; printf '%s\n' "\${COMPREPLY[@]}"`;
    const found = execFileSync('bash', ['-c', `${script}\n${ask}`, 'bash', ...words], { encoding: 'utf8' });
    expect(found.trim().split('\n')).toEqual(completed);
  });

  test.each(['zsh', 'fish'])('the script for %s has every command', async (shell) => {
    const { code, stdout } = await run(['completion', shell]);
    expect(code).toBe(0);
    for (const command of createProgram().commands) expect(stdout).toContain(`' ${command.name()}'`);
  });

  test('an unknown shell is refused, and the choices are named', async () => {
    expect(await run(['completion', 'tcsh'])).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('Allowed choices are bash, zsh, fish.'),
    });
  });
});
