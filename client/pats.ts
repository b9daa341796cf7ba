import { PolicyDeclined, Refusal, UnexpectedAnswer } from './errors.ts';
import type { Http } from './http.ts';
import { makeProof, publicJwk, signJws } from './jws.ts';
import type { KeyPair } from './keys.ts';
import { canonicalText, describeChanges, describePolicy } from './policy-words.ts';
import type { Policy } from './types.ts';

/**
 * Decides whether a policy is accepted.
 * @param inWords - the policy in plain sentences
 * @param changes - what is different from the policy that was accepted before, where one was
 */
export type OnPolicy = (policy: Policy, inWords: string[], changes?: string[]) => boolean | Promise<boolean>;

export interface PatOptions {
  http: Http;
  key: KeyPair;
  agentId: string;
  /** what the service calls itself by */
  publicUrl: string;
  onPolicy: OnPolicy;
  usesProofs: boolean;
}

export interface Pats {
  /** the PAT to use now */
  obtain(): Promise<string>;
  /** another one than `refused` */
  replace(refused: string): Promise<string>;
}

interface Pat {
  text: string;
  /** on this machine's clock, in milliseconds since the epoch */
  renewAtMs: number;
}

/** The part of its life that a PAT is used for: what is left covers a call that is under way. */
const usedLife = 0.9;
const issuePath = '/api/pat/issue';
/** seconds that a signed policy holds */
const signatureLifeSeconds = 120;

/** Keeps one PAT. However many ask at once, one is requested, and the policy is asked about once. */
export function openPats({ http, key, agentId, publicUrl, onPolicy, usesProofs }: PatOptions): Pats {
  let pat: Pat | undefined;
  let issuing: Promise<string> | undefined;
  let accepted: Policy | undefined;

  /** The policy in force, once `onPolicy` has allowed it. */
  async function acceptPolicy(): Promise<Policy> {
    const policy = (await http.send({ method: 'GET', path: '/api/policy' })) as Policy;
    if (accepted && canonicalText(accepted) === canonicalText(policy)) return policy;
    const inWords = describePolicy(policy, publicUrl);
    // a copy, so that nothing else is signed than what was fetched
    const isAllowed = await onPolicy(structuredClone(policy), inWords, accepted && describeChanges(accepted, policy, publicUrl));
    if (isAllowed !== true) throw new PolicyDeclined(policy, inWords);
    accepted = policy;
    return policy;
  }

  async function signPolicy(policy: Policy): Promise<string> {
    const iat = Math.floor(http.now() / 1000);
    return signJws(key, { iat, exp: iat + signatureLifeSeconds, aud: publicUrl, jti: crypto.randomUUID() }, policy);
  }

  async function requestPat(): Promise<string> {
    const policy = await acceptPolicy();
    const answer = (await http.send({
      method: 'POST',
      path: issuePath,
      prepare: async () => ({
        body: { agent_id: agentId, signed_policy: await signPolicy(policy), agent_public_key: JSON.stringify(await publicJwk(key)) },
        ...(usesProofs && { headers: { DPoP: await makeProof(key, { method: 'POST', url: publicUrl + issuePath, nowMs: http.now() }) } }),
      }),
    })) as Record<string, unknown>;
    // the member bears the name of the deployment's protocol: proto-pat, or another
    const [, text] = Object.entries(answer).find(([member]) => member.endsWith('-pat')) ?? [];
    if (typeof text !== 'string') throw new UnexpectedAnswer(200);
    const lifeMs = Date.parse(String(answer.expires_at)) - http.now();
    pat = { text, renewAtMs: Number.isNaN(lifeMs) ? Number.POSITIVE_INFINITY : Date.now() + lifeMs * usedLife };
    return text;
  }

  /** The policy may change between reading and signing it. */
  const issue = (): Promise<string> =>
    requestPat().catch((error: unknown) => {
      if (error instanceof Refusal && error.details.reason === 'not_current_policy') return requestPat();
      throw error;
    });

  const obtain = (): Promise<string> => {
    if (pat && Date.now() < pat.renewAtMs) return Promise.resolve(pat.text);
    issuing ??= issue().finally(() => {
      issuing = undefined;
    });
    return issuing;
  };

  return {
    obtain,
    replace: (refused) => {
      if (pat?.text === refused) pat = undefined;
      return obtain();
    },
  };
}
