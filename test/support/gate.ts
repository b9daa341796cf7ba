import { randomUUID, type webcrypto } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { CompactSign, exportJWK, generateKeyPair } from 'jose';
import { startKms } from '../../bin/local/kms.ts';
import { startSecrets } from '../../bin/local/secrets.ts';
import { openKms } from '../../functions/core/aws/kms.ts';
import { openCredentials } from '../../functions/core/credentials/credentials.ts';
import { openSecretsManager } from '../../functions/core/credentials/vault.ts';
import type { Action } from '../../functions/core/http/serve.ts';
import { openSigningKeys } from '../../functions/core/pat/signing-keys.ts';
import type { FindPolicy } from '../../functions/core/policy/policy.ts';
import type { PolicyTemplate } from '../../functions/core/policy/template.ts';
import { openIntents } from '../../functions/core/registry/intents.ts';
import { openServices } from '../../functions/core/registry/services.ts';
import { openRelay, type Relay, type RelayOptions } from '../../functions/core/relay/call.ts';
import type { Table } from '../../functions/core/table/table.ts';
import { type ExecuteDeps, openAuthenticate, openExecuteOver, openIssueOver } from './actions.ts';
import { type Answer, invoke } from './invoke.ts';
import { loadPolicyTemplate, openPolicy } from './policy.ts';
import { startTable } from './table.ts';

/** The address that {@link invoke} calls. */
export const baseUrl = 'https://api.example/test';

export interface Agent {
  agentId: string;
  privateKey: webcrypto.CryptoKey;
  publicJwk: string;
}

/** The parts of the gate that deal with agents, over a real table, KMS and Secrets Manager of their own, in this process. */
export async function startGate(relayOptions: Partial<RelayOptions> = {}) {
  const database = await startTable();
  const kms = await startKms();
  const region = 'eu-west-1';
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
  const signingKeys = openSigningKeys(openKms({ endpoint: kms.endpoint, region, credentials }), kms.keyIds);
  const secrets = await startSecrets();
  const secretsClient = new SecretsManagerClient({ endpoint: secrets.endpoint, region, credentials });
  const vault = openSecretsManager('', secretsClient);
  const serviceCredentials = openCredentials(vault);
  const relay = openRelay({
    rules: { ports: [443], allowLoopback: true, ownHosts: [] },
    credentials: serviceCredentials,
    ...relayOptions,
  });
  const { table } = database;

  /** A new instance of `issue-pat`. */
  const openIssue = (
    template: PolicyTemplate = loadPolicyTemplate(),
    more: Omit<Parameters<typeof openIssueOver>[1], 'template' | 'signingKeys'> = {},
  ): Action => openIssueOver(table, { template, signingKeys, ...more });

  /** Ids of the calls for which the worker was started. */
  const started: string[] = [];

  /** A new instance of `execute-intent`. */
  const openExecute = ({
    template = loadPolicyTemplate(),
    over = table,
    now = Date.now,
    connect = async () => {},
    protocol = (inner) => inner,
    ...features
  }: {
    template?: PolicyTemplate | FindPolicy;
    over?: Table;
    now?: () => number;
    /** what happens until an upstream is connected */
    connect?: () => Promise<unknown>;
    /** how endpoints are spoken to */
    protocol?: (relay: Relay) => Relay;
  } & Partial<Pick<ExecuteDeps, 'around' | 'relatedKeysOf' | 'instead' | 'observers'>> = {}): Action => {
    const spoken = protocol(relay);
    return openExecuteOver(over, {
      authenticate: openAuthenticate(over, signingKeys, template),
      ...features,
      start: async (executionId) => void started.push(executionId),
      relay: {
        connect: async (execution) => {
          await connect();
          return spoken.connect(execution);
        },
      },
      now,
    });
  };

  return {
    database,
    kms,
    secrets,
    vault,
    credentials: serviceCredentials,
    services: openServices(table),
    intents: openIntents(table),
    signingKeys,
    openIssue,
    openExecute,
    openAuthenticate: (template: PolicyTemplate) => openAuthenticate(table, signingKeys, template),
    relay,
    started,
    stop: async () => {
      await relay.close();
      secretsClient.destroy();
      await Promise.all([database.stop(), kms.stop(), secrets.stop()]);
    },
  };
}

export type Gate = Awaited<ReturnType<typeof startGate>>;

export async function newAgent(agentId = `agent-${randomUUID()}`): Promise<Agent> {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  return { agentId, privateKey, publicJwk: JSON.stringify(await exportJWK(publicKey)) };
}

/** Signs the policy in force as a compact JWS, and asks for a PAT. */
export async function requestPat(
  issue: Action,
  { agentId, privateKey, publicJwk }: Agent,
  template: PolicyTemplate = loadPolicyTemplate(),
  more: object = {},
): Promise<Answer> {
  const { text } = openPolicy(template)(baseUrl);
  const signed_policy = await new CompactSign(new TextEncoder().encode(text)).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
  return post(issue, '/api/pat/issue', { agent_id: agentId, signed_policy, agent_public_key: publicJwk, ...more });
}

export async function obtainPat(gate: Gate, agent: Agent, template?: PolicyTemplate): Promise<string> {
  const { status, body } = await requestPat(gate.openIssue(template), agent, template);
  if (status !== 200) throw new Error(`no PAT: ${JSON.stringify(body)}`);
  return body['proto-pat'];
}

export const post = (steps: Action, path: string, body: unknown, headers: Record<string, string | string[]> = {}): Promise<Answer> =>
  invoke(steps, `POST ${path}`, { headers: { 'Content-Type': 'application/json', ...headers }, body, remainingMs: 29_000 });

/** Executes an intent under a PAT. */
export const execute = (
  steps: Action,
  pat: string,
  intent_uid: string,
  parameters: unknown,
  headers: Record<string, string | string[]> = {},
): Promise<Answer> => post(steps, '/api/intents/execute', { intent_uid, parameters }, { Authorization: `Bearer ${pat}`, ...headers });
