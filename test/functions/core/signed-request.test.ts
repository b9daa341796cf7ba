import { createHash } from 'node:crypto';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import { Sha256 } from '@smithy/core/checksum';
import { HttpRequest } from '@smithy/core/protocols';
import { SignatureV4 } from '@smithy/signature-v4';
import { openRequestSigner, type Signing, type UnsignedRequest } from '../../../functions/core/signed-request.ts';

const signRequest = (request: UnsignedRequest, signing: Signing) => openRequestSigner(signing)(request);

const time = new Date('2015-08-30T12:36:00Z');
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };

test('signs the example of the AWS reference as it does', async () => {
  const headers = await signRequest(
    {
      method: 'GET',
      url: new URL('https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08'),
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: '',
    },
    { service: 'iam', region: 'us-east-1', credentials, time, applyChecksum: false },
  );
  expect(headers).toEqual({
    'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
    'x-amz-date': '20150830T123600Z',
    authorization:
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, ' +
      'SignedHeaders=content-type;host;x-amz-date, ' +
      'Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
  });
});

describe('with the credentials of the environment', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const sign = (env: NodeJS.ProcessEnv) => {
    jest.replaceProperty(process, 'env', env);
    const request = { method: 'GET', url: new URL('https://search.example/'), headers: {}, body: '' } as const;
    return signRequest(request, { service: 'aoss', region: 'eu-west-1', time });
  };

  test('signs their session token and the digest of the body', async () => {
    const headers = await sign({ AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_SESSION_TOKEN: 'c' });
    expect(headers['x-amz-security-token']).toBe('c');
    expect(headers['x-amz-content-sha256']).toBe(createHash('sha256').update('').digest('hex'));
    expect(headers.authorization).toContain('Credential=a/20150830/eu-west-1/aoss/aws4_request');
    expect(headers.authorization).toContain('SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,');
  });

  test('says when there are none', async () => {
    await expect(sign({})).rejects.toThrow('Unable to find environment variable credentials.');
  });
});

test.each<[string, string, Record<string, string>]>([
  [
    'lambda',
    'https://lambda.eu-west-1.amazonaws.com/2015-03-31/functions/Stack-a%2Fb%20c/invocations',
    { 'content-type': 'application/json' },
  ],
  ['aoss', 'https://abc.eu-west-1.aoss.amazonaws.com/intents/_search?b=2&a=1&a=%20x&c=(*)', {}],
  ['s3', "https://bucket.s3.eu-west-1.amazonaws.com/search-index/a%20b'(1)", { 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD' }],
])('signs for %s as the SDK does: %s', async (service, address, headers) => {
  const url = new URL(address);
  const scope = { service, region: 'eu-west-1', credentials };
  const isS3 = service === 's3';
  const sdk = new SignatureV4({ ...scope, sha256: Sha256, applyChecksum: !isS3, uriEscapePath: !isS3 });
  const query: Record<string, string[]> = {};
  for (const [name, value] of url.searchParams) query[name] = [...(query[name] ?? []), value];
  const request = {
    method: 'POST',
    protocol: url.protocol,
    hostname: url.hostname,
    path: url.pathname,
    query,
    headers: { ...headers, host: url.host },
    body: '{}',
  };
  const { host: _, ...expected } = (await sdk.sign(new HttpRequest(request), { signingDate: time })).headers;
  expect(await signRequest({ method: 'POST', url, headers, body: '{}' }, { ...scope, time, applyChecksum: !isS3 })).toEqual(expected);
});
