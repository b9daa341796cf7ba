import { randomBytes } from 'node:crypto';
import { CompactSign, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { canonicalDigest } from '../../../functions/core/policy/canonical.ts';
import { type Policy, policy } from '../../../schemas/policy.ts';
import type { Api } from '../api.ts';
import { CliFailure } from '../failure.ts';
import { openPrivateFile } from '../private-file.ts';
import { readBody } from '../registry/read.ts';

/** The agent that this command line is: one key and one name for all services, and a PAT for each. */
interface AgentFile {
  agent_id: string;
  private_key: JWK;
  /** by base URL; `digest` is that of the policy that was accepted */
  pats: Record<string, { pat: string; expires_at: number; digest: string }>;
}

/** A PAT with less than this to live is not used any more, in milliseconds. */
const marginMs = 30_000;

const file = () => openPrivateFile<AgentFile>('agent.json');

async function openAgent(): Promise<AgentFile> {
  const known = file().read();
  if (known) return known;
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  const made = { agent_id: `cli-${randomBytes(6).toString('hex')}`, private_key: await exportJWK(privateKey), pats: {} };
  file().write(made);
  return made;
}

export async function readPolicy(api: Api): Promise<Policy> {
  return readBody(policy, await api.call('GET', '/api/policy'));
}

/**
 * A PAT for the service: the one that is kept, while the policy is the one that was accepted for it; else a new one, once `accept` says so.
 * @param accept - shows the policy and asks
 */
export async function obtainPat(api: Api, accept: (policy: Policy) => Promise<boolean>): Promise<string> {
  const { body } = await api.call('GET', '/api/policy');
  const current = readBody(policy, { body });
  const agent = await openAgent();
  const kept = agent.pats[api.baseUrl];
  const digest = canonicalDigest(body);
  if (kept?.digest === digest && kept.expires_at - marginMs > Date.now()) return kept.pat;
  if (kept?.digest !== digest && !(await accept(current))) {
    throw new CliFailure('failure', 'The policy was not accepted, so nothing was signed and no intent can be executed.');
  }
  // What is signed is what was served, not a copy whose members stand in another order.
  const { pat, expiresAtMs } = await requestPat(api, agent, body);
  file().write({ ...agent, pats: { ...agent.pats, [api.baseUrl]: { pat, expires_at: expiresAtMs, digest } } });
  return pat;
}

/** Forgets the PAT for a service, so that the next one is asked for. The policy stays accepted. */
export function forgetPat({ baseUrl }: Api): void {
  const agent = file().read();
  const kept = agent?.pats[baseUrl];
  if (agent && kept) file().write({ ...agent, pats: { ...agent.pats, [baseUrl]: { ...kept, expires_at: 0 } } });
}

async function requestPat(api: Api, { agent_id, private_key }: AgentFile, document: unknown) {
  const { d: _, ...publicKey } = private_key;
  const signed = await new CompactSign(new TextEncoder().encode(JSON.stringify(document)))
    .setProtectedHeader({ alg: 'ES256', iat: Math.floor(Date.now() / 1000) } as { alg: string })
    .sign(await importJWK(private_key, 'ES256'));
  const { body } = await api.call('POST', '/api/pat/issue', {
    body: { agent_id, signed_policy: signed, agent_public_key: JSON.stringify(publicKey) },
  });
  const members = Object.entries((body ?? {}) as Record<string, unknown>);
  // its name begins with the protocol's, whatever that is
  const pat = members.find(([name]) => name.endsWith('-pat'))?.[1];
  const expiresAt = members.find(([name]) => name === 'expires_at')?.[1];
  if (typeof pat !== 'string') throw new CliFailure('failure', 'The service answered the signed policy without a PAT.');
  return { pat, expiresAtMs: typeof expiresAt === 'string' ? Date.parse(expiresAt) : 0 };
}
