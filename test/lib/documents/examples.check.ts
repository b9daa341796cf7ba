import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { answerOf, exampleOf, noExample } from '../../../lib/endpoints/endpoint.ts';
import { exampleBaseUrl, serviceId as exampleServiceId } from '../../../lib/endpoints/fixtures.ts';
import { endpoints } from '../../../lib/endpoints.ts';
import { startApi } from '../../e2e/api.ts';

const deployment = { protocol: 'proto', policy: readFileSync('bin/local/policy.json', 'utf8') };

const api = await startApi({ demo: true, environment: { BASE_URL: exampleBaseUrl } });

/** Values that differ each time, or change with the ranking of searches. */
const volatile = [
  ...['proto-pat', 'proto-public-key', 'x', 'y', 'kid', 'service_id', 'version'],
  ...['expires_at', 'first_seen', 'last_issue', 'approved_at', 'revoked_at', 'blocked_at', 'total_results', 'total_pages'],
  ...['at', 'subject', 'request_id', 'digest', 'previous', 'seq', 'from', 'upstream_ms', 'latency'],
];

/** The actual answer, with its volatile values replaced by those of the example. */
function align(actual: unknown, example: unknown): unknown {
  if (Array.isArray(actual) && Array.isArray(example)) return actual.map((element, index) => align(element, example[index]));
  if (typeof actual !== 'object' || actual === null || typeof example !== 'object' || example === null) return actual;
  return Object.fromEntries(
    Object.entries(actual).map(([name, value]) => {
      const expected = (example as Record<string, unknown>)[name];
      return [name, volatile.includes(name) && typeof value === typeof expected ? expected : align(value, expected)];
    }),
  );
}

const credentials: Record<string, () => string | undefined> = { none: () => undefined, pat: () => pat, admin: () => api.stack.admin_token };
let serviceId: string;
let pat: string;
let head: number;

/** Examples that build on one another, in the order in which they are played; the others follow. */
const sequence = [
  ...['get-policy', 'issue-pat', 'search-intents', 'get-intent', 'execute-intent', 'list-agents', 'get-agent'],
  ...['approve-agent', 'block-agent', 'clear-waiting-agents', 'unblock-agent', 'revoke-agent', 'delete-agent'],
  ...['approve-agent-domain', 'list-agent-domains', 'remove-agent-domain'],
  ...['create-service', 'get-service', 'list-services', 'update-service', 'put-service-credential'],
  ...['delete-service-credential', 'create-intent', 'list-service-intents', 'get-service-description', 'update-intent'],
  ...['list-changes', 'get-change', 'delete-intent', 'change-intents', 'get-stats', 'delete-service'],
];
const played = [...new Set([...sequence, ...endpoints.map(({ name }) => name)])]
  .flatMap((name) => endpoints.filter((endpoint) => endpoint.name === name))
  .filter(({ example }) => example !== noExample)
  // need policies that require approval or are on trial: test/e2e/approvals/approvals.check.ts, test/functions/trial/get-policy-trial.test.ts
  .filter(({ name }) => !['get-execution', 'decide-approval', 'get-policy-trial'].includes(name))
  // need a person who is connected, or an issuer: test/e2e/connections/connections.check.ts
  .filter(({ name }) => !['list-connections', 'end-connection', 'get-service-connections', 'test-service-credential'].includes(name))
  // need a server: their own tests
  .filter(({ name }) => !['get-document', 'list-mcp-tools'].includes(name))
  // needs the digest of the policy that it replaces: test/functions/publish-policy.test.ts
  .filter(({ name }) => name !== 'publish-policy')
  // complete only after minutes: test/functions/list-executions.test.ts
  .filter(({ name }) => name !== 'list-executions');

test.each(played)('the example of $name is answered as shown', async (endpoint) => {
  const { name } = endpoint;
  const example = exampleOf(endpoint, deployment);
  const path = endpoint.path
    .replace(/\{(\w+)\}/g, (_, place) => (place === 'seq' ? String(head) : (example.path?.[place] ?? '')))
    .replace(exampleServiceId, serviceId);
  const { status, body } = await api.call(endpoint.method, `${path}?${new URLSearchParams(example.query)}`, {
    body: example.body,
    token: credentials[endpoint.credential]?.(),
  });
  if (name === 'create-service') serviceId = body.service_id;
  if (name === 'list-changes') head = body.head.seq;
  if (name === 'issue-pat') pat = body['proto-pat'];

  expect([name, status]).toEqual([name, endpoint.success]);
  if (example.answer === undefined) return expect(body).toBeUndefined();
  expect(answerOf(endpoint, 'proto')?.safeParse(body).error).toBeUndefined();
  // Constant responses contain the requested address; functions use BASE_URL.
  const shown = JSON.parse(
    JSON.stringify(body).replaceAll(api.stack.upstream_url, 'https://world.example').replaceAll(api.stack.base_url, exampleBaseUrl),
  );
  // the example shows one of the three keys
  if (name === 'get-signature-directory') shown.keys.length = 1;
  // the example shows one of the many intents of this description
  if (name === 'get-own-description')
    shown.intents = shown.intents.filter(
      (intent: object) => 'intent_uid' in intent && intent.intent_uid === 'world.example:get-currency:v1',
    );
  expect(align(shown, example.answer)).toEqual(example.answer);
});
