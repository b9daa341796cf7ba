import { type ErrorCode, errorTable } from '../../schemas/errors.ts';
import type { ApiResponse, Reference } from '../../schemas/openapi.ts';
import { commonErrors } from '../endpoints/endpoint.ts';
import type { Endpoint } from '../endpoints.ts';

const moreStatuses: Partial<Record<ErrorCode, number>> = { INTENT_EXECUTION_FAILED: 422 };

const exampleDetails: Partial<Record<ErrorCode, Record<string, unknown>>> = {
  INVALID_PARAMETER: { issues: [{ path: '/intent_uid', problem: 'is required' }] },
  FORBIDDEN: { reason: 'policy_changed' },
  VERSION_CONFLICT: { supported_versions: ['v2'] },
  INTENT_DEPRECATED: { successor: 'world.example:format-number:v2' },
  INTENT_EXECUTION_FAILED: { upstream_status: 500 },
};

const headersOf: Partial<Record<ErrorCode, string[]>> = {
  UNAUTHORIZED: ['WWW-Authenticate'],
  CONFLICT: ['Retry-After'],
  TOO_MANY_REQUESTS: ['Retry-After'],
  SERVICE_UNAVAILABLE: ['Retry-After'],
  INTENT_EXECUTION_FAILED: ['Retry-After'],
  INTENT_NOT_SUPPORTED: ['Retry-After'],
  INTENT_DEPRECATED: ['Retry-After'],
};

const example = (code: ErrorCode, protocol: string) => {
  const { meaning, reference } = errorTable[code];
  const details = {
    ...exampleDetails[code],
    reference: `${protocol.toUpperCase()}-${reference}`,
    request_id: '4f0c1d8e-6a55-4d1b-9a35-8f4f5f6a2c11',
  };
  return { summary: code, value: { error: { code, message: meaning.replaceAll('`', ''), details } } };
};

/** Error responses as components, one per kind. */
export function openErrorResponses(protocol: string) {
  const responses: Record<string, ApiResponse> = {
    Refusal: { description: 'Any other refusal.', headers: headers(['X-Request-Id']), content: content([]) },
  };
  const used = new Set<ErrorCode>();

  function refer(status: string, codes: ErrorCode[]): Reference {
    const isOwnStatus = codes.every((code) => String(errorTable[code].status) === status);
    const name = [...codes, ...(isOwnStatus ? [] : [status])].join('-');
    for (const code of codes) used.add(code);
    responses[name] = {
      description: codes.map((code) => `**${code}**: ${errorTable[code].meaning}`).join('\n\n'),
      headers: headers([...new Set(['X-Request-Id', ...codes.flatMap((code) => headersOf[code] ?? [])])]),
      content: content(codes),
    };
    return { $ref: `#/components/responses/${name}` };
  }

  return {
    responses,
    examples: () => Object.fromEntries([...used].sort().map((code) => [code, example(code, protocol)])),
    of: ({ errors, method }: Endpoint): Record<string, Reference> => {
      const pairs = [...new Set([...errors, ...commonErrors])].flatMap((code): [status: number, code: ErrorCode][] => {
        const isTooLarge = code === 'INVALID_PARAMETER' && (method === 'POST' || method === 'PUT');
        const more = isTooLarge ? 413 : moreStatuses[code];
        return [[errorTable[code].status, code], ...(more === undefined ? [] : ([[more, code]] as [number, ErrorCode][]))];
      });
      const byStatus = Map.groupBy(pairs, ([status]) => String(status));
      return {
        ...Object.fromEntries(
          [...byStatus].map(([status, group]) => [
            status,
            refer(
              status,
              group.map(([, code]) => code),
            ),
          ]),
        ),
        default: { $ref: '#/components/responses/Refusal' },
      };
    },
  };
}

const headers = (names: string[]): Record<string, Reference> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const content = (codes: ErrorCode[]): NonNullable<ApiResponse['content']> => ({
  'application/json': {
    schema: { $ref: '#/components/schemas/Error' },
    ...(codes.length > 0 && { examples: Object.fromEntries(codes.map((code) => [code, { $ref: `#/components/examples/${code}` }])) }),
  },
});
