import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '../../../../functions/core/json/json.ts';
import { findMissing, selectAllowed, selectFields } from '../../../../functions/core/relay/select-fields.ts';

const answer: JsonValue = {
  id: 7,
  owner: { name: 'Ada', mail: 'ada@a.example' },
  items: [{ name: 'one', price: 1 }, { name: 'two', price: 2 }, 3],
  'a/b': { '~c': null },
};

describe('selectFields', () => {
  test.each<[string, string[] | undefined, JsonValue]>([
    ['everything without pointers', undefined, answer],
    ['a member', ['/id'], { id: 7 }],
    ['members of members', ['/owner/name', '/id'], { id: 7, owner: { name: 'Ada' } }],
    ['a member as a whole, if something in it is named too', ['/owner/name', '/owner'], { owner: { name: 'Ada', mail: 'ada@a.example' } }],
    ['an element of an array', ['/items/1/name'], { items: [{ name: 'two' }] }],
    ['a member of every element', ['/items/price'], { items: [{ price: 1 }, { price: 2 }] }],
    ['escaped names, and null', ['/a~1b/~0c'], { 'a/b': { '~c': null } }],
    ['nothing that is not there', ['/nope', '/id/deeper', '/items/9'], {}],
    ['nothing inherited', ['/toString', '/__proto__'], {}],
  ])('selectFields selects %s', (_, pointers, selected) => {
    expect(selectFields(answer, pointers)).toEqual(selected);
  });

  test('selectFields gives any answer as a whole to pointers to all its members', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue() as fc.Arbitrary<JsonValue>), (value) => {
        const pointers = Object.keys(value).map((name) => `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
        expect(selectFields(value, pointers)).toEqual(value);
      }),
    );
  });
});

test.each([
  [['/items/1/name'], { items: [null, { name: 'b' }] }],
  [['/items/0', '/items/2/name'], { items: [{ name: 'a', id: 1 }, null, { name: 'c' }] }],
  [['/items/name', '/total'], { items: [{ name: 'a' }, { name: 'b' }, { name: 'c' }], total: 3 }],
  [['/items/7'], {}],
])('selectAllowed selects the same once more by %j', (fields, expected) => {
  const items = ['a', 'b', 'c'].map((name, at) => ({ name, id: at + 1 }));
  const allowed = selectAllowed({ items, total: 3, secret: 's' }, { fields });
  expect([allowed, selectAllowed(allowed, { fields })]).toEqual([expected, expected]);
});

test('the work of a selection grows with the answer, not with the length of pointers that lead nowhere', () => {
  const answer = { a: Array.from({ length: 20_000 }, () => ({ b: { c: 1 } })) };
  const pointers = Array.from({ length: 50 }, (_, at) => `/a/b/c${'/x'.repeat(450)}${at}`);
  expect(selectFields(answer, pointers)).toEqual({});
  expect(selectFields(answer, [...pointers, '/a/b/c'])).toEqual(answer);
});

describe('findMissing', () => {
  const name = fc.constantFrom('a', 'b', '0', '1');
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.constantFrom(1, null, 'x'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(name, tie('value')),
    ),
  }));
  const pointer = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => `/${names.join('/')}`);

  test('findMissing names the pointers that select nothing on their own', () => {
    fc.assert(
      fc.property(fc.dictionary(name, value), fc.array(pointer, { maxLength: 6 }), (answer, pointers) => {
        const isEmpty = (one: string) => JSON.stringify(selectFields({ in: answer }, [`/in${one}`])) === '{}';
        expect(findMissing(answer, pointers)).toEqual(pointers.filter(isEmpty));
      }),
    );
  });

  test('findMissing visits each element once, whatever the number of pointers', () => {
    let visits = 0;
    const items = Array.from({ length: 100 }, () => ({
      get b() {
        visits++;
        return 1;
      },
    }));
    const pointers = Array.from({ length: 50 }, (_, at) => `/items/b/x${at}`);
    expect(findMissing({ items }, pointers)).toEqual(pointers);
    expect(visits).toBe(100);
  });
});
