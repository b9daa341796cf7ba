/** How endpoints and headers are called here. Only texts of this gate are translated, never a service's own. */
const terms: readonly [RegExp, string][] = [
  [/GET \/api\/intents\/search/g, 'search_intents'],
  [/GET \/api\/intents\/\{intent_uid\}(\?view=full)?/g, 'get_intent'],
  [/POST \/api\/pat\/issue|GET \/api\/policy/g, 'accept_policy'],
  [/in If-Match/g, 'as digest'],
  [/(the header )?Idempotency-Key/g, 'idempotency_key'],
  [/; RateLimit-Policy says[^.]*/g, ''],
];

/**
 * A message of an endpoint in the terms of the tools: a model that has only these must not be sent to endpoints and headers.
 * @param retryAfter - seconds that the header `Retry-After` would have said
 */
export function inToolTerms(text: string, retryAfter?: string): string {
  const wait = retryAfter === undefined ? 'a few seconds' : retryAfter === '1' ? '1 second' : `${retryAfter} seconds`;
  return terms.reduce((said, [term, own]) => said.replace(term, own), text).replace(/Retry-After( seconds)?/g, wait);
}
