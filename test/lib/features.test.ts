import { expect, test } from '@jest/globals';
import { addedOf } from '../../functions/core/execution/narrow.ts';
import { declarations } from '../../lib/features.ts';

test.each(['execute-intent', 'get-execution'])('later answers keep the headers that features add to %s', (name) => {
  const headers = declarations.flatMap(({ additions }) => additions?.[name]?.headers ?? []);
  expect(Object.keys(addedOf(Object.fromEntries(headers.map((header) => [header, ''])))).sort()).toEqual([...headers].sort());
});
