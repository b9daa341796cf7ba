import { expect, test } from '@jest/globals';
import { createAction } from '../../../functions/documents/get-api-catalog.ts';
import { baseUrl } from '../../support/gate.ts';
import { invoke } from '../../support/invoke.ts';

const ask = (path: string, isSignInOffered = true) => invoke(createAction({ protocol: 'proto', isSignInOffered }), `GET ${path}`);

test('the catalogue links to the descriptions of the API', async () => {
  const { status, headers, body } = await ask('/.well-known/api-catalog');
  expect(status).toBe(200);
  expect(headers).toMatchObject({
    'Content-Type': 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
    ETag: expect.any(String),
  });
  expect(body.linkset.map(({ anchor }: { anchor: string }) => anchor)).toEqual([
    `${baseUrl}/api`,
    `${baseUrl}/mcp`,
    `${baseUrl}/mcp/sign-in`,
  ]);
  expect(body.linkset[0]['service-desc']).toEqual([{ href: `${baseUrl}/openapi.json`, type: 'application/json' }]);
});

test.each([true, false])('llms.txt lists the steps in order, and the sign-in if it is offered (%j)', async (isSignInOffered) => {
  const { status, headers, body } = await ask('/llms.txt', isSignInOffered);
  expect([status, headers['Content-Type']]).toEqual([200, 'text/plain; charset=utf-8']);
  const places = ['/api/intents/search', '/api/intents/{intent_uid}', '/api/policy', '/api/pat/issue', '/api/intents/execute'];
  const found = places.map((place) => body.indexOf(`${baseUrl}${place}`));
  expect(found.every((at) => at > 0)).toBe(true);
  expect([...found].sort((a, b) => a - b)).toEqual(found);
  expect(body.includes(`${baseUrl}/mcp/sign-in`)).toBe(isSignInOffered);
  expect((await ask('/.well-known/api-catalog', isSignInOffered)).body.linkset).toHaveLength(isSignInOffered ? 3 : 2);
});
