import crypto from 'node:crypto';
import net from 'node:net';
import { expect, test } from '@jest/globals';
import { createHash } from '../../../lib/console/in-browser/crypto.ts';
import { isIPv4, isIPv6 } from '../../../lib/console/in-browser/net.ts';

test.each([
  '127.0.0.1',
  '256.0.0.1',
  '1.2.3',
  '1.2.3.4.',
  '01.2.3.4',
  '::1',
  '::ffff:1.2.3.4',
  'fe80::1',
  '2001:db8::g',
  '1::2::3',
  '',
  ':',
  '[::1]',
  'a/b',
])('%s is the address in the page that it is in the gate', (text) => {
  expect([isIPv4(text), isIPv6(text)]).toEqual([net.isIPv4(text), net.isIPv6(text)]);
});

test.each(['hex', 'base64url'] as const)('digests are those of Node (%s)', (encoding) => {
  for (const text of ['', 'a', 'é€😀', 'x'.repeat(1_000)]) {
    expect(createHash('sha256').update(text).digest(encoding)).toBe(crypto.createHash('sha256').update(text).digest(encoding));
  }
});
