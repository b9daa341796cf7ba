import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

const names = ['@method', '@target-uri', 'content-digest', 'agent-id', 'agent-key', 'intent-uid', 'execution-id'];

/**
 * Whether Intent Gate has signed a request, within the last 300 seconds. Remember each `Execution-Id` for as long, to refuse replays.
 * `url` as it was called from outside, `body` as bytes or text, `headers` with names in lower case.
 */
export function isSigned({ method, url, headers, body }, signingKey) {
  const digest = `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
  const values = { ...headers, '@method': method, '@target-uri': url, 'content-digest': digest };
  const parameters = String(headers['signature-input']).replace(/^gate=/, '');
  const base = [...names.map((name) => `"${name}": ${values[name]}`), `"@signature-params": ${parameters}`].join('\n');
  const expected = Buffer.from(`gate=:${createHmac('sha256', Buffer.from(signingKey, 'base64url')).update(base).digest('base64')}:`);
  const given = Buffer.from(String(headers.signature));
  const ageSeconds = Date.now() / 1000 - Number(/;created=(\d+);/.exec(parameters)?.[1]);
  const isComplete = parameters.startsWith(`(${names.map((name) => `"${name}"`).join(' ')});`);
  return isComplete && Math.abs(ageSeconds) < 300 && given.length === expected.length && timingSafeEqual(given, expected);
}
