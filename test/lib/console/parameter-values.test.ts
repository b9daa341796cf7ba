import { describe, expect, test } from '@jest/globals';
import { exampleValues, readValues, typeValues } from '../../../lib/console/app/parameter-values.ts';
import type { Parameter } from '../../../schemas/parameter.ts';

const definitions: Parameter[] = [
  { name: 'text', type: 'string', required: true, maxLength: 5 },
  { name: 'count', type: 'integer', minimum: 1 },
  { name: 'flag', type: 'boolean' },
  { name: 'choice', type: 'string', enum: ['one', 'two'] },
  { name: 'list', type: 'array' },
  { name: 'any', type: 'any' },
];

describe('what is typed', () => {
  test('becomes values of the types that the intent takes', () => {
    const typed = { text: 'a', count: ' 3 ', flag: 'true', choice: '"two"', list: '["x"]', any: 'not JSON' };
    const parameters = { text: 'a', count: 3, flag: true, choice: 'two', list: ['x'], any: 'not JSON' };
    expect(readValues(definitions, typed)).toEqual({ parameters, issues: [] });
    expect(readValues(definitions, typeValues(definitions, parameters)).parameters).toEqual(parameters);
  });

  test.each([
    ['count', '12345678901234567890'],
    ['any', '1.10'],
    ['list', '[1.10,12345678901234567890]'],
  ])('keeps every digit: %s', (name, text) => {
    const { parameters, issues } = readValues(definitions, { text: 'a', [name]: text });
    expect(issues).toEqual([]);
    expect(JSON.stringify(parameters[name])).toBe(text);
    expect(typeValues(definitions, parameters)[name]).toBe(text);
  });

  test('is left out where a field is empty, and told of in the words of the gate', () => {
    expect(readValues(definitions, { text: '', count: '0' })).toEqual({
      parameters: { count: 0 },
      issues: [
        { path: '/parameters/text', problem: 'is required and must be a string' },
        { path: '/parameters/count', problem: 'must be at least 1' },
      ],
    });
  });

  test.each([
    ['count', 'three', 'must be a number, such as 3 or 2.5'],
    ['list', 'x', 'must be a list in JSON, such as ["a", "b"]'],
    ['flag', 'yes', 'must be true or false'],
  ])('%s: %s', (name, text, problem) => {
    expect(readValues(definitions, { text: 'a', [name]: text }).issues).toEqual([{ path: `/parameters/${name}`, problem }]);
  });
});

test('an example has what is required', () => {
  expect(exampleValues(definitions)).toEqual({ text: '…' });
});
