import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../../functions/core/json/json.ts';
import { cutAnswer } from '../../../../functions/core/relay/cut.ts';
import { parseExact } from '../../../../schemas/number.ts';

const items = (count: number) => Array.from({ length: count }, (_, id) => ({ id, name: `item ${id}` }));
const size = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const place = (value: unknown, at: string): unknown =>
  at
    .split('/')
    .slice(1)
    .reduce((inner: unknown, name) => Reflect.get(Object(inner), name.replaceAll('~1', '/').replaceAll('~0', '~')), value);

describe('an answer', () => {
  test('an answer that is small enough is not cut', () => {
    const answer = { items: items(3) };
    expect(cutAnswer(answer, size(answer))).toEqual({ body: answer });
    expect(cutAnswer({ items: items(100_000) })).toEqual({ body: { items: expect.any(Array) } });
  });

  test('an answer is cut at an item of its largest list, and what stands beside it stays', () => {
    const answer = { page: { next: 'token' }, data: { 'a/b': items(412) }, total: 412 };
    const { body, cut } = cutAnswer(answer, 2_000);
    const kept = (body.data as { 'a/b': unknown[] })['a/b'];
    expect(body).toEqual({ ...answer, data: { 'a/b': items(412).slice(0, kept.length) }, cut });
    expect(cut).toEqual({ at: `/data/a~1b/${kept.length}`, total: 412 });
    expect(Object.keys(body)).toEqual(['page', 'data', 'total', 'cut']);
    expect(size(body)).toBeLessThanOrEqual(2_000);
    expect(size(body)).toBeGreaterThan(1_900);
  });

  test('an answer loses the one member that is too large', () => {
    expect(cutAnswer({ id: 1, html: 'x'.repeat(5_000), name: 'n' }, 200)).toEqual({
      body: { id: 1, name: 'n', cut: { at: '/html', total: 3 } },
      cut: { at: '/html', total: 3 },
    });
    expect(cutAnswer({ base64: 'x'.repeat(5_000), content_type: 'image/png' }, 200).body).toEqual({
      content_type: 'image/png',
      cut: { at: '/base64', total: 2 },
    });
  });

  test('an answer that is text is cut at a character', () => {
    const answer = { value: '"ü😀'.repeat(1_000), content_type: 'text/csv' };
    const { body, cut } = cutAnswer(answer, 300);
    expect(cut).toEqual({ at: '/value', total: 3_000 });
    expect(body).toEqual({ value: expect.any(String), content_type: 'text/csv', cut });
    expect(answer.value.startsWith(String(body.value))).toBe(true);
    expect(String(body.value).isWellFormed()).toBe(true);
    expect(size(body)).toBeLessThanOrEqual(300);
    expect(size(body)).toBeGreaterThan(280);
  });

  test('an answer with a member called cut keeps it', () => {
    const { body, cut } = cutAnswer({ cut: 'sirloin', items: items(100) }, 500);
    expect(body).toEqual({ cut: 'sirloin', items: expect.any(Array) });
    expect(cut).toEqual({ at: `/items/${(body.items as unknown[]).length}`, total: 100 });
  });

  test('an answer keeps every digit', () => {
    const answer = parseExact(`{"items":[${Array(100).fill('9007199254740993,1.10').join(',')}]}`) as JsonObject;
    expect(JSON.stringify(cutAnswer(answer, 120).body)).toMatch(
      /^\{"items":\[9007199254740993,1\.10,.*\],"cut":\{"at":"\/items\/\d","total":200\}\}$/,
    );
  });

  test('an answer of any form fits, and the rest is what it was', () => {
    const json = fc.letrec<{ value: JsonValue; object: JsonObject }>((tie) => ({
      value: fc.oneof({ maxDepth: 5 }, fc.string(), fc.integer(), fc.array(tie('value'), { maxLength: 20 }), tie('object')),
      object: fc.dictionary(
        fc.string({ minLength: 1 }).filter((name) => name !== '__proto__'),
        tie('value'),
        { maxKeys: 12 },
      ),
    })).object;
    fc.assert(
      fc.property(json, fc.integer({ min: 100, max: 2_000 }), (answer, maxBytes) => {
        const { body, cut } = cutAnswer(answer, maxBytes);
        expect(size(body)).toBeLessThanOrEqual(maxBytes);
        expect(cut === undefined).toBe(size(answer) <= maxBytes);
        if (cut === undefined) return expect(body).toBe(answer);
        // what was left out was there, and is not any more
        expect(place(answer, cut.at)).toBeDefined();
        if (cut.at !== '/value') expect(place(body, cut.at)).not.toEqual(place(answer, cut.at));
        return undefined;
      }),
      { numRuns: 300 },
    );
  });

  test('an answer of many nested lists is cut in no time', () => {
    const deep = JSON.parse(`${'['.repeat(150)}${Array(10_000).fill('[1,[2]]').join(',')}${']'.repeat(150)}`);
    expect(size(cutAnswer({ deep, wide: Array(20_000).fill(1) }, 10_000).body)).toBeLessThanOrEqual(10_000);
  });
});
