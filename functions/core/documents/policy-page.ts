import type { Policy } from '../../../schemas/policy.ts';
import { describePolicy } from '../policy/describe.ts';

/** The place in the reference page for the sentences of the policy. */
export const policyPlace = '<!-- policy -->';

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? '');

/** The reference page with the policy in plain sentences. */
export const fillPolicy = (page: string, policy: Policy, baseUrl: string): string =>
  page.replace(policyPlace, () =>
    describePolicy(policy, baseUrl)
      .map((sentence) => `<li>${escapeHtml(sentence)}</li>`)
      .join('\n'),
  );
