import { describe, expect, test } from '@jest/globals';
import { DocumentError, readDocument } from '../../../registry/import/document.ts';

describe('readDocument', () => {
  const comments = (what: string, line: number, column: number) =>
    `The document is not JSON: it has a ${what} at line ${line}, column ${column}. Remove its comments and trailing commas.`;
  test.each([
    { what: 'an empty document', input: ' \n', message: 'The document is empty.' },
    { what: 'neither JSON nor YAML', input: '{"a": [}', message: /^The document is neither JSON nor YAML: .* at line 1, column 8/ },
    {
      what: 'a key that comes twice',
      input: 'a:\n  b: 1\n  b: 2',
      message: /^The document is neither JSON nor YAML: Map keys must be unique at line 3, column 3$/,
    },
    {
      what: 'a member that comes twice',
      input: '{"a": 1,\n "a": 2}',
      message: 'The document has the member /a a second time at line 2, column 2. Remove or rename one of the two.',
    },
    {
      what: 'a member that comes twice in another spelling, deep inside',
      input: '{"a": ["{\\"", {"b/c": 1, "d": [{"b/c": 1}],\r\n\t"b\\u002fc": 1}], "a\\"": 2}',
      message: 'The document has the member /a/1/b~1c a second time at line 2, column 2. Remove or rename one of the two.',
    },
    {
      what: 'a path that comes twice',
      input: '{"paths":{"/a":{},"/b":{},"/a":{}}}',
      message: /^The document has the member \/paths\/~1a a second time at line 1, column 27\./,
    },
    {
      what: 'an empty name that comes twice in a list',
      input: '[{"":1},{"":1,"":1}]',
      message: /^The document has the member \/1\/ a second time at line 1, column 15\./,
    },
    {
      what: '__proto__ that comes twice',
      input: '{"__proto__":1,"__proto__":1}',
      message: /^The document has the member \/__proto__ a second time at line 1, column 16\./,
    },
    { what: 'JSON with a comment', input: '{\n  // the first\n  "a": "https://a.example"\n}', message: comments('comment', 2, 3) },
    { what: 'JSON with a comment before it', input: '\n/* {"a":1} */ {"a":1}', message: comments('comment', 2, 1) },
    { what: 'JSON with a comment after it', input: '{"a":"/*",} // "the end', message: comments('comment', 1, 13) },
    {
      what: 'large JSON with a trailing comma',
      input: `{"a":[",]",\n"${'x'.repeat(1_000_000)}" , ],"b":1}`,
      message: comments('trailing comma', 2, 1_000_004),
    },
    {
      what: 'large JSON that is cut',
      input: `{"a":"${'x'.repeat(1_000_000)}",`,
      message: 'The document is not JSON: at line 1, column 1000009, the text ends; expected a member name in double quotes.',
    },
    { what: 'a circle of aliases', input: 'a: &a\n  b: *a', message: /^The document's YAML aliases cannot be resolved: / },
    {
      what: 'aliases that multiply',
      input: [
        'a: &a [x, x, x, x, x, x, x, x, x, x]',
        ...[...'bcdefg'].map((name, at) => `${name}: &${name} [${`*${'abcdef'[at]}, `.repeat(10)}]`),
      ].join('\n'),
      message: /^The document's YAML aliases cannot be resolved: /,
    },
  ])('the reader refuses $what', ({ input, message }) => {
    expect(() => readDocument(input)).toThrow(DocumentError);
    expect(() => readDocument(input)).toThrow(message);
  });

  test.each([
    { what: 'JSON with a byte order mark', input: '\ufeff{"a": 1}', value: { a: 1 } },
    { what: 'YAML that begins with a brace', input: '{a: 1}', value: { a: 1 } },
    { what: 'YAML that looks like JSON with comments', input: '{"a": //x, b: "/* y */",} # z', value: { a: '//x', b: '/* y */' } },
    {
      what: 'one name in several objects',
      input: '{"a":{"a":[{"a":1},{"a":"a"}]},"b":{"a":1}}',
      value: { a: { a: [{ a: 1 }, { a: 'a' }] }, b: { a: 1 } },
    },
    { what: 'names that differ in case', input: '{"a":1,"A":2}', value: { a: 1, A: 2 } },
    { what: 'no as a text, numbers as names', input: 'no: no\n200: yes', value: { no: 'no', 200: 'yes' } },
    { what: 'merge keys', input: 'a: &a { x: 1 }\nb: { <<: *a, y: 2 }', value: { a: { x: 1 }, b: { x: 1, y: 2 } } },
  ])('the reader reads $what', ({ input, value }) => {
    expect(readDocument(input)).toEqual(value);
  });
});
