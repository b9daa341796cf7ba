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
  test.each<[string, string | undefined, string | undefined, object]>([
    ['no page if none is allowed', undefined, 'https://a.example', {}],
    ['every page if all are', '*', 'https://a.example', { allowed: '*', exposed }],
    [
      'a page that is allowed',
      'https://a.example,https://b.example',
      'https://b.example',
      { allowed: 'https://b.example', vary: 'Origin', exposed },
    ],
    ['no other page', 'https://a.example', 'https://b.example', { vary: 'Origin' }],
    ['no page of the same name but another scheme', 'https://a.example', 'http://a.example', { vary: 'Origin' }],
    ['no page that hides its origin', 'https://a.example', 'null', { vary: 'Origin' }],
    ['what is no page', 'https://a.example', undefined, { vary: 'Origin' }],
  ])('the CORS headers let in %s', async (_, allowedOrigins, origin, expected) => {
    expect(await headersFor(steps, allowedOrigins, origin)).toEqual(expected);
  });
});
