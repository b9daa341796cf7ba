import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type Format, formats } from '../../../../functions/core/parameters/formats.ts';

const cases: [format: Format, isRight: boolean, ...texts: string[]][] = [
  ['date', true, '2026-02-28', '2024-02-29', '2000-02-29', '0000-01-01', '9999-12-31'],
  ['date', false, '2026-02-30', '2026-02-29', '1900-02-29', '2026-13-01', '2026-00-01', '2026-01-00', '26-01-01', '2026-01-01Z'],
  ['date', false, '２０２６-01-01'],
  ['date-time', true, '2026-11-20T23:59:59Z', '2026-11-20t23:59:59z', '2026-11-20T23:59:59.123456789+23:59', '1998-12-31T23:59:60Z'],
  ['date-time', true, '1998-12-31T15:59:60.5-08:00', '1999-01-01T05:29:60+05:30'],
  ['date-time', false, '2026-02-30T00:00:00Z', '2026-11-20T24:00:00Z', '2026-11-20T22:59:60Z', '1998-12-31T23:59:60+01:00'],
  ['date-time', false, '2026-11-20T23:59:59', '2026-11-20T23:59:59+24:00', '2026-11-20T23:59:59+0100', '2026-11-20T23:59:59.Z'],
  ['date-time', false, '2026-11-20 23:59:59Z'],
  ['email', true, 'a@b', "o'neill+tag@mail.example.com", 'first.last@example.com', `${'a'.repeat(64)}@example.com`],
  ['email', false, 'a', '@b', 'a@', 'a b@c', '.a@b', 'a.@b', 'a..b@c', 'a@b@c', 'a@-b', 'a@b.', `${'a'.repeat(65)}@example.com`, '<a@b>'],
  ['hostname', true, 'a', 'example.com', 'xn--mnchen-3ya.de', '1.example', `${'a'.repeat(63)}.com`],
  ['hostname', false, '', '.', 'a.', '-a', 'a-', 'a_b', 'a..b', 'münchen.de', `${'a'.repeat(64)}.com`, `${'a.'.repeat(127)}a`],
  ['ipv4', true, '0.0.0.0', '255.255.255.255'],
  ['ipv4', false, '256.0.0.1', '1.2.3', '1.2.3.4.5', '01.2.3.4', '0x7f.0.0.1', '1.2.3.4 ', '１.2.3.4', '2130706433'],
  ['ipv6', true, '::', '::1', '2001:db8::1', '::ffff:1.2.3.4', '1:2:3:4:5:6:7:8'],
  ['ipv6', false, '1.2.3.4', ':', ':::', '1::2::3', 'fe80::1%eth0', '[::1]', '1:2:3:4:5:6:7', '12345::', '::ffff:256.0.0.1'],
  ['uri', true, 'https://example.com', 'https://user@example.com:8080/a%20b?c=d/e?#f', 'urn:isbn:0451450523', 'mailto:a@b.example'],
  ['uri', true, 'http://[::1]:80/', 'file:///etc/hosts', 'a:'],
  ['uri', false, '', '/a', '//example.com/a', 'example.com', 'https://example.com/ä', 'https://a/%zz', 'https://[::1'],
  ['uri', false, 'https://[1.2.3.4]/', 'https://a:b:c/', 'https://a/#b#c', 'https://a/{b}'],
  ['uri-reference', true, '', '/a', '//example.com/a', '?a', '#a', 'a/b:c', '../a', 'https://example.com/'],
  ['uri-reference', false, 'a b', '\\a', '1a:b', '/%', '#a#b', '//[::g]/', 'ä'],
  ['uuid', true, '123e4567-e89b-12d3-a456-426614174000', '00000000-0000-0000-0000-000000000000', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF'],
  ['uuid', false, '123e4567e89b12d3a456426614174000', '{123e4567-e89b-12d3-a456-426614174000}', '123e4567-e89b-12d3-a456-42661417400g'],
];

test.each(cases)('texts match the format %s: %s', (format, isRight, ...texts) => {
  for (const text of texts) {
    expect([text, formats[format].holds(text)]).toEqual([text, isRight]);
    expect([`${text} and a line break`, formats[format].holds(`${text}\n`)]).toEqual([`${text} and a line break`, false]);
  }
});

test('every date that JavaScript writes is a date and a date-time', () => {
  fc.assert(
    fc.property(fc.date({ min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }), (date) => {
      expect(formats['date-time'].holds(date.toISOString())).toBe(true);
      expect(formats.date.holds(date.toISOString().slice(0, 10))).toBe(true);
    }),
  );
});

test('every address that URLs are made of is a uri', () => {
  fc.assert(fc.property(fc.webUrl({ withFragments: true, withQueryParameters: true }), (url) => expect(formats.uri.holds(url)).toBe(true)));
});
