import { expect, test } from '@jest/globals';
import { handler } from '../../../functions/sign-in/admit-token.ts';

test('the authorizer lets every request pass, to every method, because the result is cached for all of them', async () => {
  expect(await handler()).toEqual({
    principalId: 'host',
    policyDocument: { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: '*' }] },
  });
});
