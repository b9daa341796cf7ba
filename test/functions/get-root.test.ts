import { expect, test } from '@jest/globals';
import { createAction } from '../../functions/get-root.ts';
import { invoke } from '../support/invoke.ts';

test.each([
  ['text/html,application/xhtml+xml,*/*;q=0.8', 'console'],
  ['application/json', 'openapi.json'],
  [undefined, 'openapi.json'],
])('who accepts %s is led to /%s', async (accept, page) => {
  const { status, headers } = await invoke(createAction(), 'GET /', { headers: accept === undefined ? {} : { Accept: accept } });
  expect(status).toBe(302);
  expect(headers).toMatchObject({ Location: `https://api.example/test/${page}`, Vary: 'Accept' });
});
