import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ApiError } from '../../../../functions/core/api-error.ts';
import { mapAnswer } from '../../../../functions/core/relay/answer.ts';
import { type ErrorCode, errorTable } from '../../../../schemas/errors.ts';
import type { Parameter } from '../../../../schemas/parameter.ts';

const total: Parameter = { name: 'total', type: 'number', required: true };
const note: Parameter = { name: 'note', type: 'string' };

const map = (status: number, body: string | Buffer, outputs: Parameter[] = [], retryAfter?: string) =>
  mapAnswer(
    { status, body: Buffer.from(body), durationMs: 1, ...(retryAfter !== undefined && { retryAfter }) },
    { output_parameters: outputs },
  );

function refusal(call: () => unknown): ApiError {
  try {
    call();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

const show = ({ code, status, message, details, headers }: ApiError) => ({ code, status, message, details, headers });

describe('an answer in the 200s', () => {
  test.each<[number, string, Parameter[], unknown]>([
    [200, '{"total":1,"more":[true]}', [total], { total: 1, more: [true] }],
    [201, '{"total":1.5,"note":null}', [total, note], { total: 1.5, note: null }],
    [200, '\ufeff{"total":1}', [total], { total: 1 }],
    [200, ' {} \n', [], {}],
    [204, '', [], {}],
    [200, '', [note], {}],
    [202, '{"error":{"code":"UNAUTHORIZED","message":"forged"}}', [], { error: { code: 'UNAUTHORIZED', message: 'forged' } }],
    [200, '[1,2]', [{ name: 'items', type: 'array', required: true }], { items: [1, 2] }],
    [200, '"text"', [note], { note: 'text' }],
    [200, '0', [total], { total: 0 }],
    [200, 'null', [{ name: 'nothing', type: 'null' }], { nothing: null }],
    [200, '{"toString":1}', [], { toString: 1 }],
  ])('%i %s', (status, body, outputs, expected) => {
    expect(map(status, body, outputs)).toEqual(expected);
  });

  const mismatch = "The answer of the intent's endpoint does not match the output_parameters. Tell the service's operators.";
  const noJson = "The intent's endpoint did not answer in JSON that can be passed on. Tell the service's operators.";
  const noObject = "The intent's endpoint did not answer with a JSON object. Tell the service's operators.";

  test.each<[string, number, string | Buffer, Parameter[], string, unknown[] | undefined]>([
    ['a missing member', 200, '{}', [total], mismatch, [{ path: '/total', problem: 'is required and must be a number' }]],
    ['a member of another type', 200, '{"total":"1"}', [total], mismatch, [{ path: '/total', problem: 'must be a number' }]],
    ['nothing if something is required', 204, '', [total], mismatch, [{ path: '/total', problem: 'is required and must be a number' }]],
    ['a scalar of another type', 200, '"1"', [total], mismatch, [{ path: '/total', problem: 'must be a number' }]],
    ['an array without a place', 200, '[]', [], noObject, undefined],
    ['a scalar with two places', 200, '1', [total, note], noObject, undefined],
    ['HTML', 200, '<!doctype html>', [], noJson, undefined],
    ['half an object', 200, '{"total":', [total], noJson, undefined],
    ['duplicate members', 200, '{"total":1,"total":2}', [total], noJson, undefined],
    ['__proto__', 200, '{"__proto__":{"admin":true},"total":1}', [total], noJson, undefined],
    ['a number out of range', 200, '{"total":1e400}', [total], noJson, undefined],
    ['depth', 200, '['.repeat(5000) + ']'.repeat(5000), [note], noJson, undefined],
    ['no UTF-8', 200, Buffer.from([0x22, 0xff, 0x22]), [note], noJson, undefined],
    ['NaN', 200, 'NaN', [total], noJson, undefined],
  ])('with %s fails', (_, status, body, outputs, message, issues) => {
    expect(show(refusal(() => map(status, body, outputs)))).toEqual({
      code: 'INTENT_EXECUTION_FAILED',
      status: 502,
      message,
      details: { upstream_status: status, ...(issues && { issues, ...(body !== '' && { upstream_body: JSON.parse(String(body)) }) }) },
      headers: {},
    });
  });
});

describe('another status', () => {
  const parametersRefused = "The intent's endpoint refused the parameters. details.upstream_body says why, if the endpoint gave a reason.";
  const failed = "The intent's endpoint failed. Try again later, or tell the service's operators.";
  const notLetIn = "The intent's endpoint does not let this gate in. Tell the service's operators.";
  const notSupported = "The intent's endpoint does not support the operation. Tell the service's operators.";
  const redirects = "The intent's endpoint redirects, which is not followed. Tell the service's operators.";
  const gone = "The intent's endpoint says that it is gone. Search for another intent.";
  const busy = "The intent's endpoint accepts no more calls for now. Try again after Retry-After.";

  test.each<[number, ErrorCode, number, string]>([
    [301, 'INTENT_EXECUTION_FAILED', 502, redirects],
    [304, 'INTENT_EXECUTION_FAILED', 502, redirects],
    [400, 'INTENT_EXECUTION_FAILED', 422, parametersRefused],
    [401, 'INTENT_EXECUTION_FAILED', 502, notLetIn],
    [403, 'INTENT_EXECUTION_FAILED', 502, notLetIn],
    [404, 'INTENT_EXECUTION_FAILED', 422, parametersRefused],
    [405, 'INTENT_NOT_SUPPORTED', 501, notSupported],
    [409, 'INTENT_EXECUTION_FAILED', 422, parametersRefused],
    [410, 'INTENT_DEPRECATED', 410, gone],
    [422, 'INTENT_EXECUTION_FAILED', 422, parametersRefused],
    [499, 'INTENT_EXECUTION_FAILED', 422, parametersRefused],
    [500, 'INTENT_EXECUTION_FAILED', 502, failed],
    [501, 'INTENT_NOT_SUPPORTED', 501, notSupported],
    [503, 'INTENT_EXECUTION_FAILED', 502, failed],
    [599, 'INTENT_EXECUTION_FAILED', 502, failed],
    [999, 'INTENT_EXECUTION_FAILED', 502, failed],
  ])('%i', (upstreamStatus, code, status, message) => {
    expect(show(refusal(() => map(upstreamStatus, '')))).toEqual({
      code,
      status,
      message,
      details: { upstream_status: upstreamStatus },
      headers: {},
    });
  });

  test.each<[string | undefined, string]>([
    [undefined, '5'],
    ['30', '30'],
    ['0', '1'],
    ['1e9', '5'],
    ['1000000000', '3600'],
    ['-1', '5'],
    ['Wed, 21 Oct 2099 07:28:00 GMT', '5'],
    ['9'.repeat(400), '5'],
  ])('429 with Retry-After %s', (field, seconds) => {
    expect(show(refusal(() => map(429, '{"error":{"code":"UNAUTHORIZED"}}', [], field)))).toEqual({
      code: 'SERVICE_UNAVAILABLE',
      status: 503,
      message: busy,
      details: { upstream_status: 429 },
      headers: { 'Retry-After': seconds },
    });
  });

  test.each<[string, string, unknown]>([
    ['JSON', '{"error":{"code":"UNAUTHORIZED","message":"forged"}}', { error: { code: 'UNAUTHORIZED', message: 'forged' } }],
    ['a scalar', '"no such city"', 'no such city'],
    ['4 KB', `"${'x'.repeat(4094)}"`, 'x'.repeat(4094)],
    ['more than 4 KB', `"${'x'.repeat(4095)}"`, undefined],
    ['HTML', '<p>no</p>', undefined],
    ['nothing', '', undefined],
  ])('400 with %s shows it below details', (_, body, shown) => {
    const { details } = refusal(() => map(400, body));
    expect(details).toEqual({ upstream_status: 400, ...(shown !== undefined && { upstream_body: shown }) });
  });

  test("a failure that is not the agent's shows no body", () => {
    expect(refusal(() => map(500, '{"stack":"at secret.ts"}')).details).toEqual({ upstream_status: 500 });
  });
});

test('whatever the answer, the outcome is an object or one of the errors of execution', () => {
  const codes: ErrorCode[] = ['INTENT_EXECUTION_FAILED', 'INTENT_NOT_SUPPORTED', 'INTENT_DEPRECATED', 'SERVICE_UNAVAILABLE'];
  const body = fc.oneof(
    fc.json(),
    fc.string({ unit: 'binary' }),
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
  );
  fc.assert(
    fc.property(
      fc.integer({ min: 100, max: 999 }),
      body,
      fc.constantFrom<Parameter[]>([], [total], [total, note]),
      (status, text, outputs) => {
        try {
          const answer = map(status, text, outputs);
          expect(status >= 200 && status < 300 && typeof answer === 'object' && !Array.isArray(answer)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
          expect(codes).toContain((error as ApiError).code);
          expect([422, errorTable[(error as ApiError).code].status]).toContain((error as ApiError).status);
        }
      },
    ),
  );
});
