import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { inToolTerms, terms } from '../../../functions/mcp/tool-terms.ts';

test.each([
  ['Find one with GET /api/intents/search.', 'Find one with search_intents.'],
  ['GET /api/intents/{intent_uid}?view=full shows what is expected.', 'get_intent shows what is expected.'],
  ['Read it with GET /api/policy, sign it.', 'Read it with accept_policy, sign it.'],
  ['The first request under this Idempotency-Key is still running.', 'The first request under this idempotency_key is still running.'],
  ['the header Idempotency-Key must have', 'idempotency_key must have'],
  ['Wait; RateLimit-Policy gives the number. Then', 'Wait. Then'],
  ['Send it again after Retry-After seconds.', 'Send it again after a few seconds.'],
])('a message is put in terms of tools: %s', (text, said) => {
  expect(inToolTerms(text)).toBe(said);
});

test('a message in terms of tools has seconds in place of the header', () => {
  expect(inToolTerms('after Retry-After seconds, after Retry-After.', '1')).toBe('after 1 second, after 1 second.');
});

/** Endpoints in messages for admins and auditors, who have no tools. */
const forPeople = /(GET|POST|PUT|DELETE) \/(api\/(services|agents|agent-domains|changes)|log\/checkpoint)/g;

const lines = globSync('functions/**/*.ts')
  .filter((file) => !file.includes('core/mcp/tool-terms'))
  .flatMap((file) => readFileSync(file, 'utf8').split('\n'))
  .filter((line) => !/^\s*(\*|\/\*|\/\/)/.test(line));

test('no other message names an endpoint, which a model cannot call', () => {
  expect(lines.filter((line) => /(GET|POST|PUT|DELETE) \//.test(inToolTerms(line).replace(forPeople, '')))).toEqual([]);
});

test.each(terms)('%s is in a message', (term) => {
  expect(lines.some((line) => line.search(term) >= 0)).toBe(true);
});
