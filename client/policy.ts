import { digestOf } from './canonical.ts';
import { IntentGateError, Refusal } from './errors.ts';
import type { Http } from './http.ts';
import type { Policy } from './types.ts';

export interface ServedPolicy {
  policy: Policy;
  /** digest of the canonical form (RFC 8785): SHA-256 in base64url */
  digest: string;
}

const policyPath = '/api/policy';

/** Maximum number of reads to get a matching pair of policy and sentences. */
const maxReads = 3;

export async function fetchPolicy(http: Http): Promise<ServedPolicy> {
  const policy = (await http.send('GET', policyPath)).body as Policy;
  return { policy, digest: await digestOf(policy) };
}

/**
 * The policy in force and the gate's description of it, matched by digest.
 * @param known - the policy, if it has just been read
 */
export async function fetchPolicyInWords(http: Http, known?: ServedPolicy): Promise<ServedPolicy & { inWords: string[]; source?: string }> {
  for (let reads = 0; reads < maxReads; reads++) {
    const { policy, digest } = (reads === 0 && known) || (await fetchPolicy(http));
    const words = await fetchWords(http);
    // no description: show the policy itself
    if (words === undefined) return { policy, digest, inWords: JSON.stringify(policy, null, 2).split('\n') };
    if (words.policy === `${policy.uid}#sha-256=${digest}`)
      return { policy, digest, inWords: words.sentences, ...(words.source !== undefined && { source: words.source }) };
  }
  throw new IntentGateError(
    'UNEXPECTED_ANSWER',
    'The sentences that the gate returns do not describe the policy that it serves, so nothing was signed. Try again; if the problem persists, tell its operators.',
  );
}

async function fetchWords(http: Http): Promise<{ policy: string; sentences: string[]; source?: string } | undefined> {
  try {
    const { body } = await http.send('GET', policyPath, { query: { view: 'words' } });
    const { policy, sentences, source } = body as Record<string, unknown>;
    const isInWords = typeof policy === 'string' && Array.isArray(sentences) && sentences.every((one) => typeof one === 'string');
    return isInWords ? { policy, sentences, ...(typeof source === 'string' && { source }) } : undefined;
  } catch (error) {
    if (error instanceof Refusal && error.status < 500) return undefined;
    throw error;
  }
}

/**
 * Requires that the uid and permissions of a policy are below an address. Otherwise a gate could present another gate's policy, and use the signature
 * there. (A uid that is not a web address belongs to no gate.)
 * @throws IntentGateError
 */
export function requirePolicyOf(address: string, policy: Policy): void {
  const { uid, permission = [] } = policy;
  const isBelow = (uri: unknown) => typeof uri === 'string' && (uri === address || uri.startsWith(`${address}/`));
  const isOwnUid = isBelow(uid) || (typeof uid === 'string' && !/^https?:/i.test(uid));
  if (isOwnUid && Array.isArray(permission) && permission.every((rule) => isBelow(rule?.target))) return;
  throw new IntentGateError(
    'FOREIGN_POLICY',
    `The policy is not that of ${address} but of ${addressIn(policy, String(uid))}, so nothing was signed. If you are sure that this is the right gate, pass that address as its public address.`,
  );
}

/**
 * The address that a policy claims for its gate, else `url`. An agent with a valuable key should sign only for an address provided by its owner.
 */
export function addressIn({ permission }: Policy, url: string): string {
  const targets = (Array.isArray(permission) ? permission : []).map((rule) => String(rule?.target));
  return targets.flatMap((target) => /^(.*)\/api\/intents(?:[/?]|$)/.exec(target)?.[1] ?? [])[0] ?? url;
}
