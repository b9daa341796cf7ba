import { createHash } from 'node:crypto';
import { afterEach, expect, jest, test } from '@jest/globals';
import { openRequestSigner } from '../../../../functions/core/aws/signed-request.ts';

afterEach(() => {
  jest.restoreAllMocks();
});

const sign = (env: NodeJS.ProcessEnv) => {
  jest.replaceProperty(process, 'env', env);
  const request = { method: 'GET', url: new URL('https://search.example:8443/a?b=c'), headers: {}, body: '' };
  return openRequestSigner({ service: 'aoss', region: 'eu-west-1' })(request);
};

test('a request is signed with the session token of the environment, its host and the digest of its body', async () => {
  const signed = await sign({ AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_SESSION_TOKEN: 'c' });
  expect(signed).toMatchObject({ hostname: 'search.example', port: 8443, path: '/a', query: { b: 'c' } });
  expect(signed.headers).toMatchObject({
    host: 'search.example:8443',
    'x-amz-security-token': 'c',
    'x-amz-content-sha256': createHash('sha256').update('').digest('hex'),
    authorization: expect.stringMatching(
      /^AWS4-HMAC-SHA256 Credential=a\/\d{8}\/eu-west-1\/aoss\/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, /,
    ),
  });
});

test('a request is not signed if the environment holds no credentials, and the error says so', async () => {
  await expect(sign({})).rejects.toThrow('Unable to find environment variable credentials.');
});
