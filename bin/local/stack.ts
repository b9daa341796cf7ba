import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { splitList, variables } from '../../functions/core/runtime/environment.ts';
import { readApi } from './api-definition.ts';
import { openDataFolder, StartError } from './data-folder.ts';
import { startEvents } from './events.ts';
import { awsEnvironment, bucketNames, localCredentials, localValues, openFunctions } from './functions.ts';
import { type Api, type GatewayOptions, startGateway } from './gateway.ts';
import { type Person, startIdentity } from './identity.ts';
import { startInvocations } from './invocations.ts';
import { region } from './json-service.ts';
import { keyProperties, startKeys } from './kms.ts';
import type { LambdaOptions } from './lambda.ts';
import { startS3 } from './s3.ts';
import { readSchedules, startSchedules } from './schedules.ts';
import { startSecrets } from './secrets.ts';
import type { StackDescription } from './stack-file.ts';
import { readSubscriptions, startSubscriptions } from './subscriptions.ts';
import { localContext, markUsed, projectRoot, synthesize } from './synthesis.ts';
import { createTables, startDynamo } from './table.ts';
import { type FunctionDefinition, functionIdOf, readTables, readTemplate, resourcesOf } from './template.ts';
import { startUpstream } from './upstream/server.ts';

export interface StackOptions extends Pick<GatewayOptions, 'allowHosts' | 'onAnswered'>, Pick<LambdaOptions, 'onLog'> {
  /** default 8080; 0: any free port */
  port?: number;
  /** default 127.0.0.1 */
  host?: string;
  /** default: data is not kept */
  dataFolder?: string;
  /** default: the shipped policy with an additional prohibition */
  policyFile?: string;
  /** settings besides those of every local stack */
  context?: Record<string, unknown>;
  /** additional environment variables of every function */
  environment?: Record<string, string>;
  /** false: without the demo upstream and its intents */
  demo?: boolean;
  /** false: functions run only for requests, not on schedules or for log lines. Default: true */
  background?: boolean;
  quiet?: boolean;
  /** default: the variable DYNAMODB_ENDPOINT, else a DynamoDB of the stack's own */
  dynamodbEndpoint?: string;
  /** default: suitable for interactive use */
  environments?: Pick<LambdaOptions, 'maxOfOne' | 'maxOfAll' | 'idleMs'>;
  /** receives each event that the gate sends */
  onEvent?(type: string, detail: unknown): void;
  /** aborts the start */
  signal?: AbortSignal;
}

export interface RunningStack extends StackDescription {
  /** names of all calls of KMS so far; `length = 0` clears them */
  kmsOperations: string[];
  /** finds a function by its name in the endpoint table */
  definitionOf(name: string): FunctionDefinition;
  /** a new access token, valid for an hour */
  signIn(person: Person): string;
  stop(): Promise<void>;
}

const nothing = () => {};

/**
 * Starts the whole gate on this machine: the synthesized template and its unmodified functions, with stand-ins for AWS.
 * @throws StartError for problems that the user can fix
 */
export async function startStack(options: StackOptions = {}): Promise<RunningStack> {
  const { host = '127.0.0.1', allowHosts = [], demo = true, background = true, onAnswered, signal } = options;
  const log = options.quiet ? nothing : (line: string) => console.log(line);
  const policyFile = findPolicy(options.policyFile);
  const data = openDataFolder(options.dataFolder);
  const parts = new AsyncDisposableStack();
  parts.defer(data.release);
  const keep = <T extends { stop(): unknown }>(part: Promise<T>): Promise<T> => {
    parts.defer(() => part.then((running) => running.stop()).then(nothing, nothing));
    return part;
  };
  const folderFor = (name: string) => {
    const folder = join(data.kept ?? data.scratch, name);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return folder;
  };

  try {
    const { promise: api, resolve: serve } = Promise.withResolvers<Api>();
    const gateway = await keep(listenOn({ host, port: options.port ?? 8080, allowHosts, api, ...(onAnswered && { onAnswered }) }));
    const { baseUrls } = gateway;
    const [baseUrl = '', ...otherUrls] = baseUrls;
    const urlsOf = (path: string) => baseUrls.map((url) => url + path);
    log('Bundling the functions and synthesizing the template ...');
    const context = { ...localContext, policyFile, ...options.context };
    const givenDynamo = options.dynamodbEndpoint ?? process.env.DYNAMODB_ENDPOINT;
    const [dynamo, identity, upstream, registering, synthesized] = await Promise.all([
      givenDynamo ? { endpoint: givenDynamo } : keep(startDynamo(data.kept && folderFor('table'))),
      keep(startIdentity(folderFor('identity'), urlsOf('/oauth/signed-in'), urlsOf('/console'))),
      demo ? keep(startUpstream()) : undefined,
      // Loaded in parallel with the other parts.
      demo ? import('./upstream/register.ts') : undefined,
      synthesize(context, signal),
    ]);
    const template = readTemplate(synthesized);
    const wantedKeys = resourcesOf(template, 'AWS::KMS::Key', keyProperties);
    const kms = await keep(startKeys(wantedKeys, data.kept));
    const tables = readTables(template);
    if (tables.length === 0) {
      throw new StartError(
        'The local stack cannot adopt tables that are in AWS. Remove the setting adopt for the stage local in cdk.json.',
      );
    }
    const isNew = await createTables({ endpoint: dynamo.endpoint, region, credentials: localCredentials() }, tables).catch((cause) => {
      throw new StartError(`The tables at ${dynamo.endpoint} cannot be reached or created (${cause.name}).`, { cause });
    });

    const [s3, secrets] = await Promise.all([
      keep(startS3({ folder: folderFor('buckets'), buckets: bucketNames(template) })),
      keep(startSecrets({ file: data.kept && join(data.kept, 'secrets.json') })),
    ]);
    const invocations = await keep(startInvocations((name, event) => lambdas.invoke(name, event)));
    const events = await keep(startEvents((type, detail) => options.onEvent?.(type, detail)));
    const values = localValues(template, { keys: kms.values, identity });
    const environment = {
      ...awsEnvironment({
        DYNAMODB: dynamo.endpoint,
        KMS: kms.endpoint,
        LAMBDA: invocations.endpoint,
        EVENTBRIDGE: events.endpoint,
        S3: s3.endpoint,
        SECRETS_MANAGER: secrets.endpoint,
      }),
      FETCH_REDIRECT: `${identity.issuer}/.well-known/jwks.json ${identity.jwksUrl}`,
      // Not in the template, which does not depend on the port.
      [variables.baseUrl]: baseUrls.join(','),
      [variables.signInDomain]: identity.signInUrl,
      ...options.environment,
    };
    const using = setInterval(() => markUsed(synthesized), 60 * 60 * 1_000).unref();
    parts.defer(() => clearInterval(using));
    const lambdas = openFunctions(template, synthesized, values, environment, {
      scratch: data.scratch,
      compileCache: join(synthesized, 'compiled'),
      ...options.environments,
      onLog: (line, name) => {
        logLines.take(line, name);
        options.onLog?.(line, name);
      },
    });
    parts.defer(lambdas.stop);
    const schedules = background ? readSchedules(template) : [];
    parts.defer(startSchedules(schedules, lambdas.invoke));
    const scheduled = schedules.map(({ functionId }) => functionId);
    const logLines = startSubscriptions(background ? readSubscriptions(template) : [], scheduled, lambdas.invoke);
    parts.defer(logLines.stop);
    const { environment: settings } = lambdas.definitionOf(functionIdOf(template, 'execute-intent'));
    serve({
      definition: readApi(template),
      invoke: lambdas.invoke,
      allowedOrigins: splitList(settings[variables.allowedOrigins]),
    });

    const signIn = (person: Person) => identity.signIn(person).accessToken;
    const [adminToken, userToken] = [signIn('admin'), signIn('user')];
    if (upstream && registering) {
      log('Registering the demo service and its intents ...');
      await registering.registerDemo({ baseUrl, adminToken, upstreamUrl: upstream.url, isEmpty: isNew, signal });
      // most of these functions are not needed again
      lambdas.endIdle();
    }
    signal?.throwIfAborted();
    return {
      base_url: baseUrl,
      other_urls: otherUrls,
      admin_token: adminToken,
      user_token: userToken,
      user_password: identity.userPassword,
      admin_password: identity.adminPassword,
      issuer: identity.issuer,
      client_id: identity.clientId,
      dynamodb_endpoint: dynamo.endpoint,
      kms_endpoint: kms.endpoint,
      user_pool_endpoint: identity.endpoint,
      user_pool_id: identity.userPoolId,
      upstream_url: upstream?.url ?? '',
      process_id: process.pid,
      local_upstreams: splitList(settings[variables.localUpstreams]),
      policy_file: policyFile,
      kmsOperations: kms.operations,
      definitionOf: (name) => lambdas.definitionOf(functionIdOf(template, name)),
      signIn,
      stop: () => parts.disposeAsync(),
    };
  } catch (error) {
    await parts.disposeAsync();
    // After an abort, report the abort instead of failures that it caused.
    signal?.throwIfAborted();
    throw error;
  }
}

function findPolicy(given: string | undefined): string {
  const file = given === undefined ? join(projectRoot, 'bin', 'local', 'policy.json') : resolve(given);
  if (!existsSync(file)) throw new StartError(`Policy file not found: ${file}.`);
  return file;
}

const listenComplaints: Record<string, string> = {
  EADDRINUSE: 'is in use: stop the process that listens there, or choose another with --port (0 picks a free port)',
  EACCES: 'is not allowed for your user: choose one above 1023 with --port',
  EADDRNOTAVAIL: 'cannot be used: this machine does not have that address. Choose another with --host',
  ENOTFOUND: 'cannot be used: this machine does not have that address. Choose another with --host',
};

async function listenOn({ host, port, ...options }: GatewayOptions & { host: string; port: number }) {
  return startGateway({ host, port, ...options }).catch((cause: NodeJS.ErrnoException) => {
    throw new StartError(`Port ${port} on ${host} ${listenComplaints[cause.code ?? ''] ?? `cannot be used (${cause.code})`}.`, {
      cause,
    });
  });
}
