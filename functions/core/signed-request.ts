import { fromEnv } from '@aws-sdk/credential-provider-env';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import { jsonHttpHandler, Sha256 } from './aws-client.ts';

export interface UnsignedRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string;
}

export interface Signing {
  service: string;
  region: string;
  /** default: those that Lambda puts into the function's environment */
  credentials?: ConstructorParameters<typeof SignatureV4>[0]['credentials'];
  /** default: now */
  time?: Date;
  /** whether the request states the digest of its body in `x-amz-content-sha256`, which OpenSearch Serverless demands; default true */
  applyChecksum?: boolean;
}

/** The headers that sign a request for AWS (Signature Version 4). Every header given is signed, and the host. */
export async function signRequest(
  { method, url, headers, body }: UnsignedRequest,
  { service, region, credentials = fromEnv(), time = new Date(), applyChecksum = true }: Signing,
): Promise<Record<string, string>> {
  const signer = new SignatureV4({ service, region, credentials, applyChecksum, sha256: Sha256 });
  const { protocol, hostname, host, pathname: path } = url;
  const query = Object.fromEntries(url.searchParams);
  const signed = await signer.sign({ method, protocol, hostname, path, query, headers: { ...headers, host }, body }, { signingDate: time });
  const { host: _, ...sent } = signed.headers;
  return sent;
}

/**
 * Opens what sends signed requests to a service that the gate has no client for, each once and until `timeoutMs`.
 * @returns status, headers by their lower-case names, and the body
 */
export function openSignedRequests(timeoutMs: number, signing: Signing) {
  const { handle } = jsonHttpHandler(timeoutMs);
  return async (request: UnsignedRequest): Promise<{ status: number; headers: Record<string, string>; body: string }> => {
    const { protocol, hostname, host, port, pathname: path, search } = request.url;
    const headers = { ...(await signRequest(request, signing)), host };
    const target = { protocol, hostname, path: path + search, ...(port !== '' && { port: Number(port) }) };
    const { response } = await handle(new HttpRequest({ ...target, method: request.method, headers, body: request.body }));
    return { status: response.statusCode, headers: response.headers, body: String(response.body) };
  };
}
