import type { Api } from './gateway.ts';
import type { RunningIdentity } from './identity.ts';
import { type Lambda, type LambdaOptions, openLambda } from './lambda.ts';
import { localCredentials, region } from './parts.ts';
import { type LocalValues, readFunction, resourceIds, type Template } from './template.ts';

/** What points the SDK's clients at what stands in for AWS. */
export function awsEnvironment(dynamodbEndpoint: string, kmsEndpoint: string): Record<string, string> {
  const { accessKeyId, secretAccessKey, sessionToken } = localCredentials();
  return {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken && { AWS_SESSION_TOKEN: sessionToken }),
    // Whatever else a function might ask of AWS is refused at once instead of leaving this machine.
    AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
    AWS_ENDPOINT_URL_DYNAMODB: dynamodbEndpoint,
    AWS_ENDPOINT_URL_KMS: kmsEndpoint,
  };
}

/** The template's clients for machines have no counterpart: cognito-local knows no client credentials. */
export function identityValues(template: Template, { userPoolId, clientId }: RunningIdentity): LocalValues {
  const pools = resourceIds(template, 'AWS::Cognito::UserPool').map((id) => [id, { Ref: userPoolId }]);
  const clients = resourceIds(template, 'AWS::Cognito::UserPoolClient').map((id) => {
    const flows = template.Resources[id]?.Properties.ExplicitAuthFlows;
    const isForPeople = Array.isArray(flows) && flows.includes('ALLOW_USER_PASSWORD_AUTH');
    return [id, { Ref: isForPeople ? clientId : 'no-such-client' }];
  });
  return Object.fromEntries([...pools, ...clients]);
}

/** Nothing reads a bucket locally. */
export const bucketValues = (template: Template): LocalValues =>
  Object.fromEntries(resourceIds(template, 'AWS::S3::Bucket').map((id) => [id, { Ref: 'no-such-bucket' }]));

/** The functions of the template; one that nobody calls starts no thread. */
export function openLambdas(
  template: Template,
  folder: string,
  values: LocalValues,
  environment: Record<string, string>,
  onLog: LambdaOptions['onLog'],
): Pick<Api, 'invoke'> & { stop(): Promise<unknown> } {
  const lambdas = new Map<string, Lambda>();
  const find = (id: string): Lambda => {
    const known = lambdas.get(id);
    if (known) return known;
    const definition = readFunction(template, id, folder, values);
    const lambda = openLambda({ ...definition, environment: { ...definition.environment, ...environment } }, onLog && { onLog });
    lambdas.set(id, lambda);
    return lambda;
  };
  return {
    invoke: async (id, event) => find(id).invoke(event),
    stop: () => Promise.all([...lambdas.values()].map((lambda) => lambda.stop())),
  };
}
