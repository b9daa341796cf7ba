import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { headerValues } from './request.ts';

export type ChangeResponse = (response: APIGatewayProxyResult, event: APIGatewayProxyEvent) => void;

/** Headers that pages of other origins may read (Fetch standard, CORS-exposed headers). */
const exposedHeaders = [
  'Answer-Cut',
  'Answer-Issues',
  'Budget-Warning',
  'ETag',
  'Execution-Id',
  'Execution-Receipt',
  'Execution-Receipt-Salts',
  'Idempotent-Replayed',
  'Link',
  'Location',
  'Mcp-Session-Id',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Request-Id',
  // the name under which API Gateway sends WWW-Authenticate
  'x-amzn-Remapped-WWW-Authenticate',
];

/**
 * Lets pages of other origins read responses; the gateway answers their preflight requests. Nothing depends on cookies, so credentials are never
 * allowed.
 * @param origins - exact origins, or `*` for every origin
 */
export const corsHeaders =
  (origins: readonly string[]): ChangeResponse =>
  (response, event) => {
    if (origins.length === 0) return;
    const [origin] = headerValues(event, 'origin');
    const isOpen = origins.includes('*');
    response.headers = { ...response.headers, ...(!isOpen && { Vary: [response.headers?.Vary, 'Origin'].filter(Boolean).join(', ') }) };
    if (!isOpen && (origin === undefined || !origins.includes(origin))) return;
    response.headers['Access-Control-Allow-Origin'] = isOpen ? '*' : (origin ?? '');
    const ofService = Object.keys(response.headers).filter((name) => name.startsWith('Upstream-'));
    response.headers['Access-Control-Expose-Headers'] = [...exposedHeaders, ...ofService].join(', ');
  };
