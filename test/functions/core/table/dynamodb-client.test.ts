import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { expect, test } from '@jest/globals';
import { LeanDynamoDBClient } from '../../../../functions/core/table/dynamodb-client.ts';

test('the lean client does without three steps of the SDK, and with one signer', async () => {
  const settings = { region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } };
  const lean = new LeanDynamoDBClient(settings);
  const steps = new DynamoDBClient(settings).middlewareStack.identify();
  const left = lean.middlewareStack.identify();
  expect(steps.filter((step) => !left.includes(step))).toEqual([
    'loggerMiddleware - initialize',
    'getUserAgentMiddleware - build',
    'recursionDetectionMiddleware - build',
  ]);
  expect(left.filter((step) => !steps.includes(step))).toEqual([]);
  expect(await lean.config.signer()).toBe(await lean.config.signer());
});
