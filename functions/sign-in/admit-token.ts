import type { APIGatewayAuthorizerResult } from 'aws-lambda';

/**
 * Lets every request with a token pass, whatever the token: the function behind checks it, and says where to renew a dead one. API Gateway itself
 * refuses requests without one. It caches this result by token, for all methods alike.
 */
export const handler = async (): Promise<APIGatewayAuthorizerResult> => ({
  principalId: 'host',
  policyDocument: { Version: '2012-10-17', Statement: [{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: '*' }] },
});
