import { describe, expect, test } from '@jest/globals';
import { continueTrace, currentTrace, readTrace, traceHeaders, withinTrace } from '../../../../functions/core/runtime/trace.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const parentId = 'b7ad6b7169203331';
const valid = `00-${traceId}-${parentId}-01`;

describe('a traceparent', () => {
  test.each<[string, string, string]>([
    ['sampled', valid, '01'],
    ['not sampled', `00-${traceId}-${parentId}-00`, '00'],
    ['with a random trace id', `00-${traceId}-${parentId}-03`, '03'],
    ['of a later version, with more fields', `cc-${traceId}-${parentId}-01-what-the-future-brings`, '01'],
    ['of the last version', `fe-${traceId}-${parentId}-01-`, '01'],
  ])('a traceparent is continued by a part of its own: %s', (_, traceparent, flags) => {
    const trace = readTrace(traceparent, '');
    expect(trace).toEqual({ traceId, spanId: expect.stringMatching(/^[0-9a-f]{16}$/), flags });
    expect(trace?.spanId).not.toBe(parentId);
    expect(readTrace(traceparent, '')?.spanId).not.toBe(trace?.spanId);
    expect(withinTrace(trace, traceHeaders)).toEqual({ traceparent: `00-${traceId}-${trace?.spanId}-${flags}` });
  });

  test.each<[string, unknown]>([
    ['absent', undefined],
    ['a list', [valid]],
    ['of the forbidden version', `ff-${traceId}-${parentId}-01`],
    ['without a trace id', `00-${'0'.repeat(32)}-${parentId}-01`],
    ['without a parent id', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['in capitals', valid.toUpperCase()],
    ['of version 00, with more fields', `${valid}-00`],
    ['with a line break', `${valid}\n`],
  ])('a traceparent is ignored: %s', (_, traceparent) => {
    expect(readTrace(traceparent, 'a=1')).toBeUndefined();
  });
});

describe('a tracestate', () => {
  test.each<[string, string]>([
    ['of several, with spaces', 'rojo=00f067aa0ba902b7 , congo=t61rcWkgMzE'],
    ['of 512 characters', `a=${'x'.repeat(254)},b=${'x'.repeat(253)}`],
  ])('a tracestate is passed on unchanged: %s', (_, state) => {
    expect(withinTrace(readTrace(valid, state), traceHeaders)).toMatchObject({ tracestate: state });
  });

  test.each<[string, unknown]>([
    ['absent', undefined],
    ['a list', ['a=1']],
    ['of 513 characters', `a=${'x'.repeat(254)},b=${'x'.repeat(254)}`],
    ['with a line break', 'a=1\r\nX-Admin: 1'],
  ])('a tracestate is left out: %s', (_, state) => {
    const headers = withinTrace(readTrace(valid, state), traceHeaders);
    expect(Object.keys(headers)).toEqual(['traceparent']);
  });
});

test('outside a trace nothing is sent', () => {
  expect([currentTrace(), traceHeaders(), withinTrace(undefined, traceHeaders)]).toEqual([undefined, {}, {}]);
});

test('a message moves its own invocation to its trace, and no other', async () => {
  const ofMessage = readTrace(valid, undefined);
  const turn = Promise.withResolvers<void>();
  const [moved, other] = [readTrace(valid, undefined), readTrace(valid, undefined)];
  const seen = await Promise.all([
    withinTrace(moved, async () => {
      const inner = async () => ofMessage && continueTrace(ofMessage);
      await inner();
      turn.resolve();
      return currentTrace();
    }),
    withinTrace(other, async () => {
      await turn.promise;
      return currentTrace();
    }),
  ]);
  expect(seen).toEqual([ofMessage, other]);
});
