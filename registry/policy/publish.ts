import { changePage } from '../../schemas/changes.ts';
import { type Policy, type Publication, policy as policySchema, publication } from '../../schemas/policy.ts';
import { type Api, readAnswer } from '../api.ts';
import { readPages } from '../read.ts';
import { isRepeated } from '../save.ts';

/** The policies that have been published, newest first, as far back as the log is kept; `version` names one, for {@link readVersion}. */
export async function* listVersions(api: Pick<Api, 'call'>) {
  for await (const { entries } of readPages(api, '/api/changes', { kind: 'policy', id: 'policy' }, changePage, true)) {
    for (const { seq, at, actor, changes } of entries)
      for (const { digest_after: version } of changes) if (version !== undefined) yield { seq, at, actor, version };
  }
}

/** A policy as it is served, and its entity tag. @param version - default: the one in force */
export async function readVersion(api: Pick<Api, 'call'>, version?: string): Promise<{ policy: Policy; etag: string }> {
  const answer = await api.call('GET', '/api/policy', version === undefined ? {} : { query: { version } });
  return { policy: readAnswer(policySchema, answer), etag: answer.headers.get('etag') ?? '' };
}

/**
 * Puts a policy into force.
 * @param etag - of the policy that it replaces
 * @throws Refusal INVALID_PARAMETER naming every problem, or CONFLICT if another policy is in force
 */
export async function publishPolicy(api: Pick<Api, 'call'>, policy: unknown, etag: string, isDryRun = false): Promise<Publication> {
  const request = { body: policy, headers: { 'If-Match': etag }, isAdmin: true, ...(isDryRun && { query: { dry_run: 'true' } }) };
  try {
    return readAnswer(publication, await api.call('PUT', '/api/policy', request));
  } catch (error) {
    if (isDryRun || !isRepeated(error)) throw error;
    const { etag: inForce } = await readVersion(api);
    const published = await publishPolicy(api, policy, inForce, true);
    // the dry run names the last entry about policies, which may be one about a trial
    if (inForce === `"${published.digest}"`)
      for await (const { seq, version } of listVersions(api)) if (version === published.version) return { ...published, seq };
    throw error;
  }
}
