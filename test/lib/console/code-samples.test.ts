import { execFileSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { listSamples, quote, toPython } from '../../../lib/console/app/code-samples.ts';

const hostile = `it's "quoted" $(id) \`id\` \\ \n end`;

test('a word of the shell is what it was', () => {
  for (const word of [hostile, '', 'plain', '--option', '~', '*']) {
    expect(execFileSync('sh', ['-c', `printf %s ${quote(word)}`], { encoding: 'utf8' })).toBe(word);
  }
});

test('the body of the curl command is JSON that was not touched', () => {
  const { curl = '' } = listSamples('https://gate.example', 'a.example:b:v1', { text: hostile });
  const printed = execFileSync(
    'sh',
    ['-c', curl.replace(/^#.*\n/, '').replace('curl', 'f() { for last; do :; done; printf %s "$last"; }; f')],
    {
      encoding: 'utf8',
      env: { PAT: 'pat' },
    },
  );
  expect(JSON.parse(printed)).toEqual({ intent_uid: 'a.example:b:v1', parameters: { text: hostile } });
});

test('values are written as Python has them', () => {
  expect(toPython({ a: [null, true, false, 1.5, 'x"y'] })).toBe('{"a": [None, True, False, 1.5, "x\\"y"]}');
});
