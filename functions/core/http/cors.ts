import type { APIGatewayProxyEvent, APIGatewayProxyResult } from 'aws-lambda';
import { headerValues } from './request.ts';

export type ChangeResponse = (response: APIGatewayProxyResult, event: APIGatewayProxyEvent) => void;

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
    response.headers['Access-Control-Expose-Headers'] = '*';
  };
