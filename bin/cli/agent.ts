import { join } from 'node:path';
import { Option } from '@commander-js/extra-typings';
import { connect, IntentGateError, type OnPolicy, type Policy } from '../../client/connect.ts';
import { openFileAgreementStore } from '../../client/file-agreement-store.ts';
import { openFileKeyStore } from '../../client/file-key-store.ts';
import { obtainNamedKey } from '../../client/keys.ts';
import { PolicyError } from '../../functions/core/policy/reading.ts';
import { describePolicy } from '../../functions/core/policy/sentences.ts';
import { CliFailure, usageFailure } from '../../registry/failure.ts';
import { parseExact } from '../../schemas/number.ts';
import { policy as policySchema } from '../../schemas/policy.ts';
import type { CliContext } from './context.ts';
import { privateFolder } from './session.ts';

export const agentOptions = {
  acceptPolicy: new Option('--accept-policy', 'sign the policy without confirmation; read it first with "policy show"'),
  agentDirectory: new Option('--agent-directory <origin>', "https origin whose Web Bot Auth directory lists the agent's key"),
  publicUrl: new Option('--public-url <address>', 'public address of the gate, if it differs from the one used to reach it'),
};

interface AgentOptions {
  acceptPolicy?: true | undefined;
  agentDirectory?: string | undefined;
  publicUrl?: string | undefined;
}

/** How long calls wait for quota or an unavailable gate, in milliseconds. */
const maxWaitMs = 10_000;

/**
 * Connects to the gate as an agent. The command line is one agent, with the same key and name at every gate.
 * @param hasNewPat - whether to ignore a PAT that an earlier command obtained
 */
export async function connectAgent(
  { api, terminal }: CliContext,
  { acceptPolicy, agentDirectory, publicUrl }: AgentOptions,
  hasNewPat = false,
) {
  const onPolicy: OnPolicy = async (policy, _, changes = []) => {
    terminal.remark('Before its first call, an agent must accept the policy of the gate:');
    for (const sentence of describeOwn(policy, publicUrl ?? api.baseUrl)) terminal.remark(`  ${sentence}`);
    if (changes.length > 0) terminal.remark('Changes since the policy that you accepted before:');
    for (const change of changes) terminal.remark(`  ${change}`);
    if (acceptPolicy) return true;
    if (!terminal.isInteractive) throw usageFailure('There is no terminal for a prompt. Use --accept-policy to accept the policy.');
    return terminal.confirm('Accept and sign this policy?');
  };
  const folder = join(privateFolder(), 'agent');
  const agent = await obtainNamedKey('cli', openFileKeyStore(folder));
  const { load, save } = openFileAgreementStore(folder);
  const loadWithoutPat = async (url: string) => {
    const { digest } = (await load(url)) ?? {};
    return digest === undefined ? undefined : { digest };
  };
  const gate = await connect(api.baseUrl, {
    ...agent,
    agreementStore: { load: hasNewPat ? loadWithoutPat : load, save },
    onPolicy,
    maxWaitMs,
    onWait: terminal.remarkOnWait,
    parse: parseExact,
    ...(publicUrl !== undefined && { publicUrl }),
    ...(agentDirectory !== undefined && { agentDirectory }),
  });
  return { agentId: agent.agentId, gate };
}

/** Names the option for a gate whose policy has another address. To be passed to `catch`. */
export function explainForeignPolicy(error: unknown): never {
  if (!(error instanceof IntentGateError) || error.code !== 'FOREIGN_POLICY') throw error;
  throw new CliFailure('usage', `${error.message} The option is --public-url.`, { cause: error });
}

/** Describes the policy to be signed without relying on the gate's own description; JSON if that is not possible. */
function describeOwn(given: Policy, address: string): string[] {
  const asItIs = JSON.stringify(given, null, 2).split('\n');
  const { data } = policySchema.safeParse(given);
  try {
    return data ? describePolicy(data, address) : asItIs;
  } catch (error) {
    if (error instanceof PolicyError) return asItIs;
    throw error;
  }
}
