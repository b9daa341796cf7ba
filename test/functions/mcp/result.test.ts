import { expect, test } from '@jest/globals';
import { describeOutput } from '../../../functions/mcp/result.ts';

test('headers that features have added to an execution are in the metadata of a result, and others are not', () => {
  const headers = { 'Execution-Id': '01', 'Execution-Mark': 'seen', 'Answer-Cut': '/a', ETag: '"1"' };
  expect(describeOutput({ data: { a: 1 }, headers })).toEqual({
    content: [{ type: 'text', text: '{"a":1}' }],
    structuredContent: { a: 1 },
    isError: false,
    _meta: { 'intent-gate/execution-mark': 'seen' },
  });
});
