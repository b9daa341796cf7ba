import { describe, expect, test } from '@jest/globals';
import type { Context } from 'aws-lambda';
import { ok } from '../../../../functions/core/http/response.ts';
import { type Action, serve } from '../../../../functions/core/http/serve.ts';
import { ApiError } from '../../../../functions/core/runtime/api-error.ts';
import { eventOf } from '../../../support/invoke.ts';

const answers: Record<string, Action> = {
  'a success': async () => ok({}),
  'a refusal': async () => {
    throw new ApiError('FORBIDDEN', 'No.');
  },
};

async function headersFor(steps: Action, allowedOrigins: string | undefined, origin: string | undefined) {
  const handler = serve(steps, { protocol: 'proto', ...(allowedOrigins !== undefined && { allowedOrigins }) });
  const event = eventOf('GET /x', { ...(origin !== undefined && { headers: { Origin: origin } }) });
  const { headers = {} } = await handler(event, {} as Context);
  return { allowed: headers['Access-Control-Allow-Origin'], vary: headers.Vary, exposed: headers['Access-Control-Expose-Headers'] };
}

// Fetch standard: `*` exposes every header, as long as no credentials are sent with the request
const exposed = '*';

describe.each(Object.entries(answers))('%s', (_, steps) => {
  test.each<{ what: string; allowedOrigins: string | undefined; origin: string | undefined; expected: object }>([
    { what: 'no page if none is allowed', allowedOrigins: undefined, origin: 'https://a.example', expected: {} },
    { what: 'every page if all are', allowedOrigins: '*', origin: 'https://a.example', expected: { allowed: '*', exposed } },
    {
      what: 'a page that is allowed',
      allowedOrigins: 'https://a.example,https://b.example',
      origin: 'https://b.example',
      expected: { allowed: 'https://b.example', vary: 'Origin', exposed },
    },
    { what: 'no other page', allowedOrigins: 'https://a.example', origin: 'https://b.example', expected: { vary: 'Origin' } },
    {
      what: 'no page of the same name but another scheme',
      allowedOrigins: 'https://a.example',
      origin: 'http://a.example',
      expected: { vary: 'Origin' },
    },
    { what: 'no page that hides its origin', allowedOrigins: 'https://a.example', origin: 'null', expected: { vary: 'Origin' } },
    { what: 'what is no page', allowedOrigins: 'https://a.example', origin: undefined, expected: { vary: 'Origin' } },
  ])('the CORS headers let in $what', async ({ allowedOrigins, origin, expected }) => {
    expect(await headersFor(steps, allowedOrigins, origin)).toEqual(expected);
  });
});
