import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { plantedBugs } from './planted.ts';
import { scenarios } from './scenarios.ts';
import { trials } from './trials.ts';

test('every condition and every planted bug is looked for in something that exists', () => {
  const names = new Set([...scenarios, ...trials].map(({ name }) => name));
  const needed: Record<string, [scenario: string, steps: string]> = JSON.parse(readFileSync('test/world/needed.json', 'utf8'));
  expect(Object.values(needed).filter(([scenario]) => !names.has(scenario))).toEqual([]);
  expect(plantedBugs.filter(({ caughtBy }) => !names.has(caughtBy))).toEqual([]);
  expect(plantedBugs.filter(({ file, line }) => readFileSync(file, 'utf8').split(line).length !== 2).map(({ name }) => name)).toEqual([]);
  const proofs = readFileSync('docs/proofs.md', 'utf8');
  expect([...proofs.matchAll(/^\| (.+) \| [\d,]+ \|$/gm)].map(([, name]) => name)).toEqual(plantedBugs.map(({ name }) => name));
});
