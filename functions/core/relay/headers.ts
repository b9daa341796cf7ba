import { foldHeaderName } from '../../../schemas/header.ts';
import type { CredentialValues } from '../credentials/credentials.ts';
import { traceHeaders } from '../runtime/trace.ts';
import type { UpstreamCall } from './build-request.ts';

type Fields = Record<string, string>;

/** A call without the header fields that features add. */
export interface OutgoingCall {
  method: string;
  url: URL;
  body?: string | Buffer | undefined;
  /** the header fields that say which call this is, by lower-case name */
  fields: Readonly<Fields>;
  /** the address of this gate */
  baseUrl: string;
}

/** Returns the header fields that a feature adds to a call. */
export type AddFields = (call: OutgoingCall) => Fields;

/** Reads what a feature needs to add header fields to a call, such as a key, while the call's credential is read. */
export type CallSigner = () => Promise<AddFields>;

/** Percent-encodes the percent sign and everything except visible ASCII. */
const headerText = (id: string): string => id.replace(/[^\x21-\x24\x26-\x7e]/gu, encodeURIComponent);

/**
 * Builds the header fields from scratch: of the agent's request, only its name, its trace and inputs that are header fields are passed on. Precedence,
 * lowest first: inputs, the service's fields, the credential, fields of every call.
 */
export function buildHeaders(
  call: UpstreamCall,
  url: URL,
  credential: CredentialValues | undefined,
  signers: readonly AddFields[],
): Fields {
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
    ...Object.assign({}, ...signers.map((sign) => sign({ method: request.method, url, body: request.body, fields, baseUrl }))),
  };
  return override(request.headers ?? {}, service.headers ?? {}, credential?.headers ?? {}, carried);
}

/** Merges fields. Of several names that servers may confuse, the last wins. */
const override = (...all: Fields[]): Fields =>
  Object.fromEntries(new Map(all.flatMap(Object.entries<string>).map((field) => [foldHeaderName(field[0]), field])).values());
