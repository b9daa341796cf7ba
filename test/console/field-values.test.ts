import { describe, expect, test } from '@jest/globals';
import { type Field, readFields, readParameters, typeValue, typeValues } from '../../console/app/field-values.ts';
import { exampleValues } from '../../console/app/nested.ts';
import type { Parameter } from '../../schemas/parameter.ts';

const definitions: Parameter[] = [
  { name: 'text', type: 'string', required: true, maxLength: 5 },
  { name: 'count', type: 'integer', minimum: 1 },
  { name: 'flag', type: 'boolean' },
  { name: 'choice', type: 'string', enum: ['one', 'two'] },
  { name: 'list', type: 'array' },
  { name: 'any', type: 'any' },
];

describe('typed text', () => {
  test("typed text becomes values of the parameters' types", () => {
    const typed = { text: 'a', count: ' 3 ', flag: 'true', choice: '"two"', list: '["x"]', any: 'not JSON' };
    const parameters = { text: 'a', count: 3, flag: true, choice: 'two', list: ['x'], any: 'not JSON' };
    expect(readParameters(definitions, typed)).toEqual({ values: parameters, issues: [] });
    expect(readParameters(definitions, typeValues(definitions, parameters)).values).toEqual(parameters);
  });

  test.each([
    ['count', '12345678901234567890'],
    ['any', '1.10'],
    ['list', '[1.10,12345678901234567890]'],
  ])('typed text keeps all digits: %s', (name, text) => {
    const { values, issues } = readParameters(definitions, { text: 'a', [name]: text });
    expect(issues).toEqual([]);
    expect(JSON.stringify(values[name])).toBe(text);
    expect(typeValues(definitions, values)[name]?.replace(/\s/g, '')).toBe(text);
  });

  test('an empty text is omitted, and problems are worded as by the gate', () => {
    expect(readParameters(definitions, { text: '', count: '0' })).toEqual({
      values: { count: 0 },
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
  ])('a text for the field %s is refused: %s %s', (name, text, problem) => {
    expect(readParameters(definitions, { text: 'a', [name]: text }).issues).toEqual([{ path: `/parameters/${name}`, problem }]);
  });
});

test.each([
  [{ type: 'array', control: 'list' }, 'a, b', ['a', 'b']],
  [{ type: 'boolean', control: 'check' }, 'true', true],
  [{ type: 'object' }, '{\n  "a": 1\n}', { a: 1 }],
  [{ type: 'null' }, 'null', null],
] satisfies [Omit<Field, 'name'>, string, unknown][])('a field of a record reads %j as %j', (shape, text, value) => {
  const field: Field = { name: 'member', ...shape };
  expect(readFields([field], { member: text }).values).toEqual({ member: value });
  expect(typeValue(field, value)).toBe(text);
});

test('an example has the required parameters', () => {
  expect(exampleValues(definitions)).toEqual({ text: '…' });
});
