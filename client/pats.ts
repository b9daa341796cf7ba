import { PolicyDeclined, Refusal, UnexpectedAnswer } from './errors.ts';
import type { Exchange, Http } from './http.ts';
import { makeProof, publicPem, signJws } from './jws.ts';
import type { KeyPair } from './keys.ts';
import { fetchPolicy, fetchPolicyInWords, type ServedPolicy } from './policy.ts';
import type { Policy } from './types.ts';

/**
 * Decides whether a policy is accepted.
 * @param inWords - the policy in plain sentences, by the gate; line by line as JSON if the gate does not put it into words
 * @param changes - what is different from the policy that was accepted before, as far as the gate has said so
 */
export type OnPolicy = (policy: Policy, inWords: string[], changes?: string[]) => boolean | Promise<boolean>;

/** A Policy Adherence Token. */
export interface Pat {
  text: string;
  /** by this machine's clock, in milliseconds since the epoch; undefined if the gate does not say */
  expiresAtMs?: number | undefined;
  /** no longer used from then on, so that what is left covers a call that is under way */
  renewAtMs?: number | undefined;
}

/** What an agent and a gate have agreed on. */
export interface Agreement {
  /** digest of the canonical form (RFC 8785) of the policy that was accepted: SHA-256 in base64url */
  digest: string;
  /** the PAT that was got for it, and who got it */
  pat?: Pat & { agentId: string };
}

/** Where agreements are kept from one run to the next, by the address of the gate. */
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
  /** the address that the gate calls itself by */
  audience: string;
  nowMs: number;
}

export interface PatOptions extends Signer {
  http: Http;
  /** the address that the gate calls itself by */
  publicUrl: string;
  onPolicy: OnPolicy;
  usesProofs: boolean;
  store?: AgreementStore | undefined;
}

export interface Pats {
  /** the PAT to use now */
  obtain(): Promise<Pat>;
  /** another one than `refused`, and why that was refused */
  replace(refused: Pat, refusal: Refusal): Promise<Pat>;
}

/** The part of its life that a PAT is used for. */
const usedLife = 0.9;
/** seconds that a signed policy holds */
const signatureLifeSeconds = 120;

export const issuePath = '/api/pat/issue';

/** The body of a PAT request: the policy as a JWS that holds for two minutes, for one gate, and once. */
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
  // the member bears the name of the deployment's protocol: proto-pat, or another
  const [, text] = Object.entries(members).find(([name]) => name.endsWith('-pat')) ?? [];
  if (typeof text !== 'string') throw new UnexpectedAnswer(answer);
  const lifeMs = Date.parse(String(members.expires_at)) - gateNowMs;
  if (Number.isNaN(lifeMs)) return { text };
  return { text, expiresAtMs: Date.now() + lifeMs, renewAtMs: Date.now() + lifeMs * usedLife };
}

const isFresh = ({ renewAtMs = Number.POSITIVE_INFINITY }: Pat): boolean => Date.now() < renewAtMs;

/** Keeps one PAT. However many ask at once, one is requested, and the policy is asked about once. */
export function openPats({ http, key, agentId, publicUrl, onPolicy, usesProofs, store }: PatOptions): Pats {
  let pat: Pat | undefined;
  let work: Promise<Pat> | undefined;
  /** what may be signed */
  let accepted: ServedPolicy | undefined;
  let isLoaded = false;

  /** Reads the policy in force, and has it accepted unless it is. */
  async function acceptPolicy(refusal?: Refusal): Promise<ServedPolicy> {
    const served = await fetchPolicy(http);
    if (accepted?.digest === served.digest || (await store?.load(http.url))?.digest === served.digest) return served;
    const { policy, digest, inWords } = await fetchPolicyInWords(http, served);
    const isOfThis = String(refusal?.details.policy).endsWith(`#sha-256=${digest}`);
    // a copy, so that nothing else is signed than what was fetched
    const isAllowed = await onPolicy(structuredClone(policy), inWords, isOfThis ? refusal?.changes : undefined);
    if (isAllowed !== true) throw new PolicyDeclined(policy, inWords);
    await store?.save(http.url, { digest });
    return { policy, digest };
  }

  /** @param refusal - why the policy that is accepted will not do any more */
  async function requestPat(refusal?: Refusal): Promise<Pat> {
    if (!accepted || refusal) accepted = await acceptPolicy(refusal);
    const { policy, digest } = accepted;
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

  /** The policy may change at any time: the refusal of an earlier one says what is different. */
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
