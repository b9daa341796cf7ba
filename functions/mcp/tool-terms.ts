/** Endpoints and headers, and what tools call them. Applied to the gate's own messages, never to a service's. */
export const terms: readonly [RegExp, string][] = [
  [/GET \/api\/intents\/search/g, 'search_intents'],
  [/GET \/api\/intents\/\{intent_uid\}(\?view=full)?/g, 'get_intent'],
  [/POST \/api\/pat\/issue|GET \/api\/policy/g, 'accept_policy'],
  [/in If-Match/g, 'as digest'],
  [/(the header )?Idempotency-Key/g, 'idempotency_key'],
  [/ Use the address in the 202 response\./g, ''],
  [/; RateLimit-Policy gives[^.]*/g, ''],
];

/**
 * Rewrites a message for models, which can call tools but not endpoints.
 * @param retryAfter - value of the header `Retry-After`
 */
export function inToolTerms(text: string, retryAfter?: string): string {
  const wait = retryAfter === undefined ? 'a few seconds' : retryAfter === '1' ? '1 second' : `${retryAfter} seconds`;
  return terms.reduce((message, [term, toolTerm]) => message.replace(term, toolTerm), text).replace(/Retry-After( seconds)?/g, wait);
}
