import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { drawDiagram, readDiagram } from '../../../tools/pictures/diagram.ts';

const source = readFileSync('docs/pictures/way-of-a-call.txt', 'utf8');

test.each(['light', 'dark'] as const)('the diagram of the README matches its source (%s)', (scheme) => {
  const drawn = drawDiagram(readDiagram(source), 'The way of a call', scheme);
  // npm run screenshots writes it
  expect(readFileSync(`docs/pictures/way-of-a-call-${scheme}.svg`, 'utf8')).toBe(drawn);
});

test('texts are escaped', () => {
  expect(drawDiagram(readDiagram('a, b\na -> b: <script>&'), '<b>', 'light')).not.toMatch(/<script|<b>/);
});

test.each(['a, b\nc -> b: x', 'a, b\na -> c: x', 'a, b\nnothing'])('an invalid line is refused: %j', (text) => {
  expect(() => readDiagram(text)).toThrow(TypeError);
});
