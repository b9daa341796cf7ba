import { expect, test } from '@jest/globals';
import { findDifferences } from '../../registry/differences.ts';

const parameter = (name: string, more: object = {}) => ({ name, type: 'string', ...more });

test.each([
  ['nothing', { a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, []],
  ['a changed value', { a: { b: 1 } }, { a: { b: 2 } }, [{ path: '/a/b', before: 1, after: 2 }]],
  ['a new member', {}, { tags: ['x'] }, [{ path: '/tags', after: ['x'] }]],
  ['a member that goes', { 'a/b': null }, {}, [{ path: '/a~1b', before: null }]],
  ['a list, as a whole', { tags: ['x', 'y'] }, { tags: ['y', 'x'] }, [{ path: '/tags', before: ['x', 'y'], after: ['y', 'x'] }]],
  [
    'parameters, by their names',
    { list: [parameter('a'), parameter('b', { maximum: 1 })] },
    { list: [parameter('b', { maximum: 2 }), parameter('c')] },
    [
      { path: '/list/a', before: parameter('a') },
      { path: '/list/b/maximum', before: 1, after: 2 },
      { path: '/list/c', after: parameter('c') },
    ],
  ],
  [
    'the order of parameters, if nothing else differs',
    { list: [parameter('a'), parameter('b')] },
    { list: [parameter('b'), parameter('a')] },
    [{ path: '/list', before: ['a', 'b'], after: ['b', 'a'] }],
  ],
  ['the order of members in a value', { default: [{ a: 1, b: 2 }] }, { default: [{ b: 2, a: 1 }] }, []],
])('findDifferences finds %s', (_, before, after, differences) => {
  expect(findDifferences(before, after)).toEqual(differences);
});
