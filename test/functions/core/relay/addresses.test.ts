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
  test.each(inside)('the special address %s is not public', (address) => {
    expect(classifyAddress(address)).toBe(cidr === '127.0.0.0/8' ? 'loopback' : 'special');
  });
  test.each(outside)('the address %s is outside the special block', (address) => {
    const isSpecial = [...specialIPv4, ...specialIPv6].some((range) => boundaries(range.cidr).inside.includes(address));
    expect(classifyAddress(address)).toBe(isSpecial ? 'special' : 'public');
  });
});

test.each<[boolean, ...string[]]>([
  [true, '10.0.0.1', '172.16.0.1', '192.168.1.7', '100.64.0.1', 'fd12:3456::1', '::ffff:192.168.1.7', '::ffff:c0a8:107'],
  [false, '172.32.0.1', '127.0.0.1', '::1', '0.0.0.0', '93.184.216.34', '169.254.169.254', '169.254.0.1', '::ffff:169.254.169.254'],
  [false, 'fe80::1', 'febf::1', 'fd12::1%eth0', 'fd00:ec2::254', 'fd00:ec2::23', 'fd00:0ec2:0:0::254', 'fd20:ce::254', '100.100.100.200'],
  [false, '224.0.0.251', '255.255.255.255', '192.168.1', 'api', ''],
])('an address on a local network is recognised: %s', (isLocal, ...addresses) => {
  for (const address of addresses) expect([address, isOnLocalNetwork(address)]).toEqual([address, isLocal]);
});

test.each<[string, ...string[]]>([
  ['special', '::', '::2', '::127.0.0.1', '::8.8.8.8', '::ffff:10.0.0.1', '::ffff:0:8.8.8.8', '64:ff9b::8.8.8.8', '64:ff9b:1::a00:1'],
  ['special', '100::1', '1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', '4000::', '5f00::1', 'fc00::1', 'fd00:ec2::254', 'fe80::1'],
  ['special', 'fe80::1%eth0', '2606:4700:4700::1111%eth0', 'fec0::1', 'ff02::1'],
  ['loopback', '::1', '::ffff:127.0.0.1', '::ffff:7f00:1'],
  ['public', '::ffff:8.8.8.8', '2000::', '2606:4700:4700::1111', '3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  // no addresses
  ['special', '', 'localhost', '2130706433', '0x7f.1', '127.1', '0177.0.0.1', '010.0.0.1', '8.8.8', '8.8.8.8.', ' 8.8.8.8', '[::1]'],
  ['special', '8.8.8.8\n', '１.1.1.1'],
])('IPv6 addresses, and texts that are no address, are recognised: %s', (kind, ...addresses) => {
  for (const address of addresses) expect([address, classifyAddress(address)]).toEqual([address, kind]);
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
