import { expect, test } from '@jest/globals';
import { addOperation, itemBytes, newTableWork } from '../../../tools/bench/table-work.ts';

test.each([
  [{ pk: { S: 'a' } }, 3],
  [{ n: { N: '12345' } }, 1 + 4],
  [{ b: { B: Buffer.alloc(10).toString('base64') } }, 1 + 10],
  [{ l: { L: [{ N: '1' }, { S: 'é' }] } }, 1 + 3 + (1 + 2) + (1 + 2)],
  [{ m: { M: { x: { BOOL: true } } } }, 1 + 3 + (1 + 1 + 1)],
])('counts the bytes of %j', (item, bytes) => {
  expect(itemBytes(item)).toBe(bytes);
});

test('adds up the work of a table', () => {
  const work = newTableWork();
  const item = { pk: { S: 'a' }, sk: { S: 'bc' } };
  const operations: [string, object, object][] = [
    ['GetItem', { Key: item }, {}],
    ['GetItem', { Key: item }, { Item: item }],
    ['BatchGetItem', {}, { Responses: { table: [item, item] } }],
    ['Query', {}, { Items: [item] }],
    ['PutItem', { Item: item }, {}],
    ['TransactWriteItems', { TransactItems: [{ Put: { Item: item } }, { Delete: { Key: item } }] }, {}],
    ['UpdateItem', { Key: item }, { Attributes: item }],
    ['UpdateItem', { Key: item }, { __type: 'ConditionalCheckFailedException' }],
  ];
  for (const [name, request, answer] of operations) addOperation(work, name, JSON.stringify(request), JSON.stringify(answer), 2);
  expect(work).toEqual({
    operations: { GetItem: 2, BatchGetItem: 1, Query: 1, PutItem: 1, TransactWriteItems: 1, UpdateItem: 2 },
    newest: {
      ...Object.fromEntries(operations.map(([name, request]) => [name, JSON.stringify(request)])),
    },
    readBytes: 4 * 7,
    writtenBytes: 3 * 7,
    busyMs: 16,
  });
});
