import { foldHeaderName } from '../../../schemas/header.ts';
import type { CallKey } from '../../web-bot-auth/call-keys.ts';
import { signCall } from '../../web-bot-auth/signature.ts';
import type { CredentialValues } from '../credentials/credentials.ts';
import { traceHeaders } from '../runtime/trace.ts';
import type { UpstreamCall } from './request.ts';

type Fields = Record<string, string>;

/** Percent-encodes the percent sign and everything except visible ASCII. */
const headerText = (id: string): string => id.replace(/[^\x21-\x24\x26-\x7e]/gu, encodeURIComponent);

/**
 * Builds the header fields from scratch: of the agent's request, only its name, its trace and inputs that are header fields are passed on. Precedence,
 * lowest first: inputs, the service's fields, the credential, fields of every call.
 */
export function buildHeaders(call: UpstreamCall, url: URL, credential: CredentialValues | undefined, key: CallKey): Fields {
  const { request, service, idempotencyKey, baseUrl } = call;
  const fields = {
    'agent-id': headerText(call.agentId),
    'agent-key': call.account,
    ...(call.agentDomain !== undefined && { 'agent-domain': call.agentDomain }),
    'intent-uid': call.intentUid,
    'execution-id': headerText(call.executionId),
    ...(request.contentType !== undefined && { 'content-type': request.contentType }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  };
  const carried = {
    accept: request.accept ?? 'application/json, */*;q=0.1',
    'accept-encoding': 'identity',
    'user-agent': 'intent-gate',
    'x-request-id': headerText(call.requestId),
    ...traceHeaders(),
    ...fields,
    ...signCall({ method: request.method, url, body: request.body, fields, baseUrl }, key),
  };
  return override(request.headers ?? {}, service.headers ?? {}, credential?.headers ?? {}, carried);
}

/** Merges fields. Of several names that servers may confuse, the last wins. */
const override = (...all: Fields[]): Fields =>
  Object.fromEntries(new Map(all.flatMap(Object.entries<string>).map((field) => [foldHeaderName(field[0]), field])).values());
