import { publicationQuery } from '../schemas/policy.ts';
import { type AdminAction, forFullAdmins, serveAdmin } from './core/admin/for-admins.ts';
import { ok } from './core/http/response.ts';
import { describeChanges } from './core/policy/describe.ts';
import { type FindPolicy, openPolicy, type PolicyText } from './core/policy/policy.ts';
import { warnOf } from './core/policy/warnings.ts';
import { changeLogFromEnvironment } from './core/registry/change-log.ts';
import { isFileOnly, policyTextFromEnvironment, readPolicyFile } from './core/registry/policy-in-force.ts';
import { findReplaced, openPublisher, type Publisher, policyChanged, readPublication } from './core/registry/publish-policy.ts';
import { ApiError, invalidParameter } from './core/runtime/api-error.ts';
import { keys, partitions } from './core/table/keys.ts';
import { firstOf, pagesOf } from './core/table/pages.ts';
import { type Table, tableFromEnvironment } from './core/table/table.ts';

export interface Deps {
  table: Pick<Table, 'getAll' | 'query'>;
  findPolicy: FindPolicy<PolicyText>;
  publisher: Pick<Publisher, 'publish'>;
  /** whether the policy changes by deployment only */
  isFileOnly?: boolean;
}

/** Most agents that are counted, and most intents that are looked up, for one publication. */
const [maxAgents, maxIntents] = [10_000, 100];

/**
 * `PUT /api/policy`: puts a policy into force. An execution that begins after the answer is judged by it. `If-Match` must be the digest of the policy
 * that it replaces, so that two admins cannot overwrite each other's.
 */
export const createAction = ({ table, findPolicy, publisher, isFileOnly = false }: Deps): AdminAction =>
  forFullAdmins(async (admin, request) => {
    if (isFileOnly)
      throw new ApiError('METHOD_NOT_ALLOWED', 'The policy of this gate changes by deployment only (setting policySource).', {
        headers: { Allow: 'GET' },
      });
    const text = request.text();
    const { dry_run } = request.query(publicationQuery);
    // other parameters are ignored if they are empty
    if (dry_run === undefined && 'dry_run' in request.queryValues())
      throw invalidParameter([{ path: '/dry_run', problem: 'must be true or false' }]);
    const replaced = request.header('if-match')?.trim().replace(/^"|"$/g, '');
    if (replaced === undefined)
      throw invalidParameter([{ path: '', problem: 'the header If-Match must be the ETag of GET /api/policy, the policy to replace' }]);
    const next = await readPublication(text, request.baseUrl);
    const current = await findReplaced({ table, findPolicy }, request.baseUrl, replaced);
    if (replaced !== current.digest) throw policyChanged();
    const { digest, sentences, policy, rules } = openPolicy(next.text)(request.baseUrl);
    const isOther = digest !== current.digest;
    const named = rules.flatMap(({ entry }) => (entry.includes('*') ? [] : [entry.replace(/:execute$/, '')]));
    const uids = [...new Set(named)].slice(0, maxIntents);
    const [known, agents] = await Promise.all([
      table.getAll(uids.map(keys.intent)),
      firstOf(pagesOf(table, `${partitions.agentList.prefix}active`), isOther ? maxAgents : 0),
    ]);
    const unknown = uids.filter((_, at) => known[at] === undefined);
    const told = {
      digest,
      version: next.version,
      changes: isOther ? describeChanges(current.sentences, sentences) : [],
      agents: agents.length,
      warnings: [
        ...warnOf(policy, request.baseUrl, rules),
        ...unknown.map((uid) => ({ path: '', problem: `names the intent ${uid}, which does not exist` })),
      ],
    };
    // last, so that nothing is in force without an answer because the time for it ran out
    const seq = dry_run === 'true' ? (current.pointer?.rev ?? 0) : await publisher.publish(admin, next, current.pointer?.version);
    return ok({ ...told, seq });
  });

const table = tableFromEnvironment();

export const handler = serveAdmin(
  createAction({
    table,
    findPolicy: policyTextFromEnvironment(table),
    publisher: openPublisher(changeLogFromEnvironment(table), readPolicyFile),
    isFileOnly: isFileOnly(),
  }),
);
