import { describe, expect, jest, test } from '@jest/globals';
import fc from 'fast-check';
import { parseDocument, stringify } from 'yaml';
import { DocumentError, readDocument } from '../../../registry/import/document.ts';
import { parseInPieces } from '../../../registry/import/yaml-pieces.ts';

/** Parses a piece, or a whole document. @throws Error for anything that is not right */
function parse(text: string): unknown {
  const document = parseDocument(text, { merge: true, logLevel: 'error' });
  for (const error of document.errors) throw error;
  return document.toJS();
}

/** So small that nearly every entry is a piece of its own. */
const small = 12;

describe('YAML in pieces', () => {
  test.each<[title: string, text: string]>([
    ['a map', 'a: 1\nb: two\nc: [3, 4]\n'],
    ['a list', '- 1\n- two\n- [3, 4]\n'],
    ['maps in maps', 'a:\n  b:\n    c: 1\n    d: 2\n  e: 3\nf: 4\n'],
    ['maps in lists', '- a: 1\n  b: 2\n- c: 3\n  d:\n    - 4\n    - e: 5\n'],
    ['lists in lists', '- - 1\n  - - 2\n    - 3\n-\n  - 4\n'],
    ['a list with the indentation of its key', 'a:\n- one one one\n- two two two\nb:\n- c: 3\n  d: 4\n- e: 5\n'],
    ['a literal text with lines that look like members and items', 'a: |\n  b: 1\n  - c\n\n  # no comment\n    d: 2\ne: 3\n'],
    ['a literal text that keeps its last lines', 'a: |+\n  text\n\n\nb: |-\n  text\n\nc: 1\n'],
    ['a folded text in a list', '- >\n  long long\n  text\n- a: >-\n    long long\n    text\n  b: 1\n'],
    ['a text with an explicit indentation', 'a: |2\n    two spaces\n   one\nb: 1\n'],
    ['plain text on several lines', 'a: long long\n  text text\n  - text\nb: 1\n'],
    ['quoted text on several lines', 'a: "long\n  b: 1\n  c: 2"\nd: \'long\n  e: 1\'\n'],
    ['quoted text below its key', 'a:\n  "long\n  b: 1\n  c: 2"\nd: 1\n'],
    ['lists and maps in brackets on several lines', 'a: [\n  1,\n  2 ]\nb: {\n  c: 3,\n  d: 4 }\n'],
    ['comments everywhere', '# one\na: # two\n  # three\n  b: 1 # four\n# five\n  c: 2\n# six\nd: 3\n#seven\n'],
    ['empty values', 'a:\nb:\n  c:\n  d:\ne:\n'],
    ['Windows line ends', 'a:\r\n  b: 1\r\n  c: |\r\n    text\r\nd: 2\r\n'],
    ['a marker at the start', '---\na: 1\nb: 2\n'],
    ['quoted, numeric and odd keys', '"a: b": 1\n\'c\': 2\n3: 4\n"#": 5\na b: 6\n?d: 7\n:e: 8\n'],
    ['a key named __proto__', 'a: 1\n__proto__:\n  b: 1\n  c: 2\nd: 3\n'],
    ['tags', 'a: !!str 1\nb: !!map\n  c: 1\nd: !!float 2\n'],
    ['a merge without an alias', 'a:\n  <<: { b: 1, c: 2 }\n  d: 3\n  e: 4\n'],
    ['no line end at the end', 'a: 1\nb:\n  - 2\n  - 3'],
    ['blank lines and lines of spaces', '\n\na: 1\n   \nb:\n\n  c: 2\n \n  d: 3\n\n'],
  ])('YAML in pieces has the value of the whole: %s', (_, text) => {
    expect(parseInPieces(text, parse, small)).toEqual(parse(text));
    expect(JSON.stringify(parseInPieces(text, parse, small))).toBe(JSON.stringify(parse(text)));
  });

  test('YAML in pieces has the value of the whole for all values, however they are written', () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 }), { minKeys: 1 });
    const style = fc.record({ indent: fc.constantFrom(1, 2, 4), indentSeq: fc.boolean(), lineWidth: fc.constantFrom(0, 20, 80) });
    fc.assert(
      fc.property(value, style, fc.integer({ min: 1, max: 60 }), (given, options, size) => {
        const text = stringify(given, { ...options, aliasDuplicateObjects: false });
        let inPieces: unknown;
        try {
          inPieces = parseInPieces(text, parse, size);
        } catch {
          return;
        }
        expect(inPieces).toEqual(parse(text));
      }),
    );
  });
});

test.each<[title: string, text: string]>([
  ['an alias of another piece', 'a: &one\n  b: 1\nc: *one\n'],
  ['a member that occurs twice', 'a: 1\nb: 2\nc: 3\na: 4\n'],
  ['a merged member that occurs again', '<<: { b: 1 }\nc: 2222222\nb: 3333333\n'],
  ['a key and its value on separate lines', 'a: 1\nb: 2222222\n? d\n: 7\n'],
  ['brackets that end at the first column', 'a: {\n  b: 1,\n  c: 2\n}\nd: 1\n'],
  ['several documents', 'a: 1\n---\nb: 2\n'],
  ['a marker at the end', 'a: 1\n...\n'],
  ['a directive', '%YAML 1.2\n---\na: 1\n'],
  ['a single text', 'just text\nin two lines\n'],
  ['a text in bars', '|\n a: 1\n b: 2\n'],
  ['a bracket that is not closed', 'a: [1, 2\nb: 3\n'],
  ['a member in a list', '- a\nb: 1\n'],
  ['less indentation than at first', '  a: 1\nb: 2\n'],
])('YAML with %s is left to be parsed as a whole', (_, text) => {
  expect(() => parseInPieces(text, parse, small)).toThrow();
});

test.each<[title: string, end: string, message: string]>([
  ['a member that occurs twice', 'last: 1\nfirst: 2\n', 'Map keys must be unique at line 40003, column 1'],
  ['a bracket that is not closed', 'last: [1\n', 'must be sufficiently indented and end with a ] at line 40003, column 1'],
])('a message about %s in large YAML names the line of the whole', (_, end, message) => {
  const text = `first: 1\n${Array.from({ length: 40_000 }, (_, at) => `member_${at}: text\n`).join('')}${end}`;
  const read = jest.fn(() => readDocument(text));
  expect(read).toThrow(message);
  expect(read.mock.results[0]?.value).toBeInstanceOf(DocumentError);
});

test('large YAML with aliases across its pieces is read as a whole', () => {
  const filler = Array.from({ length: 20_000 }, (_, at) => `member_${at}: text\n`).join('');
  expect(readDocument(`first: &one { a: 1.10 }\n${filler}last: *one\n`)).toMatchObject({
    first: { a: JSON.rawJSON('1.10') },
    last: { a: {} },
  });
});

test.each<[title: string, schema: string, codeOf: (line: string) => string]>([
  ['values', 'type: string\n  enum:', (code) => `- ${code}`],
  ['values before their type', 'enum:', (code) => `- ${code}`],
  ['constants', 'type: [string, "null"]\n  oneOf:', (code) => `- const: ${code}`],
])('large YAML keeps the spelling of %s whose schema says string', (_, schema, lineOf) => {
  const codes = Array.from({ length: 40_000 }, (_, at) => String(at).padStart(6, '0'));
  const end = schema.includes('type') ? '' : '  type: string\n';
  const { area } = readDocument(`area:\n  ${schema}\n${codes.map((code) => `    ${lineOf(code)}\n`).join('')}${end}`) as {
    area: { enum?: string[]; oneOf?: { const: string }[] };
  };
  expect((area.enum ?? area.oneOf?.map((branch) => branch.const))?.every((code, at) => code === codes[at])).toBe(true);
});
