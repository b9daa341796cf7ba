import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '../../client/connect.ts';
import { openHttp } from '../../client/http.ts';
import { variables } from '../../functions/core/environment.ts';
import { bundleFunctions } from '../../lib/bundle.ts';
import { nodeOptions } from '../../lib/environment.ts';
import { region } from '../local/json-service.ts';
import { keyArn, startKms } from '../local/kms.ts';
import { localCredentials } from '../local/parts.ts';
import { startStack } from '../local/stack.ts';
import { startThread, type Thread } from './thread.ts';

/** The gate on this machine, with an agent that may execute an upstream's intent as often as it likes; its calls are counted all the same. */
export interface BenchedGate {
  baseUrl: string;
  upstream: Thread;
  /** DynamoDB's stand-in, which reports what it had to do */
  dynamo: Thread;
  /** KMS operations so far; clear it with `length = 0` */
  kmsOperations: string[];
  /** header fields and body of an execution */
  headers: Record<string, string>;
  body: string;
  /** the bundle of the function that executes, and its environment */
  bundle: string;
  environment: Record<string, string>;
  stop(): Promise<void>;
}

const intentUid = 'bench.example:echo:v1';

/** The shipped policy with a rate that no benchmark reaches. */
export const unreachableRate = (policy: string): string => policy.replace(/("rightOperand": )60\b/, '$11000000');

export async function startGate(): Promise<BenchedGate> {
  const folder = mkdtempSync(join(tmpdir(), 'intent-gate-bench-'));
  const policy = unreachableRate(readFileSync('policy.json', 'utf8'));
  writeFileSync(join(folder, 'policy.json'), policy);
  bundleFunctions([{ name: 'execute-intent', files: { 'policy.json': policy } }], join(folder, 'bundles'));

  const keyIds: string[] = [];
  const [upstream, dynamo, kms] = await Promise.all([
    startThread('./upstream-worker.ts'),
    startThread('./table-worker.ts'),
    startKms({
      disturb: (operation, answer) => {
        if (operation === 'CreateKey') keyIds.push((answer.body as { KeyMetadata: { KeyId: string } }).KeyMetadata.KeyId);
        return answer;
      },
    }),
  ]);
  const stack = await startStack({
    port: 0,
    demo: false,
    quiet: true,
    policyFile: join(folder, 'policy.json'),
    dynamodbEndpoint: dynamo.url,
    kmsEndpoint: kms.endpoint,
  });
  await register(stack.base_url, stack.admin_token, upstream.url);
  const pat = await obtainPat(stack.base_url);
  const credentials = localCredentials();
  const tableNamed = (start: string) => stack.table_names.find((name) => name.startsWith(start)) ?? '';
  return {
    baseUrl: stack.base_url,
    upstream,
    dynamo,
    kmsOperations: kms.operations,
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${pat}` },
    body: JSON.stringify({ intent_uid: intentUid, parameters: { text: 'How far is it from Zurich to Lugano?', count: 3 } }),
    bundle: join(folder, 'bundles', 'execute-intent', 'index.mjs'),
    environment: {
      AWS_REGION: region,
      AWS_ACCESS_KEY_ID: credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
      AWS_ENDPOINT_URL_DYNAMODB: dynamo.url,
      AWS_ENDPOINT_URL_KMS: kms.endpoint,
      POWERTOOLS_LOG_LEVEL: 'SILENT',
      NODE_OPTIONS: nodeOptions,
      [variables.registryTable]: tableNamed('Registry'),
      [variables.activityTable]: tableNamed('Activity'),
      [variables.protocol]: 'proto',
      [variables.baseUrl]: stack.base_url,
      [variables.signingKeys]: keyIds.map(keyArn).join(','),
      [variables.egressLoopback]: 'true',
    },
    stop: async () => {
      await stack.stop();
      await Promise.all([kms.stop(), dynamo.stop(), upstream.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function register(baseUrl: string, bearer: string, upstreamUrl: string): Promise<void> {
  const http = openHttp({ url: baseUrl });
  const { body: service } = await http.send('POST', '/api/services', {
    bearer,
    body: { service_name: 'Benchmark', service_url: 'https://bench.example', description: 'Answers what it is sent.' },
  });
  const parameters = [
    { name: 'text', type: 'string', required: true, description: 'Any text.' },
    { name: 'count', type: 'integer', required: true, description: 'Any number.' },
  ];
  await http.send('POST', `/api/services/${(service as { service_id: string }).service_id}/intents`, {
    bearer,
    body: {
      intent_uid: intentUid,
      intent_name: 'Echo',
      description: 'Answers its parameters.',
      input_parameters: parameters,
      output_parameters: parameters,
      endpoint: `${upstreamUrl}/echo`,
    },
  });
}

/** A PAT for an agent that no other benchmark uses. */
export async function obtainPat(baseUrl: string): Promise<string> {
  const agent = await connect(baseUrl, { agentId: `benchmark-${randomUUID()}`, onPolicy: () => true });
  return (await agent.obtainPat()).pat;
}
