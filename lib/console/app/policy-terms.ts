import { describePolicy } from '../../../functions/core/policy/describe.ts';
import { interpretPolicy, PolicyError } from '../../../functions/core/policy/reading.ts';
import { isPermitted, isRuledOut, oneIntent } from '../../../functions/core/policy/scope.ts';
import type { Policy } from '../../../schemas/policy.ts';

/** What the policy says about one intent. */
export interface Terms {
  /** whether everyone who accepts the policy may run it */
  isAllowed: boolean;
  isProhibited: boolean;
  /** what applies to it, in words */
  sentences: string[];
}

/**
 * Reads the policy as the gate does.
 * @param publicUrl - the gate's address for itself, which the policy's targets begin with
 * @returns what it says about an intent; nothing if this page does not understand the policy
 */
export function readTerms(policy: Policy, publicUrl: string): (intentUid: string) => Terms | undefined {
  try {
    const { permissions, prohibitions } = interpretPolicy(policy, publicUrl);
    return (intentUid) => {
      const isProhibited = isRuledOut(prohibitions, oneIntent(intentUid));
      const applies = (entry: string | undefined) => entry !== undefined && isPermitted([entry], intentUid);
      const about: Policy = {
        ...policy,
        permission: policy.permission?.filter((_, at) => applies(permissions[at]?.entry)),
        prohibition: policy.prohibition?.filter((rule) => {
          const own = interpretPolicy({ ...policy, prohibition: [rule] }, publicUrl).prohibitions;
          return own.length === 0 || isRuledOut(own, oneIntent(intentUid));
        }),
      };
      const isAllowed = !isProhibited && permissions.some(({ entry }) => applies(entry));
      return { isAllowed, isProhibited, sentences: describeAbout(about, publicUrl) };
    };
  } catch (error) {
    if (error instanceof PolicyError) return () => undefined;
    throw error;
  }
}

/** Without the first sentence, which says which policy it is. What is left of the policy may not stand by itself: then it says too little, not too much. */
function describeAbout(policy: Policy, publicUrl: string): string[] {
  try {
    return describePolicy(policy, publicUrl).slice(1);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    return describePolicy({ ...policy, prohibition: [] }, publicUrl).slice(1);
  }
}
