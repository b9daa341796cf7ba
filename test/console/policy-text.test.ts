import { expect, test } from '@jest/globals';
import { type CompletionSchema, complete, openLines } from '../../console/app/admin/policy-text.ts';
import { policyFileSchema } from '../../lib/documents/policy-schema.ts';

const text = `{
  "type": "Set",
  "permission": [
    { "target": "a:b", "a/b~": 1 },
    {
      "target": "a:b",
      "constraint": [
        { "operator": "lte" }, { "operator": "," }
      ]
    }
  ]
}`;

test.each([
  ['', 1],
  ['/type', 2],
  ['/permission', 3],
  ['/permission/0/target', 4],
  ['/permission/0/a~1b~0', 4],
  ['/permission/1', 5],
  ['/permission/1/constraint/1/operator', 8],
  ['/permission/1/constraint/0/unit', 8],
  ['/permission/1/action', 5],
  ['/obligation/0', 1],
])('an issue at %j is in line %i', (path, line) => {
  expect(openLines(text)({ path, problem: 'must be given' })).toBe(line);
});

test('an issue with the JSON names its line itself', () => {
  expect(openLines('{\n"a" 1\n}')({ path: '', problem: 'must be JSON: at line 2, column 5, expected a colon' })).toBe(2);
});

const schema = policyFileSchema() as CompletionSchema;

/** Completes at the `|`. */
function completeAt(marked: string, isAsked = false) {
  const [before = '', after = ''] = marked.split('|');
  const { from, to, options } = complete(schema, before + after, before.length, isAsked) ?? { from: 0, to: 0, options: [] };
  const whole = before + after;
  return { names: options.map(({ name }) => name), accepted: whole.slice(0, from) + (options[0]?.inserted ?? '') + whole.slice(to) };
}

test.each([
  ['{"perm|', ['permission'], '{"permission": '],
  ['{\n  "perm|\n  "type": "Set"}', ['permission'], '{\n  "permission": \n  "type": "Set"}'],
  ['{"pe|rmi": []}', ['permission'], '{"permission": []}'],
  ['{"permission": [{"action": "|', ['execute'], '{"permission": [{"action": "execute"'],
  ['{"permission": {"action": "ex|"}}', ['execute'], '{"permission": {"action": "execute"}}'],
  ['{"permission": [{"duty": [{"action": "a|"}]}]}', ['approve'], '{"permission": [{"duty": [{"action": "approve"}]}]}'],
  ['{"permission": [{"action": "execute", "con|', ['constraint'], '{"permission": [{"action": "execute", "constraint": '],
  ['{"prohibition": [{"constraint": [{"operator": "lt|"}]}]}', ['lt', 'lte', 'lteq'], expect.anything()],
])('%j is completed with %j', (marked, names, accepted) => {
  expect(completeAt(marked)).toEqual({ names, accepted });
});

test('names that the object has already are not suggested', () => {
  expect(completeAt('{"permission": [{"target": "a:b", "|", "duty": []}]}').names).toEqual([
    'assignee',
    'action',
    'constraint',
    'uid',
    'type',
  ]);
});

test('outside of a string, names and terms are suggested only if asked for', () => {
  expect(completeAt('{"type": |}')).toMatchObject({ names: [] });
  expect(completeAt('{"type": |}', true)).toEqual({ names: ['Set', 'Offer', 'Agreement', 'Policy'], accepted: '{"type": "Set"}' });
  expect(completeAt('{"type": "Set"|}')).toMatchObject({ names: [] });
});

test('every option says what it means', () => {
  const { options } = complete(schema, '{"permission": [{"constraint": [{"leftOperand": "', 49) ?? { options: [] };
  expect(options).toContainEqual({ name: 'method', meaning: "The HTTP method of the intent's endpoint.", inserted: '"method"' });
});
