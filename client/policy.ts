import { digestOf } from './canonical.ts';
import { IntentGateError, Refusal } from './errors.ts';
import type { Http } from './http.ts';
import type { Policy } from './types.ts';

/** The policy in force. */
export interface ServedPolicy {
  policy: Policy;
  /** of the canonical form of the policy (RFC 8785): SHA-256 in base64url */
  digest: string;
}

const policyPath = '/api/policy';

/** How often policy and sentences are read until they belong together. */
const maxReads = 3;

export async function fetchPolicy(http: Http): Promise<ServedPolicy> {
  const policy = (await http.send('GET', policyPath)).body as Policy;
  return { policy, digest: await digestOf(policy) };
}

/**
 * The policy in force, and what the gate says that it means. The sentences are those of exactly this policy: the gate names the digest of the
 * policy that they are about, and it is compared with the digest of the policy that would be signed.
 * @param known - the policy, if it has just been read
 */
export async function fetchPolicyInWords(http: Http, known?: ServedPolicy): Promise<ServedPolicy & { inWords: string[] }> {
  for (let reads = 0; reads < maxReads; reads++) {
    const { policy, digest } = (reads === 0 && known) || (await fetchPolicy(http));
    const words = await fetchWords(http);
    // from a gate that does not put it into words, the policy itself is what can be shown
    if (words === undefined) return { policy, digest, inWords: JSON.stringify(policy, null, 2).split('\n') };
    if (words.policy === `${policy.uid}#sha-256=${digest}`) return { policy, digest, inWords: words.sentences };
  }
  throw new IntentGateError(
    'UNEXPECTED_ANSWER',
    'The sentences that the gate answers are not those of the policy that it serves, so nothing was signed. Try again; if it stays, tell its operators.',
  );
}

async function fetchWords(http: Http): Promise<{ policy: string; sentences: string[] } | undefined> {
  try {
    const { body } = await http.send('GET', policyPath, { query: { view: 'words' } });
    const { policy, sentences } = body as Record<string, unknown>;
    const isInWords = typeof policy === 'string' && Array.isArray(sentences) && sentences.every((one) => typeof one === 'string');
    return isInWords ? { policy, sentences } : undefined;
  } catch (error) {
    if (error instanceof Refusal && error.status < 500) return undefined;
    throw error;
  }
}

/**
 * The address by which a policy speaks of its gate, which need not be the one that the gate is reached at; `url` if it speaks of none.
 * It is what the gate says of itself: an agent with a key of value signs for an address that it was told by its owner.
 */
export function addressIn({ permission }: Policy, url: string): string {
  const targets = (Array.isArray(permission) ? permission : []).map((rule) => String(rule?.target));
  return targets.flatMap((target) => /^(.*)\/api\/intents(?:[/?]|$)/.exec(target)?.[1] ?? [])[0] ?? url;
}
