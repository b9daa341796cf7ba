import { expect, test } from '@jest/globals';
import { fitHits } from '../../../functions/mcp/fit-hits.ts';

const hit = (n: number, size: number) => ({
  intent_uid: `a.example:${n}:v1`,
  intent_name: `"${'n'.repeat(size)}"`,
  summary: 's'.repeat(size),
  required: ['"one"'],
});
const page = (count: number, size: number) => ({ intents: Array.from({ length: count }, (_, n) => hit(n, size)), total: count });

/** The result of a tool: the data as text and as structure. */
const bytesOf = (data: object) =>
  JSON.stringify({ content: [{ type: 'text', text: JSON.stringify(data) }], structuredContent: data }).length;

test('hits that fit are unchanged', () => {
  expect(fitHits(page(5, 50))).toEqual(page(5, 50));
});

test.each([
  [20, 200],
  [100, 200],
  [5, 4_000],
])('%i hits with texts of %i characters are shortened to 8 KB, and omitted hits are counted', (count, size) => {
  const fitted = fitHits(page(count, size));
  expect(bytesOf(fitted)).toBeLessThanOrEqual(8 * 1024);
  expect(fitted.intents.length + (fitted.left_out ?? 0)).toBe(count);
});

test('summaries are shortened before hits are left out', () => {
  const fitted = fitHits(page(10, 200));
  expect(fitted.intents).toHaveLength(10);
  expect(fitted.intents[0]?.summary).toHaveLength(0);
});
