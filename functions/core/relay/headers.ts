import type { Credential } from '../credentials/credentials.ts';
import type { Execution } from './request.ts';
import { signCall } from './signature.ts';

/** Header fields take visible ASCII; all other characters of an id are percent-encoded, as is the percent sign. */
const headerText = (id: string): string => id.replace(/[^\x21-\x24\x26-\x7e]/gu, encodeURIComponent);

/** Made from scratch: nothing that the agent sent is passed on but its name. */
export function buildHeaders(execution: Execution, url: URL, credential: Credential | undefined): Record<string, string> {
  const { request, service, idempotencyKey } = execution;
  const fields = {
    'agent-id': headerText(execution.agentId),
    'agent-key': execution.thumbprint,
    'intent-uid': execution.intentUid,
    'execution-id': headerText(execution.executionId),
  };
  const signed = {
    request: { ...request, url: url.href },
    fields,
    serviceId: service.service_id,
    createdSeconds: Math.floor(Date.now() / 1000),
  };
  return {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'intent-gate',
    'x-request-id': headerText(execution.requestId),
    ...fields,
    ...(request.contentType !== undefined && { 'content-type': request.contentType }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(credential !== undefined && { [credential.header_name]: credential.header_value, ...signCall(signed, credential) }),
  };
}
