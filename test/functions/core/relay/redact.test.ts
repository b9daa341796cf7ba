import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Credential } from '../../../../functions/core/credentials/credentials.ts';
import { openRedactor, partsOf } from '../../../../functions/core/relay/redact.ts';

const basic = `Basic ${Buffer.from('john.smith:pa/ss+w"örd').toString('base64')}`;
const credential = {
  headers: { 'X-Key': 's3cr3t/t0ken+1&<x>' },
  query: { api_key: 'with a space' },
  origins: [],
  next: { headers: { Authorization: basic, 'X-Short': 'abc' }, query: {} },
};
const hide = (text: string) => openRedactor(credential).hide(text);

describe('repeated values', () => {
  const key = 's3cr3t/t0ken+1&<x>';
  test.each<[string, string]>([
    ['as it is', key],
    ['percent-encoded', encodeURIComponent(key)],
    ['percent-encoded in lower case', encodeURIComponent(key).toLowerCase().replace('t0ken', 't0ken')],
    ['percent-encoded twice', encodeURIComponent(encodeURIComponent(key))],
    ['percent-encoded as a whole', [...Buffer.from(key)].map((byte) => `%${byte.toString(16)}`).join('')],
    ['in JSON with escaped slashes', key.replaceAll('/', '\\/')],
    ['in JSON with escaped characters', [...key].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')],
    ['in JSON in JSON', JSON.stringify(JSON.stringify(key)).slice(3, -3).replaceAll('/', '\\\\\\/')],
    ['in HTML', key.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')],
    [
      'in HTML by numbers',
      [...key].map((one, at) => (at % 2 ? `&#${one.charCodeAt(0)};` : `&#x${one.charCodeAt(0).toString(16)};`)).join(''),
    ],
    ['in a form', 'with+a+space'],
    ['in other case', key.toUpperCase()],
    ['in hexadecimal', Buffer.from(key).toString('hex')],
    ['in hexadecimal in upper case', Buffer.from(key).toString('hex').toUpperCase()],
    ['escaped as code of C, JavaScript or Python', [...Buffer.from(key)].map((byte) => `\\x${byte.toString(16)}`).join('')],
    ['escaped in octal', [...Buffer.from(key)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')],
    ['escaped with braces', [...Buffer.from(key)].map((byte) => `\\u{${byte.toString(16)}}`).join('')],
    ['as Basic', basic],
    ['as Basic without the scheme', basic.slice(6)],
    ['as the user of Basic', 'john.smith'],
    ['as the password of Basic', 'pa/ss+w"örd'],
    ['as both', 'john.smith:pa/ss+w"örd'],
    ['as the password, percent-encoded', encodeURIComponent('pa/ss+w"örd')],
    ['as the password in JSON', 'pa/ss+w\\"\\u00F6rd'],
  ])('a value that an upstream repeats is hidden %s', (_, text) => {
    expect(hide(`before ${text}, after`)).toBe('before [credential], after');
    expect(
      openRedactor(credential)
        .hideBytes(Buffer.from(`\0${text}\xff`))
        .toString(),
    ).toBe('\0[credential]\xff');
  });

  test.each<[string, (text: string) => Buffer]>([
    ['UTF-16, little end first', (text) => Buffer.from(text, 'utf16le')],
    ['UTF-16, big end first', (text) => Buffer.from(text, 'utf16le').swap16()],
    ['UTF-32', (text) => Buffer.from([...text].flatMap((one) => [0, 0, 0, one.charCodeAt(0)]))],
    ['Latin-1', (text) => Buffer.from(text, 'latin1')],
  ])('a value that an upstream repeats is hidden in undeclared %s', (_, encode) => {
    for (const secret of [key, 'pa/ss+w"örd']) {
      const bytes = encode(`before ${secret}, after`);
      const redactor = openRedactor(credential);
      for (const hidden of [redactor.hideBytes(bytes).toString('latin1'), redactor.hide(bytes.toString('latin1'))])
        expect(hidden.replaceAll('\0', '')).toBe('before [credential], after');
    }
  });

  test.each([0, 1, 2])('a value that an upstream repeats is hidden inside of base64, %i bytes from its beginning', (before) => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const encoded = Buffer.from(`${'x'.repeat(before)}${key} and more`).toString(encoding);
      const hidden = hide(encoded);
      expect(hidden).toContain('[credential]');
      expect(Buffer.from(hidden.replace('[credential]', ''), encoding).toString()).not.toContain('t0ken');
    }
  });

  test.each(['utf16le', 'utf16be'])('a value that an upstream repeats is hidden inside of %s in base64 and hexadecimal', (form) => {
    const wide = Buffer.from(`say ${key}!`, 'utf16le');
    const bytes = form === 'utf16be' ? wide.swap16() : wide;
    for (const encoding of ['base64', 'base64url', 'hex'] as const) {
      const hidden = hide(bytes.toString(encoding));
      expect(hidden).toContain('[credential]');
      expect(Buffer.from(hidden.replace('[credential]', ''), encoding).toString('latin1').replaceAll('\0', '')).not.toContain('t0ken');
    }
  });

  test.each<[string, string, string]>([
    ['\\key\\1%a', '\\\\key\\\\1%a', 'A'],
    ['\\key\\12%', '\\\\key\\\\12%', '41'],
    ['a/key/1&lt', 'a\\/key\\/1&lt', ';'],
    ['a&key&1\\u004', 'a&amp;key&amp;1\\u004', 'A'],
    ['a/key/1\\', 'a%2Fkey%2F1%5C', '"'],
  ])('a value is hidden before what could be the rest of another spelling: %s is spelt %s', (secret, spelt, after) => {
    const { hide } = openRedactor({ headers: { a: secret }, query: {}, origins: [] });
    expect(hide(`before ${spelt}${after} after`)).toBe(`before [credential]${after} after`);
  });

  test('a value that an upstream repeats is hidden twice, one inside of the other', () => {
    const { hide } = openRedactor({ headers: { a: 'abcabcab' }, query: {}, origins: [] });
    expect(hide('<abcabcabcab>')).toBe('<[credential]>');
  });

  test('a value is hidden wherever and however often it stands, and only then it is noted', () => {
    const redactor = openRedactor(credential);
    expect(redactor.hide('nothing here %41 \\u0041 &amp;')).toBe('nothing here %41 \\u0041 &amp;');
    expect(redactor.hasFound).toBe(false);
    expect(redactor.hide(`${key}${key} ü ${key}`)).toBe('[credential][credential] ü [credential]');
    expect(redactor.hasFound).toBe(true);
  });

  test('a value that a credential gets after an answer has been read is hidden, too, and so are those of a copy', () => {
    const token: Credential = { headers: { a: 'Bearer the-first-token' }, query: {}, origins: [] };
    expect(openRedactor(token).hide('the-first-token the-second-token')).toBe('[credential] the-second-token');
    token.next = { headers: { a: 'Bearer the-second-token' }, query: {} };
    for (const one of [token, { ...token }])
      expect(openRedactor(one).hide('the-first-token the-second-token')).toBe('[credential] [credential]');
  });

  test('the values of two credentials are hidden, whatever objects they share', () => {
    const none = {};
    for (const secret of ['the-first-secret', 'the-second-secret'])
      expect(openRedactor({ headers: none, query: { key: secret }, origins: [] }).hide(secret)).toBe('[credential]');
  });

  test('a value of fewer than 8 characters is not hidden, and without a credential nothing is', () => {
    expect(hide('abc')).toBe('abc');
    expect(hide('not-sent-and-not-hidden')).toBe('not-sent-and-not-hidden');
    expect(openRedactor(undefined).hide(key)).toBe(key);
    expect(openRedactor({ headers: { a: 'abc' }, query: {}, origins: [] }).hide('abcabcabcabc')).toBe('abcabcabcabc');
  });
});

test('the parts of a value that are secrets themselves are hidden, too', () => {
  expect(partsOf('Bearer abc.def')).toEqual(['Bearer abc.def', 'abc.def']);
  expect(partsOf('Token token="abc", nonce=def')).toEqual(['Token token="abc", nonce=def', 'token="abc", nonce=def', 'abc', 'def']);
  expect(partsOf(basic).slice(2)).toEqual(['john.smith:pa/ss+w"örd', 'john.smith', 'pa/ss+w"örd']);
  expect(partsOf(`Basic ${btoa('sk_live_1:')}`).slice(2)).toEqual(['sk_live_1:', 'sk_live_1']);
});

describe('any value and text', () => {
  const value = fc.string({ minLength: 8, maxLength: 40, unit: fc.constantFrom(...'abz019 /\\%&+"<>=._-~ü') });
  const clean = fc.string({ unit: fc.constantFrom(...'ABC {}[]:,\n') });
  const misleading = fc.string({ unit: fc.constantFrom(...'ABC {}%\\&"U04;') });
  const spelled = [(text: string) => text, encodeURIComponent, (text: string) => JSON.stringify(text).slice(1, -1)];
  test.each<[string, fc.Arbitrary<string>, (kept: string, after: string) => boolean]>([
    ['and the rest stays', clean, (kept, after) => kept === after],
    ['and no more than the beginning of what follows', misleading, (kept, after) => after.endsWith(kept)],
  ])('whatever the value and the text around it, the value is gone %s', (_, rest, isLeft) => {
    const property = fc.property(value, clean, rest, fc.constantFrom(...spelled), (secret, before, after, spell) => {
      // a part of the value that stands beside it, in whatever case, may be hidden with it
      const plain = (before + secret + after).toLowerCase();
      fc.pre(plain.indexOf(secret) === before.length && plain.lastIndexOf(secret) === before.length);
      const hidden = openRedactor({ headers: { a: secret }, query: {}, origins: [] }).hide(before + spell(secret) + after);
      const hiddenStart = `${before}[credential]`;
      expect(hidden.slice(0, hiddenStart.length)).toBe(hiddenStart);
      expect(isLeft(hidden.slice(hiddenStart.length), after)).toBe(true);
    });
    fc.assert(property, { numRuns: 1_000 });
  });
});

test('a megabyte of what could be the beginning of something takes no time', () => {
  const large = {
    headers: Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, `${name}${'/%\\x'.repeat(1_000)}`])),
    query: {},
    origins: [],
  };
  const { hide: hideLarge } = openRedactor(large);
  const startedMs = performance.now();
  for (const part of ['\\', '%', '%25', '&amp;', '\\u00', 'a/%\\x']) hideLarge(part.repeat(1_000_000 / part.length));
  expect(performance.now() - startedMs).toBeLessThan(60_000);
});
