import { expect, test } from '@jest/globals';
import { findDifferences } from '../../registry/differences.ts';

const parameter = (name: string, more: object = {}) => ({ name, type: 'string', ...more });

test.each([
  { what: 'nothing', before: { a: 1, b: [1, { c: 2 }] }, after: { b: [1, { c: 2 }], a: 1 } },
  { what: 'a changed value', before: { a: { b: 1 } }, after: { a: { b: 2 } }, differences: [{ path: '/a/b', before: 1, after: 2 }] },
  { what: 'a new member', before: {}, after: { tags: ['x'] }, differences: [{ path: '/tags', after: ['x'] }] },
  { what: 'a member that goes', before: { 'a/b': null }, after: {}, differences: [{ path: '/a~1b', before: null }] },
  {
    what: 'a list, as a whole',
    before: { tags: ['x', 'y'] },
    after: { tags: ['y', 'x'] },
    differences: [{ path: '/tags', before: ['x', 'y'], after: ['y', 'x'] }],
  },
  {
    what: 'parameters, by their names',
    before: { list: [parameter('a'), parameter('b', { maximum: 1 })] },
    after: { list: [parameter('b', { maximum: 2 }), parameter('c')] },
    differences: [
      { path: '/list/a', before: parameter('a') },
      { path: '/list/b/maximum', before: 1, after: 2 },
      { path: '/list/c', after: parameter('c') },
    ],
  },
  {
    what: 'the order of parameters, if nothing else differs',
    before: { list: [parameter('a'), parameter('b')] },
    after: { list: [parameter('b'), parameter('a')] },
    differences: [{ path: '/list', before: ['a', 'b'], after: ['b', 'a'] }],
  },
  { what: 'the order of members in a value', before: { default: [{ a: 1, b: 2 }] }, after: { default: [{ b: 2, a: 1 }] } },
])('findDifferences finds $what', ({ before, after, differences = [] }) => {
  expect(findDifferences(before, after)).toEqual(differences);
});
