import { IntentGateError, PolicyDeclined, Refusal, UnexpectedAnswer } from './errors.ts';
import type { Exchange, Http } from './http.ts';
import { makeProof, publicPem, signJws } from './jws.ts';
import type { KeyPair } from './keys.ts';
import { fetchPolicy, fetchPolicyInWords, requirePolicyOf, type ServedPolicy } from './policy.ts';
import type { Policy } from './types.ts';

/**
 * Decides whether a policy is accepted. It may search and read; an execution would wait for this decision.
 * @param inWords - the policy in plain sentences, or as JSON if the gate does not describe it
 * @param changes - differences from the previously accepted policy, if known
 */
export type OnPolicy = (policy: Policy, inWords: string[], changes?: string[]) => boolean | Promise<boolean>;

export interface Pat {
  text: string;
  /** local time in milliseconds since the epoch */
  expiresAtMs?: number | undefined;
  /** replaced from this time on, so that calls in progress end before it expires */
  renewAtMs?: number | undefined;
}

export interface Agreement {
  /** digest of the accepted policy in canonical form (RFC 8785): SHA-256 in base64url */
  digest: string;
  /** the PAT, with the agent to which it was issued */
  pat?: Pat & { agentId: string; agentDirectory?: string | undefined };
}

/** Stores agreements by the address of the gate. */
export interface AgreementStore {
  load(url: string): Promise<Agreement | undefined>;
  save(url: string, agreement: Agreement): Promise<void>;
}

export interface Signer {
  agentId: string;
  key: KeyPair;
  /** https origin whose directory lists the key, which verifies the agent for that domain */
  agentDirectory?: string | undefined;
}

interface SigningTerms {
  /** the gate's public address */
  audience: string;
  nowMs: number;
}

interface PatOptions extends Signer {
  http: Http;
  /** the gate's public address */
  publicUrl: string;
  onPolicy: OnPolicy;
  usesProofs: boolean;
  store?: AgreementStore | undefined;
}

/** Share of its lifetime after which a PAT is renewed. */
const renewalShare = 0.9;
const signatureLifeSeconds = 120;

export const issuePath = '/api/pat/issue';

/** The body of a PAT request, with the policy as a short-lived, single-use JWS for one gate. */
export async function makePatRequest({ agentId, key, agentDirectory }: Signer, policy: unknown, { audience, nowMs }: SigningTerms) {
  const iat = Math.floor(nowMs / 1000);
  const claims = { iat, exp: iat + signatureLifeSeconds, aud: audience, jti: crypto.randomUUID() };
  return {
    agent_id: agentId,
    signed_policy: await signJws(key, claims, policy),
    agent_public_key: await publicPem(key),
    ...(agentDirectory !== undefined && { agent_directory: agentDirectory }),
  };
}

/**
 * @param gateNowMs - time of the gate's clock
 * @throws UnexpectedAnswer if the response has no PAT
 */
export function readPat(answer: Exchange, gateNowMs: number): Pat {
  const members = (answer.body ?? {}) as Record<string, unknown>;
  // the name of the member depends on the protocol, for example proto-pat
  const [, text] = Object.entries(members).find(([name]) => name.endsWith('-pat')) ?? [];
  if (typeof text !== 'string') throw new UnexpectedAnswer(answer);
  const lifeMs = Date.parse(String(members.expires_at)) - gateNowMs;
  if (Number.isNaN(lifeMs)) return { text };
  return { text, expiresAtMs: Date.now() + lifeMs, renewAtMs: Date.now() + lifeMs * renewalShare };
}

const isFresh = ({ renewAtMs = Number.POSITIVE_INFINITY }: Pat): boolean => Date.now() < renewAtMs;

/** Holds one PAT. Concurrent callers share a request and a question. */
export function openPats({ http, key, agentId, agentDirectory, publicUrl, onPolicy, usesProofs, store }: PatOptions) {
  let pat: Pat | undefined;
  let work: Promise<Pat> | undefined;
  let renewal: Promise<Pat | undefined> | undefined;
  let accepted: ServedPolicy | undefined;
  let isLoaded = false;

  const isAccepted = async ({ digest }: ServedPolicy): Promise<boolean> =>
    accepted?.digest === digest || (await store?.load(http.url))?.digest === digest;

  async function acceptPolicy(refusal?: Refusal): Promise<ServedPolicy> {
    const served = await fetchPolicy(http);
    if (await isAccepted(served)) return served;
    const { policy, digest, inWords } = await fetchPolicyInWords(http, served);
    requirePolicyOf(publicUrl, policy);
    const isOfThis = String(refusal?.details.policy).endsWith(`#sha-256=${digest}`);
    // a copy, so that only what was fetched is signed
    const changes = isOfThis ? refusal?.changes : undefined;
    const isAllowed = await onPolicy(structuredClone(policy), inWords, changes);
    if (isAllowed !== true) throw new PolicyDeclined(policy, inWords, changes);
    await store?.save(http.url, { digest });
    return { policy, digest };
  }

  /** @param refusal - the refusal because the accepted policy has changed, if any */
  async function requestPat(refusal?: Refusal): Promise<Pat> {
    if (!accepted || refusal) accepted = await acceptPolicy(refusal);
    const { policy, digest } = accepted;
    requirePolicyOf(publicUrl, policy);
    const answer = await http.send('POST', issuePath, {
      prepare: async () => ({
        body: await makePatRequest({ agentId, key, agentDirectory }, policy, { audience: publicUrl, nowMs: http.now() }),
        ...(usesProofs && { headers: { DPoP: await makeProof(key, { method: 'POST', url: publicUrl + issuePath, nowMs: http.now() }) } }),
      }),
    });
    pat = readPat(answer, http.now());
    await store?.save(http.url, { digest, pat: { ...pat, agentId, agentDirectory } });
    return pat;
  }

  /** The stored PAT, on the first call, even if it has to be renewed. */
  async function loadKept(): Promise<Pat | undefined> {
    if (isLoaded) return undefined;
    isLoaded = true;
    const kept = (await store?.load(http.url))?.pat;
    if (kept?.agentId === agentId && kept.agentDirectory === agentDirectory) pat ??= kept;
    return pat;
  }

  /** Issues a PAT. If the policy has changed meanwhile, the refusal contains the changes. */
  async function issue(refusal?: Refusal): Promise<Pat> {
    const kept = await loadKept();
    if (kept && isFresh(kept)) return kept;
    return requestPat(refusal).catch((error: unknown) => {
      if (error instanceof Refusal && error.details.reason === 'not_current_policy') return requestPat(error);
      throw error;
    });
  }

  /** Renews the PAT once; if that fails, later reads go without one. */
  async function renewUnasked(stale: Pat): Promise<Pat | undefined> {
    try {
      const served = accepted ?? (await fetchPolicy(http));
      if (await isAccepted(served)) {
        accepted = served;
        return await requestPat();
      }
    } catch (error) {
      if (!(error instanceof IntentGateError)) throw error;
    }
    if (pat === stale) pat = undefined;
    return undefined;
  }

  const obtain = (refusal?: Refusal): Promise<Pat> => {
    if (pat && isFresh(pat)) return Promise.resolve(pat);
    work ??= issue(refusal).finally(() => {
      work = undefined;
    });
    return work;
  };

  return {
    obtain: () => obtain(),
    /**
     * The PAT for reads, which need none but may show more with one. Nobody is asked: a PAT is only renewed, and only for a policy that was accepted.
     * Undefined if there is none, or if it cannot be renewed.
     */
    async find(): Promise<Pat | undefined> {
      await loadKept();
      if (!pat || isFresh(pat)) return pat;
      renewal ??= renewUnasked(pat).finally(() => {
        renewal = undefined;
      });
      return renewal;
    },
    replace: (refused: Pat, refusal: Refusal): Promise<Pat> => {
      if (pat === refused) pat = undefined;
      return obtain(refusal.details.reason === 'policy_changed' ? refusal : undefined);
    },
  };
}
