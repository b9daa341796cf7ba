import { expect, test } from '@jest/globals';
import { mistakes, refusing } from '../../support/settings.ts';

test.each<[Record<string, unknown>, string]>([
  ...[{}, { publicBaseUrl: 'https://a.example/live' }, { publicBaseUrl: 'http://a.example' }].map(
    (address): [Record<string, unknown>, string] => [
      { signIn: true, ...address },
      'signIn: needs domainName, or a publicBaseUrl with https and without a path, because clients look up the sign-in metadata at the root of the host',
    ],
  ),
  [
    { signIn: true, publicBaseUrl: 'https://a.example', requireProofOfPossession: true },
    'signIn: cannot be combined with requireProofOfPossession, because people who sign in have no key',
  ],
  ...refusing('signInRedirectUris.0', 'must be an https address, or http on 127.0.0.1, [::1] or localhost', [
    'http://host.example/callback',
    'https://host.example/callback#x',
    'host:callback',
  ]),
])('the settings of sign-in %j are refused', (given, expected) => {
  expect(mistakes(given)).toEqual([expected]);
});
