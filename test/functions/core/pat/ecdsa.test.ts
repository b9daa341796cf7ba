import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isCanonicalSignature, signatureFromDer } from '../../../../functions/core/pat/ecdsa.ts';
import { order } from '../../../support/tokens.ts';

const hexOf = (number: bigint) => number.toString(16).padStart(64, '0');
const raw = (r: bigint, s: bigint) => Buffer.from(hexOf(r) + hexOf(s), 'hex');

function integer(number: bigint): Buffer {
  const hex = number.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  const content = (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes;
  return Buffer.concat([Buffer.from([0x02, content.length]), content]);
}

function der(r: bigint, s: bigint): Buffer {
  const content = Buffer.concat([integer(r), integer(s)]);
  return Buffer.concat([Buffer.from([0x30, content.length]), content]);
}

const scalar = fc.oneof(
  fc.bigInt({ min: 1n, max: order - 1n }),
  // short numbers break naive conversions
  fc.integer({ min: 0, max: 247 }).chain((bits) => fc.bigInt({ min: 1n, max: 1n << BigInt(bits + 1) })),
  fc.constantFrom(1n, 127n, 128n, 255n, order / 2n, order / 2n + 1n, order - 1n),
);

describe('signatureFromDer', () => {
  test('signatureFromDer keeps both numbers, pads them, and returns the lower s', () => {
    fc.assert(
      fc.property(scalar, scalar, (r, s) => {
        const signature = signatureFromDer(der(r, s));
        expect(signature).toEqual(raw(r, s > order / 2n ? order - s : s));
        expect(isCanonicalSignature(signature)).toBe(true);
      }),
    );
  });

  const good = der(1n << 200n, 1n << 100n);
  test.each([
    ['no bytes', Buffer.alloc(0)],
    ['r||s', raw(5n, 5n)],
    ['a byte too many', Buffer.concat([good, Buffer.alloc(1)])],
    ['a byte too few', good.subarray(0, -1)],
    ['a wrong length', Buffer.concat([Buffer.from([0x30, good.length]), good.subarray(2)])],
    ['another tag', Buffer.concat([Buffer.from([0x31]), good.subarray(1)])],
    ['r of zero', der(0n, 5n)],
    ['s of zero', der(5n, 0n)],
    ['r of n', der(order, 5n)],
    ['s of n', der(5n, order)],
    ['a negative r', Buffer.from('3006020180020105', 'hex')],
    ['a padded r', Buffer.from('300702020005020105', 'hex')],
    ['an empty r', Buffer.from('30050200020105', 'hex')],
    ['three numbers', Buffer.from('3009020105020105020105', 'hex')],
  ])('signatureFromDer refuses %s', (_, bytes) => {
    expect(() => signatureFromDer(bytes)).toThrow(new TypeError('not a DER signature'));
  });

  test('signatureFromDer throws only TypeError', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        expect(() => signatureFromDer(bytes)).toThrow(TypeError);
      }),
    );
  });
});

test.each([
  ['in range', raw(1n, 1n), true],
  ['with the highest lower s', raw(order - 1n, order / 2n), true],
  ['with the upper s', raw(1n, order / 2n + 1n), false],
  ['of 63 bytes', raw(1n, 1n).subarray(1), false],
])('a signature %s is canonical: %p', (_, signature, isCanonical) => {
  expect(isCanonicalSignature(signature)).toBe(isCanonical);
});
