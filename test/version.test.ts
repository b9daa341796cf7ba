import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { environmentOf } from '../lib/environment.ts';
import type { Resources } from '../lib/permissions.ts';
import { parseSettings } from '../lib/settings.ts';

const read = (file: string): string => readFileSync(file, 'utf8');
const { version } = JSON.parse(read('package.json'));

test.each<[string, () => unknown]>([
  ['the OpenAPI document', () => JSON.parse(read('openapi.json')).info.version],
  ['the client', () => JSON.parse(read('client/package.json')).version],
  ['the client in Python', () => /^version = "(.+)"$/m.exec(read('client/python/pyproject.toml'))?.[1]],
  [
    'the environment of functions',
    () => environmentOf({}, 'none', parseSettings({}), { features: [] as Resources['features'] } as Resources).INTENT_GATE_VERSION,
  ],
  ['the command line', () => execFileSync(process.execPath, ['bin/intent-gate.js', '--version'], { encoding: 'utf8' }).trim()],
  ['the changelog', () => /^## \[(\d.*?)\]/m.exec(read('CHANGELOG.md'))?.[1]],
])('%s says the version of package.json', (_, find) => {
  expect(find()).toBe(version);
});
