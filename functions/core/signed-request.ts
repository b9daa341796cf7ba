import { HttpRequest } from '@smithy/core/protocols';
import { jsonHttpHandler } from './aws-client.ts';
import { type Credentials, type FindCredentials, openSignature, sha256 } from './aws-signature.ts';

export interface UnsignedRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string;
}

/** How to reach an AWS service; by default, as the function's environment says. */
export interface AwsAccess {
  endpoint?: string | undefined;
  region?: string | undefined;
  credentials?: Credentials | FindCredentials | undefined;
}

export interface Signing extends Pick<AwsAccess, 'credentials'> {
  service: string;
  region: string;
  time?: Date;
  /** sends the digest of the body in `x-amz-content-sha256`, which OpenSearch Serverless requires; default true */
  applyChecksum?: boolean;
}

/** Signs requests to AWS (Signature Version 4), including the host and every given header. */
export function openRequestSigner({ credentials, applyChecksum = true, ...scope }: Signing) {
  const sign = openSignature(credentials);
  return async ({ method, url, headers, body }: UnsignedRequest): Promise<Record<string, string>> => {
    const checksum = applyChecksum ? { 'x-amz-content-sha256': sha256(body) } : {};
    const signable = { method, path: url.pathname, query: url.searchParams, headers: { ...headers, host: url.host, ...checksum }, body };
    const { host: _, ...signed } = await sign(signable, scope);
    return signed;
  };
}

/**
 * Returns a function that sends signed requests to an AWS service, each once, for at most `timeoutMs`.
 * It returns the status, headers with lower-case names, and the body.
 */
export function openSignedRequests(timeoutMs: number, signing: Signing) {
  const { handle } = jsonHttpHandler(timeoutMs);
  const sign = openRequestSigner(signing);
  return async (request: UnsignedRequest): Promise<{ status: number; headers: Record<string, string>; body: string }> => {
    const { protocol, hostname, host, port, pathname: path, search } = request.url;
    const headers = { ...(await sign(request)), host };
    const target = { protocol, hostname, path: path + search, ...(port !== '' && { port: Number(port) }) };
    const { response } = await handle(new HttpRequest({ ...target, method: request.method, headers, body: request.body }));
    return { status: response.statusCode, headers: response.headers, body: String(response.body) };
  };
}

/**
 * The endpoint of an AWS service in a region, chosen as the SDK does.
 * @param variable - suffix of the environment variable `AWS_ENDPOINT_URL_…` that overrides it
 */
export const serviceEndpoint = (service: string, region: string, variable = service.toUpperCase()): string =>
  process.env[`AWS_ENDPOINT_URL_${variable}`] ?? process.env.AWS_ENDPOINT_URL ?? `https://${service}.${region}.${awsDomain(region)}`;

export const awsDomain = (region: string): string => (region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com');
