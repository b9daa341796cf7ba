import { expect, test } from '@jest/globals';
import { awsCredentialsFromEnvironment, signRequest } from '../../../../../functions/core/search/opensearch/signed-request.ts';

const time = new Date('2015-08-30T12:36:00Z');
const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };

test('signs the example of the AWS reference as it does', () => {
  const headers = signRequest(
    {
      method: 'GET',
      url: new URL('https://iam.amazonaws.com/?Action=ListUsers&Version=2010-05-08'),
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: '',
    },
    { service: 'iam', region: 'us-east-1', credentials, time },
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

test('signs the session token of temporary credentials', () => {
  const temporary = awsCredentialsFromEnvironment({ AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b', AWS_SESSION_TOKEN: 'c' });
  const headers = signRequest(
    { method: 'GET', url: new URL('https://search.example/'), headers: {}, body: '' },
    { service: 'aoss', region: 'eu-west-1', credentials: temporary, time },
  );
  expect(headers['x-amz-security-token']).toBe('c');
  expect(headers.authorization).toContain('SignedHeaders=host;x-amz-date;x-amz-security-token,');
});
