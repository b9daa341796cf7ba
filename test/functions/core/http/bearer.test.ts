import { describe, expect, test } from '@jest/globals';
import type { Context } from 'aws-lambda';
import { bearerToken } from '../../../../functions/core/http/bearer.ts';
import { readRequest } from '../../../../functions/core/http/request.ts';
import { eventOf } from '../../../support/invoke.ts';

const read = (authorization: string | string[] | undefined, scheme?: 'Bearer' | 'DPoP') =>
  bearerToken(
    readRequest(eventOf('GET /', { headers: authorization === undefined ? {} : { authorization } }), {} as Context, {
      protocol: 'proto',
    }),
    scheme,
  );

describe('bearerToken', () => {
  test.each([
    ['Bearer abc.DEF-_~+/9==', undefined, 'abc.DEF-_~+/9=='],
    ['bearer x', undefined, 'x'],
    ['BEARER x', 'DPoP', 'x'],
    ['DPoP x', 'DPoP', 'x'],
    ['dpop x', 'DPoP', 'x'],
    ['Bearer  x', 'Bearer', 'x'],
  ] as const)('bearerToken reads %p', (field, scheme, token) => {
    expect(read(field, scheme)).toBe(token);
  });

  test('bearerToken says what to send if there is no token, without an error attribute', () => {
    expect(() => read(undefined)).toThrow(
      expect.objectContaining({
        code: 'UNAUTHORIZED',
        status: 401,
        message: 'Send the header Authorization: Bearer <token>.',
        headers: { 'WWW-Authenticate': 'Bearer realm="intent-gate"' },
      }),
    );
  });

  test.each<[string, string | string[]]>([
    ['an empty field', ''],
    ['another scheme', 'Basic YTpi'],
    ['DPoP if it is not accepted', 'DPoP x'],
    ['a line break', 'Bearer x\n'],
    ['two tokens', 'Bearer x y'],
    ['two tokens and a comma', 'Bearer x, Bearer y'],
    ['two headers', ['Bearer x', 'Bearer x']],
    ['padding alone', 'Bearer =='],
  ])('bearerToken refuses %s', (_, field) => {
    expect(() => read(field)).toThrow(
      expect.objectContaining({
        code: 'UNAUTHORIZED',
        status: 401,
        message: 'The Authorization header must be sent once and have the form Bearer <token>.',
        headers: { 'WWW-Authenticate': 'Bearer realm="intent-gate", error="invalid_token"' },
      }),
    );
  });
});
