import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { classifyAddress, isOnLocalNetwork, specialIPv4, specialIPv6 } from '../../../../functions/core/relay/addresses.ts';

/** First and last address of a range, and the ones just outside. */
function boundaries(cidr: string): { inside: string[]; outside: string[] } {
  const [network, bits] = ipaddr.parseCIDR(cidr);
  const width = network.toByteArray().length * 8;
  const first = BigInt(
    `0x${network
      .toByteArray()
      .map((byte) => byte.toString(16).padStart(2, '0'))
      .join('')}`,
  );
  const last = first + (1n << BigInt(width - bits)) - 1n;
  const write = (value: bigint) => {
    const hex = value.toString(16).padStart(width / 4, '0');
    return ipaddr.fromByteArray(hex.match(/../g)?.map((byte) => Number.parseInt(byte, 16)) ?? []).toString();
  };
  const max = (1n << BigInt(width)) - 1n;
  return {
    inside: [write(first), write(last)],
    outside: [first - 1n, last + 1n].filter((value) => value >= 0n && value <= max).map(write),
  };
}

describe.each([...specialIPv4, ...specialIPv6])('$cidr ($name, $source)', ({ cidr }) => {
  const { inside, outside } = boundaries(cidr);
  test.each(inside)('%s is not public', (address) => {
    expect(classifyAddress(address)).toBe(cidr === '127.0.0.0/8' ? 'loopback' : 'special');
  });
  test.each(outside)('%s is outside', (address) => {
    const isSpecial = [...specialIPv4, ...specialIPv6].some((range) => boundaries(range.cidr).inside.includes(address));
    expect(classifyAddress(address)).toBe(isSpecial ? 'special' : 'public');
  });
});

test.each([
  ['10.0.0.1', true],
  ['172.16.0.1', true],
  ['172.32.0.1', false],
  ['192.168.1.7', true],
  ['100.64.0.1', true],
  ['fd12:3456::1', true],
  ['::ffff:192.168.1.7', true],
  ['::ffff:c0a8:107', true],
  ['127.0.0.1', false],
  ['::1', false],
  ['0.0.0.0', false],
  ['93.184.216.34', false],
  ['169.254.169.254', false],
  ['169.254.0.1', false],
  ['::ffff:169.254.169.254', false],
  ['fe80::1', false],
  ['febf::1', false],
  ['fd12::1%eth0', false],
  ['fd00:ec2::254', false],
  ['fd00:ec2::23', false],
  ['fd00:0ec2:0:0::254', false],
  ['fd20:ce::254', false],
  ['100.100.100.200', false],
  ['224.0.0.251', false],
  ['255.255.255.255', false],
  ['192.168.1', false],
  ['api', false],
  ['', false],
])('whether %s is an address of a local network: %s', (address, expected) => {
  expect(isOnLocalNetwork(address)).toBe(expected);
});

describe('IPv6', () => {
  test.each([
    ['::', 'special'],
    ['::1', 'loopback'],
    ['::2', 'special'],
    ['::127.0.0.1', 'special'],
    ['::8.8.8.8', 'special'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::ffff:10.0.0.1', 'special'],
    ['::ffff:8.8.8.8', 'public'],
    ['::ffff:0:8.8.8.8', 'special'],
    ['64:ff9b::8.8.8.8', 'special'],
    ['64:ff9b:1::a00:1', 'special'],
    ['100::1', 'special'],
    ['1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'special'],
    ['2000::', 'public'],
    ['2606:4700:4700::1111', 'public'],
    ['3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'public'],
    ['4000::', 'special'],
    ['5f00::1', 'special'],
    ['fc00::1', 'special'],
    ['fd00:ec2::254', 'special'],
    ['fe80::1', 'special'],
    ['fe80::1%eth0', 'special'],
    ['2606:4700:4700::1111%eth0', 'special'],
    ['fec0::1', 'special'],
    ['ff02::1', 'special'],
  ])('%s is %s', (address, kind) => {
    expect(classifyAddress(address)).toBe(kind);
  });
});

test.each([
  '',
  'localhost',
  '2130706433',
  '0x7f.1',
  '127.1',
  '0177.0.0.1',
  '010.0.0.1',
  '8.8.8',
  '8.8.8.8.',
  ' 8.8.8.8',
  '[::1]',
  '8.8.8.8\n',
  '１.1.1.1',
])('%j is no address, so it is special', (text) => {
  expect(classifyAddress(text)).toBe('special');
});

test('an address is judged by its bytes, not by its spelling', () => {
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      expect(classifyAddress(`::ffff:${address}`)).toBe(classifyAddress(address));
    }),
  );
  fc.assert(
    fc.property(
      // ipaddr.js misreads ::1.2.3.4
      fc.ipV6().filter((address) => !address.includes('.')),
      (address) => {
        const plain = ipaddr.parse(address);
        expect(classifyAddress(address)).toBe(classifyAddress(plain.toString()));
        expect(classifyAddress(address.toUpperCase())).toBe(classifyAddress(plain.toNormalizedString()));
      },
    ),
  );
});
