import { text } from 'node:stream/consumers';
import { fromEnv } from '@aws-sdk/credential-provider-env';
import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4, type SignatureV4Init } from '@smithy/signature-v4';
import { StepHandler } from './aws-client.ts';

export interface UnsignedRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string;
}

export type Signing = Pick<SignatureV4Init, 'service' | 'region'> & Partial<Pick<SignatureV4Init, 'credentials'>>;

/** Signs requests to AWS services that have no SDK client here (Signature Version 4). `credentials` are by default those of the environment. */
export function openRequestSigner({ credentials = fromEnv(), ...scope }: Signing) {
  const signer = new SignatureV4({ credentials, ...scope, sha256: Sha256 });
  return async ({ method, url, headers, body }: UnsignedRequest): Promise<HttpRequest> => {
    const { protocol, hostname, port, host, pathname: path, searchParams } = url;
    const target = { protocol, hostname, path, query: Object.fromEntries(searchParams), ...(port !== '' && { port: Number(port) }) };
    return HttpRequest.clone(
      (await signer.sign(new HttpRequest({ ...target, method, headers: { ...headers, host }, body }))) as HttpRequest,
    );
  };
}

/** Returns a function that sends signed requests to an AWS service, each once, and fails if it is silent for `silenceMs`. */
export function openSignedRequests(silenceMs: number, signing: Signing) {
  const handler = new StepHandler(silenceMs);
  const sign = openRequestSigner(signing);
  return async (request: UnsignedRequest): Promise<{ status: number; body: string }> => {
    const { response } = await handler.handle(await sign(request));
    return { status: response.statusCode, body: await text(response.body) };
  };
}
