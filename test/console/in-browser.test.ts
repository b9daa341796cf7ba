import crypto from 'node:crypto';
import net from 'node:net';
import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { createHash } from '../../console/in-browser/crypto.ts';
import { BlockList, isIPv4, isIPv6 } from '../../console/in-browser/net.ts';

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
])('%s is classified as by Node', (text) => {
  expect([isIPv4(text), isIPv6(text)]).toEqual([net.isIPv4(text), net.isIPv6(text)]);
});

test.each([
  ['10.0.0.0', 8, 'ipv4', fc.ipV4()],
  ['172.16.0.0', 12, 'ipv4', fc.tuple(fc.nat(255), fc.nat(255)).map(([second, third]) => `172.${second}.${third}.1`)],
  ['2000::', 3, 'ipv6', fc.ipV6()],
  ['2001:db8::', 30, 'ipv6', fc.nat(0xffff).map((group) => `2001:${group.toString(16)}::1`)],
  ['fc00::', 7, 'ipv6', fc.nat(0xffff).map((group) => `${group.toString(16)}::`)],
] as const)('%s/%d contains the same addresses as in Node', (network, bits, family, addresses: fc.Arbitrary<string>) => {
  const [here, there] = [new BlockList(), new net.BlockList()];
  for (const ranges of [here, there]) ranges.addSubnet(network, bits, family);
  fc.assert(fc.property(addresses, (address) => expect(here.check(address, family)).toBe(there.check(address, family))));
});

test.each(['hex', 'base64url'] as const)('digests are the same as in Node (%s)', (encoding) => {
  for (const text of ['', 'a', 'é€😀', 'x'.repeat(1_000)]) {
    expect(createHash('sha256').update(text).digest(encoding)).toBe(crypto.createHash('sha256').update(text).digest(encoding));
  }
});

test('digests of bytes are the same as in Node', () => {
  const parts = [Uint8Array.of(1), crypto.randomBytes(32), 'text'];
  const digest = (create: typeof createHash) => parts.reduce((hash, part) => hash.update(part), create('sha256')).digest();
  expect(digest(createHash)).toEqual(new Uint8Array(digest(crypto.createHash as never) as Uint8Array));
});
