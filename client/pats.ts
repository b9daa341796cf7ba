import { PolicyDeclined, Refusal, UnexpectedAnswer } from './errors.ts';
import type { Exchange, Http } from './http.ts';
import { makeProof, publicPem, signJws } from './jws.ts';
import type { KeyPair } from './keys.ts';
import { fetchPolicy, fetchPolicyInWords, requirePolicyOf, type ServedPolicy } from './policy.ts';
import type { Policy } from './types.ts';

/**
 * Decides whether a policy is accepted.
 * @param inWords - the policy in plain sentences, from the gate; as lines of JSON if the gate does not describe it in words
 * @param changes - the differences from the policy that was accepted before, as far as the gate has named them
 */
export type OnPolicy = (policy: Policy, inWords: string[], changes?: string[]) => boolean | Promise<boolean>;

/** A Policy Adherence Token. */
export interface Pat {
  text: string;
  /** by this machine's clock, in milliseconds since the epoch; undefined if the gate does not say */
  expiresAtMs?: number | undefined;
  /** not used after this time, so that it stays valid for calls that are under way */
  renewAtMs?: number | undefined;
}

/** What an agent and a gate have agreed on. */
export interface Agreement {
  /** digest of the canonical form (RFC 8785) of the policy that was accepted: SHA-256 in base64url */
  digest: string;
  /** the PAT that was issued for it, and the agent it was issued to */
  pat?: Pat & { agentId: string };
}

/** Keeps agreements from one run to the next, by the address of the gate. */
export interface AgreementStore {
  load(url: string): Promise<Agreement | undefined>;
  save(url: string, agreement: Agreement): Promise<void>;
}

export interface Signer {
  agentId: string;
  key: KeyPair;
}

/** For whom and when a policy is signed. */
export interface SigningTerms {
  /** the gate's own address for itself */
  audience: string;
  nowMs: number;
}

export interface PatOptions extends Signer {
  http: Http;
  /** the gate's own address for itself */
  publicUrl: string;
  onPolicy: OnPolicy;
  usesProofs: boolean;
  store?: AgreementStore | undefined;
}

export interface Pats {
  /** the PAT to use now */
  obtain(): Promise<Pat>;
  /** a PAT other than `refused`, and why that was refused */
  replace(refused: Pat, refusal: Refusal): Promise<Pat>;
}

/** The share of its lifetime for which a PAT is used. */
const usedLife = 0.9;
/** seconds for which a signed policy is valid */
const signatureLifeSeconds = 120;

export const issuePath = '/api/pat/issue';

/** The body of a PAT request: the policy as a JWS that is valid for a short time, for one gate, and once. */
export async function makePatRequest({ agentId, key }: Signer, policy: unknown, { audience, nowMs }: SigningTerms) {
  const iat = Math.floor(nowMs / 1000);
  const claims = { iat, exp: iat + signatureLifeSeconds, aud: audience, jti: crypto.randomUUID() };
  return { agent_id: agentId, signed_policy: await signJws(key, claims, policy), agent_public_key: await publicPem(key) };
}

/**
 * The PAT in the answer to a PAT request.
 * @param gateNowMs - the gate's time
 * @throws UnexpectedAnswer if there is none
 */
export function readPat(answer: Exchange, gateNowMs: number): Pat {
  const members = (answer.body ?? {}) as Record<string, unknown>;
  // the member is named after the deployment's protocol: proto-pat, or another
  const [, text] = Object.entries(members).find(([name]) => name.endsWith('-pat')) ?? [];
  if (typeof text !== 'string') throw new UnexpectedAnswer(answer);
  const lifeMs = Date.parse(String(members.expires_at)) - gateNowMs;
  if (Number.isNaN(lifeMs)) return { text };
  return { text, expiresAtMs: Date.now() + lifeMs, renewAtMs: Date.now() + lifeMs * usedLife };
}

const isFresh = ({ renewAtMs = Number.POSITIVE_INFINITY }: Pat): boolean => Date.now() < renewAtMs;

/** Keeps one PAT. However many callers need one at once, one is requested, and `onPolicy` is called once. */
export function openPats({ http, key, agentId, publicUrl, onPolicy, usesProofs, store }: PatOptions): Pats {
  let pat: Pat | undefined;
  let work: Promise<Pat> | undefined;
  /** the policy that may be signed */
  let accepted: ServedPolicy | undefined;
  let isLoaded = false;

  /** Reads the policy in force, and asks for acceptance unless it is accepted already. */
  async function acceptPolicy(refusal?: Refusal): Promise<ServedPolicy> {
    const served = await fetchPolicy(http);
    if (accepted?.digest === served.digest || (await store?.load(http.url))?.digest === served.digest) return served;
    const { policy, digest, inWords } = await fetchPolicyInWords(http, served);
    requirePolicyOf(publicUrl, policy);
    const isOfThis = String(refusal?.details.policy).endsWith(`#sha-256=${digest}`);
    // a copy, so that nothing is signed but what was fetched
    const changes = isOfThis ? refusal?.changes : undefined;
    const isAllowed = await onPolicy(structuredClone(policy), inWords, changes);
    if (isAllowed !== true) throw new PolicyDeclined(policy, inWords, changes);
    await store?.save(http.url, { digest });
    return { policy, digest };
  }

  /** @param refusal - why the accepted policy is no longer enough */
  async function requestPat(refusal?: Refusal): Promise<Pat> {
    if (!accepted || refusal) accepted = await acceptPolicy(refusal);
    const { policy, digest } = accepted;
    requirePolicyOf(publicUrl, policy);
    const answer = await http.send('POST', issuePath, {
      prepare: async () => ({
        body: await makePatRequest({ agentId, key }, policy, { audience: publicUrl, nowMs: http.now() }),
        ...(usesProofs && { headers: { DPoP: await makeProof(key, { method: 'POST', url: publicUrl + issuePath, nowMs: http.now() }) } }),
      }),
    });
    pat = readPat(answer, http.now());
    await store?.save(http.url, { digest, pat: { ...pat, agentId } });
    return pat;
  }

  async function findKept(): Promise<Pat | undefined> {
    if (isLoaded) return undefined;
    isLoaded = true;
    const kept = (await store?.load(http.url))?.pat;
    if (kept?.agentId === agentId && isFresh(kept)) pat = kept;
    return pat;
  }

  /** The policy may change at any time: the refusal of an earlier one says what has changed. */
  const issue = async (refusal?: Refusal): Promise<Pat> =>
    (await findKept()) ??
    requestPat(refusal).catch((error: unknown) => {
      if (error instanceof Refusal && error.details.reason === 'not_current_policy') return requestPat(error);
      throw error;
    });

  const obtain = (refusal?: Refusal): Promise<Pat> => {
    if (pat && isFresh(pat)) return Promise.resolve(pat);
    work ??= issue(refusal).finally(() => {
      work = undefined;
    });
    return work;
  };

  return {
    obtain: () => obtain(),
    replace: (refused, refusal) => {
      if (pat === refused) pat = undefined;
      return obtain(refusal.details.reason === 'policy_changed' ? refusal : undefined);
    },
  };
}
