import { expect, test } from '@jest/globals';
import { toCsv } from '../../registry/csv.ts';

test.each<[string, unknown[], string]>([
  ['no records', [], ''],
  ['plain members', [{ a: 'x', b: 1 }], 'a,b\nx,1\n'],
  ['members that some records lack', [{ a: 'x' }, { b: true }], 'a,b\nx,\n,true\n'],
  ['members of members', [{ refusals: { FORBIDDEN: 2 } }], 'refusals.FORBIDDEN\n2\n'],
  ['arrays', [{ tags: ['a', 'b'] }], 'tags\n"[""a"",""b""]"\n'],
  ['commas, quotes and line breaks', [{ a: 'x,"y"\nz' }], 'a\n"x,""y""\nz"\n'],
  ['null', [{ a: null }], 'a\n\n'],
  ['what a spreadsheet would run', [{ a: '=1+1', b: '-x', c: '@x', d: '+x', e: -1 }], "a,b,c,d,e\n'=1+1,'-x,'@x,'+x,-1\n"],
  ['what it would run after a semicolon', [{ a: 'x; =1+1', b: ['y;@x'], c: 'a;b' }], `a,b,c\nx; '=1+1,"[""y;'@x""]",a;b\n`],
  ['a large integer', [{ a: 12345678901234567890n }], 'a\n12345678901234567890\n'],
  ['values that are no objects', ['x', 2], 'value\nx\n2\n'],
])('records as CSV: %s', (_, records, text) => expect(toCsv(records)).toBe(text));
