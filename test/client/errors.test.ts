import { describe, expect, test } from '@jest/globals';
import { connect, type ErrorCode, type GateErrorCode, gateErrorCodes, Refusal, UnexpectedAnswer } from '../../client/connect.ts';
import { type ErrorCode as CodeOfTable, errorTable } from '../../schemas/errors.ts';

const refusal = (details: Record<string, unknown>) =>
  new Refusal({
    status: 422,
    code: 'INTENT_EXECUTION_FAILED',
    message: 'Refused.',
    details,
    requestId: undefined,
    retryAfterMs: undefined,
  });

test("the codes are those of the gate's table, for programs and for the compiler", () => {
  expect([...gateErrorCodes].sort()).toEqual(Object.keys(errorTable).sort());
  const codes: CodeOfTable[] = [...gateErrorCodes];
  const back: GateErrorCode[] = Object.keys(errorTable) as CodeOfTable[];
  expect(codes.length).toBe(back.length);
  const isOther = (code: ErrorCode): boolean =>
    // @ts-expect-error: a code that does not exist
    code === 'INVALID_PARAMTER';
  expect(isOther('INVALID_PARAMETER')).toBe(false);
});

describe('the reason given by the service', () => {
  test.each<[string, unknown, string]>([
    ['an object', { error: 'time_zone must be an IANA time zone' }, '{"error":"time_zone must be an IANA time zone"}'],
    ['a text on several lines', 'no\r\n such\tzone ', 'no such zone'],
    ['what a terminal obeys', 'a\u001b[2Jb\u202ec\u0000', 'a[2Jbc'],
    ['null', null, 'null'],
  ])('the reason given by the service is the second line of the message: %s', (_, upstream_body, said) => {
    expect(refusal({ upstream_body }).message).toBe(`Refused.\nThe service said: ${said}`);
  });

  test.each([{}, { upstream_status: 500 }, { upstream_body: '' }, { upstream_body: ' \u200b\n' }])(
    'the reason given by the service is left out if it is nothing: %j',
    (details) => {
      expect(refusal(details).message).toBe('Refused.');
    },
  );

  test('the reason given by the service has at most 1 KB, cut between characters', () => {
    const [, said = ''] = refusal({ upstream_body: '€'.repeat(1000) }).message.split('The service said: ');
    expect(said).toMatch(/^€+…$/);
    const { length } = Buffer.from(said);
    expect(length).toBeLessThanOrEqual(1024);
    expect(length).toBeGreaterThan(1018);
  });
});

test('unrelated JSON is not accepted as a response of a gate', async () => {
  const gate = await connect('https://gate.example', {
    agentId: 'a',
    onPolicy: () => true,
    fetch: async () => new Response('{"method":"GET"}'),
  });
  await expect(gate.search('x')).rejects.toThrow(UnexpectedAnswer);
  await expect(gate.get('a:b:v1')).rejects.toThrow(UnexpectedAnswer);
});
