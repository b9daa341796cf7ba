import { expect, test } from '@jest/globals';
import { createAction } from '../../functions/get-health.ts';
import { health } from '../../schemas/well-known.ts';
import { invoke } from '../support/invoke.ts';

test('says that the API answers, and may not be cached', async () => {
  const { status, headers, body } = await invoke(createAction(), { path: '/health' });
  expect({ status, body }).toEqual({ status: 200, body: { status: 'ok' } });
  health.parse(body);
  expect(headers).toMatchObject({ 'Content-Type': 'application/json', 'Cache-Control': 'no-store', 'X-Request-Id': 'request-1' });
});
