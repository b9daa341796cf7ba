import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll } from '@jest/globals';
import { close, listen } from '../../bin/local/http.ts';

export const arn = 'arn:aws:kms:eu-west-1:123456789012:key/mrk-1';
export const adopt = { registryTable: 'R-1', activityTable: 'A-1', userPoolId: 'eu-west-1_Abc', signingKeys: { first: arn } };
export const policyOf = (signer: string) =>
  JSON.stringify({
    Statement: [
      { Effect: 'Allow', Action: ['kms:DescribeKey'], Principal: { AWS: 'arn:aws:iam::123456789012:root' }, Resource: '*' },
      { Effect: 'Allow', Action: 'kms:Sign', Principal: { AWS: signer }, Resource: '*' },
    ],
  });
export const role = 'arn:aws:iam::123456789012:role/issue-pat';

export const complete = () => ({
  DescribeTable: {
    Table: { TableStatus: 'ACTIVE', KeySchema: [{ AttributeName: 'pk' }, { AttributeName: 'sk' }], DeletionProtectionEnabled: true },
  },
  DescribeTimeToLive: { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLED', AttributeName: 'expires_at' } },
  DescribeContinuousBackups: {
    ContinuousBackupsDescription: {
      ContinuousBackupsStatus: 'ENABLED',
      PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'ENABLED' },
    },
  },
  DescribeUserPool: { UserPool: {} },
  GetGroup: { Group: {} },
  DescribeKey: { KeyMetadata: { KeyId: 'mrk-1', KeyState: 'Enabled', KeySpec: 'ECC_NIST_P256', KeyUsage: 'SIGN_VERIFY' } },
  GetKeyPolicy: { Policy: policyOf(role) },
});

/** AWS, which answers by operation; a stand-in, because no local table supports time to live, recovery or key policies. */
export async function startAccount() {
  const answers: Record<string, object> = {};
  const server = createServer(async (request, response) => {
    await text(request);
    const target = request.headers['x-amz-target'];
    const answer =
      answers[target ? (String(target).split('.').at(-1) ?? '') : `${request.method} ${request.url?.split('?')[0]?.replace(/\/$/, '')}`];
    response.writeHead(answer ? 200 : target ? 400 : 404, { 'Content-Type': 'application/x-amz-json-1.1' });
    if (request.method === 'HEAD') return void response.end();
    response.end(JSON.stringify(answer ?? { __type: 'ResourceNotFoundException', message: 'none' }));
  });
  process.env.AWS_ENDPOINT_URL = `http://127.0.0.1:${await listen(server)}`;
  afterAll(() => {
    delete process.env.AWS_ENDPOINT_URL;
    return close(server);
  });
  return {
    answers,
    /** Makes every resource complete again. */
    answerAll: () => {
      for (const name of Object.keys(answers)) delete answers[name];
      Object.assign(answers, complete());
    },
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
  };
}
