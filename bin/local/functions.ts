import { devNull } from 'node:os';
import type { RunningIdentity } from './identity.ts';
import { region } from './json-service.ts';
import { type LambdaOptions, openLambdas } from './lambda.ts';
import { type FunctionDefinition, type LocalValues, readFunction, resourceIds, type Template } from './template.ts';

/** Credentials for SDK clients. Stand-ins do not check them; an external service may. */
export function localCredentials() {
  const {
    AWS_ACCESS_KEY_ID: accessKeyId = 'local',
    AWS_SECRET_ACCESS_KEY: secretAccessKey = 'local',
    AWS_SESSION_TOKEN: sessionToken,
  } = process.env;
  return { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) };
}

/** Environment variables that point SDK clients at the stand-ins. @param endpoints - by the SDK's names of services */
export function awsEnvironment(endpoints: Record<string, string>): Record<string, string> {
  const { accessKeyId, secretAccessKey, sessionToken } = localCredentials();
  return {
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken && { AWS_SESSION_TOKEN: sessionToken }),
    // Calls to any other AWS service fail immediately instead of leaving this machine.
    AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
    // The developer's own configuration could lead them elsewhere.
    AWS_CONFIG_FILE: devNull,
    AWS_SHARED_CREDENTIALS_FILE: devNull,
    ...Object.fromEntries(Object.entries(endpoints).map(([service, endpoint]) => [`AWS_ENDPOINT_URL_${service}`, endpoint])),
  };
}

/** A bucket's name: its logical id, in lower case as S3 requires. */
const bucketName = (id: string): string => id.toLowerCase();

export const bucketNames = (template: Template): string[] => resourceIds(template, 'AWS::S3::Bucket').map(bucketName);

/** Local values of the template's references to its resources. */
export function localValues({ Resources }: Template, { keys, identity }: { keys: LocalValues; identity: RunningIdentity }): LocalValues {
  const valuesOf = (id: string, { Type, Properties }: Template['Resources'][string]): Record<string, string> => {
    switch (Type) {
      case 'AWS::DynamoDB::GlobalTable':
      case 'AWS::Lambda::Function':
        return { Ref: id };
      case 'AWS::KMS::Key':
        return keys[id] ?? {};
      case 'AWS::S3::Bucket':
        return { Ref: bucketName(id) };
      case 'AWS::Cognito::UserPool':
        return { Ref: identity.userPoolId };
      case 'AWS::Cognito::UserPoolClient': {
        const has = (list: unknown, flow: string) => Array.isArray(list) && list.includes(flow);
        if (has(Properties.ExplicitAuthFlows, 'ALLOW_USER_PASSWORD_AUTH')) return { Ref: identity.clientId };
        // Machine clients have no counterpart, because the stand-in for Cognito does not support client credentials.
        if (!has(Properties.AllowedOAuthFlows, 'code')) return { Ref: 'no-such-client' };
        return { Ref: JSON.stringify(Properties.CallbackURLs).includes('/console"') ? identity.consoleClientId : identity.signInClientId };
      }
      case 'AWS::Cognito::UserPoolDomain':
        return { Ref: 'local' };
      default:
        return {};
    }
  };
  return Object.fromEntries(Object.entries(Resources).map(([id, resource]) => [id, valuesOf(id, resource)]));
}

/** Opens the template's functions, which are invoked by logical id with {@link openLambdas}. */
export function openFunctions(
  template: Template,
  folder: string,
  values: LocalValues,
  environment: Record<string, string>,
  options: LambdaOptions,
) {
  const lambdas = openLambdas(options);
  const definitions = new Map<string, FunctionDefinition>();
  const definitionOf = (id: string): FunctionDefinition => {
    const known = definitions.get(id) ?? readFunction(template, id, folder, values, environment);
    definitions.set(id, known);
    return known;
  };
  const invoke = async (id: string, event: unknown) => lambdas.invoke(definitionOf(id), event);
  return { definitionOf, invoke, endIdle: lambdas.endIdle, stop: lambdas.stop };
}
