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
  { network: '10.0.0.0', bits: 8, family: 'ipv4', addresses: fc.ipV4() },
  {
    network: '172.16.0.0',
    bits: 12,
    family: 'ipv4',
    addresses: fc.tuple(fc.nat(255), fc.nat(255)).map(([second, third]) => `172.${second}.${third}.1`),
  },
  { network: '2000::', bits: 3, family: 'ipv6', addresses: fc.ipV6() },
  { network: '2001:db8::', bits: 30, family: 'ipv6', addresses: fc.nat(0xffff).map((group) => `2001:${group.toString(16)}::1`) },
  { network: 'fc00::', bits: 7, family: 'ipv6', addresses: fc.nat(0xffff).map((group) => `${group.toString(16)}::`) },
] as const)('$network/$bits contains the same addresses as in Node', ({ network, bits, family, addresses }) => {
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
