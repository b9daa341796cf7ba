import { describe, expect, test } from '@jest/globals';
import { describeHead, narrowHead } from '../../../../functions/core/relay/answer-headers.ts';
import { openRedactor } from '../../../../functions/core/relay/redact.ts';

const secret = 'S3cr3t-T0ken.Value';
const redactor = openRedactor({ headers: { 'X-Key': secret }, query: {}, origins: [] });

/** @param named - the header fields that the intent names; with `fields`, they are the only ones that may leave */
function headOf(headers: Record<string, string | string[]>, named?: string[], fields?: string[]) {
  const answer = { status: 201, headers, url: 'https://up.example/', body: Buffer.alloc(0), redactor, durationMs: 1 };
  const endpoint = { url: 'https://up.example/', method: 'POST' as const, content_type: 'application/json' };
  const { 'Upstream-Status': status, ...head } = describeHead(answer, {
    endpoint: { ...endpoint, ...(named && { response_headers: named }) },
    ...(fields && { fields }),
  });
  expect(status).toBe('201');
  return head;
}

const link = (rel: string, length: number) => `<https://up.example/${'x'.repeat(length)}>; rel="${rel}"`;

test.each<[string, Record<string, string | string[]>, string[] | undefined, Record<string, string>]>([
  [
    'the usual ones, if they are there',
    { location: '/orders/4711', etag: 'W/"1"', 'operation-location': '/jobs/1', link: '</o?p=2>; rel="next"', 'x-total-count': '412' },
    undefined,
    {
      'Upstream-Location': '/orders/4711',
      'Upstream-Link': '</o?p=2>; rel="next"',
      'Upstream-ETag': 'W/"1"',
      'Upstream-Operation-Location': '/jobs/1',
    },
  ],
  [
    'those that the intent names',
    { 'x-total-count': '412', 'x-other': '1' },
    ['X-Total-Count', 'X-Absent'],
    { 'Upstream-X-Total-Count': '412' },
  ],
  ['each once, in whatever case', { etag: '"1"', 'x-a': '2' }, ['etag', 'X-A', 'x-a'], { 'Upstream-ETag': '"1"', 'Upstream-X-A': '2' }],
  ['none that objects have anyway', {}, ['constructor', '__proto__', 'toString'], {}],
  ['none that is empty', { etag: '' }, undefined, {}],
  [
    'UTF-8, percent-encoded',
    { location: Buffer.from('/orders/zoë').toString('latin1') },
    undefined,
    { 'Upstream-Location': '/orders/zo%C3%AB' },
  ],
  ['Latin-1, percent-encoded', { 'x-name': 'Zo\xeb' }, ['X-Name'], { 'Upstream-X-Name': 'Zo%EB' }],
  ['on one line', { 'x-name': ' a\t\tb\r\nSet-Cookie: c ' }, ['X-Name'], { 'Upstream-X-Name': 'a b Set-Cookie: c' }],
  ['without the credential', { location: `/a?key=${secret}&b` }, undefined, { 'Upstream-Location': '/a?key=[credential]&b' }],
  [
    'without the credential in another form',
    { etag: `"${Buffer.from(secret).toString('hex')}"`, location: `/a?key=${secret.replaceAll('-', '%2D')}` },
    undefined,
    { 'Upstream-ETag': '"[credential]"', 'Upstream-Location': '/a?key=[credential]' },
  ],
  ['a coding that stays', { 'content-encoding': 'compress' }, undefined, { 'Upstream-Content-Encoding': 'compress' }],
  ['not a coding that is decoded or is none', { 'content-encoding': 'utf-8, gzip' }, undefined, {}],
])('callers get header fields of the answer: %s', (_, headers, named, expected) => {
  expect(headOf(headers, named)).toEqual(expected);
});

describe('long header fields', () => {
  test.each<[string, Record<string, string>, string[] | undefined, Record<string, string>]>([
    ['1 KB', { location: 'x'.repeat(1_024) }, undefined, { 'Upstream-Location': 'x'.repeat(1_024) }],
    ['more', { location: 'x'.repeat(1_025), etag: '"1"' }, undefined, { 'Upstream-ETag': '"1"', 'Upstream-Cut': 'Location' }],
    ['8 KB', { 'x-a': 'x'.repeat(8_192) }, ['X-A'], { 'Upstream-Cut': 'X-A' }],
    ['more once it is encoded', { 'x-a': '\xeb'.repeat(500) }, ['X-A'], { 'Upstream-Cut': 'X-A' }],
    [
      'links, of which the next page stays, and whole ones',
      { link: [link('first', 400), link('prev', 700), link('last', 400), link('next', 400)].join(', ') },
      undefined,
      { 'Upstream-Link': `${link('next', 400)}, ${link('first', 400)}`, 'Upstream-Cut': 'Link' },
    ],
    ['one link', { link: link('next', 2_000) }, undefined, { 'Upstream-Cut': 'Link' }],
    [
      'a link beside one that is too long',
      { link: `${link('next prefetch', 2_000)},${link('prev', 10)}` },
      undefined,
      { 'Upstream-Link': link('prev', 10), 'Upstream-Cut': 'Link' },
    ],
  ])('a header field that is too long is left out, and named: %s', (_, headers, named, expected) => {
    expect(headOf(headers, named)).toEqual(expected);
  });

  test('header fields have 4 KB in all, the usual ones first', () => {
    const named = Array.from({ length: 50 }, (_, at) => `X-Name-${at}`);
    const headers = { ...Object.fromEntries(named.map((name) => [name.toLowerCase(), 'x'.repeat(300)])), location: '/a' };
    const { 'Upstream-Cut': cut = '', ...head } = headOf(headers, named);
    expect(cut.split(', ').length).toBeGreaterThan(5);
    expect(Object.keys(head)).toEqual(['Upstream-Location', ...named.slice(0, 12).map((name) => `Upstream-${name}`)]);
    expect(
      Object.entries({ ...head, 'Upstream-Cut': cut })
        .flat()
        .join('').length,
    ).toBeLessThanOrEqual(4_096);
    expect(cut).toBe([...named.slice(12, 11 + cut.split(', ').length), '...'].join(', '));
  });
});

describe('fields', () => {
  test('fields also limits the list of header fields', () => {
    const headers = { location: '/customers/7', etag: '"1"', 'x-total': '4' };
    expect(headOf(headers, undefined, ['/name'])).toEqual({});
    expect(headOf(headers, ['X-Total', 'location'], ['/name'])).toEqual({ 'Upstream-X-Total': '4', 'Upstream-location': '/customers/7' });
  });

  test('a stored answer loses what may no longer leave', () => {
    const stored = { 'Upstream-Status': '201', 'Upstream-Location': '/customers/7', 'Upstream-X-Total': '4', 'Answer-Issues': '/a' };
    const endpoint = {
      url: 'https://up.example/',
      method: 'GET' as const,
      content_type: 'application/json',
      response_headers: ['X-Total'],
    };
    expect(narrowHead(stored, { endpoint })).toEqual(stored);
    expect(narrowHead(stored, {})).toEqual(stored);
    const { 'Upstream-Location': _, ...allowed } = stored;
    expect(narrowHead(stored, { endpoint, fields: ['/name'] })).toEqual(allowed);
    const { 'Upstream-X-Total': __, ...withoutTotal } = stored;
    expect(narrowHead(stored, { endpoint: { ...endpoint, response_headers: [] } })).toEqual(withoutTotal);
    expect(narrowHead(stored, { endpoint: { ...endpoint, response_headers: ['x-total'] } })).toEqual(stored);
  });
});
