import { canonicalDigest } from '../../../schemas/canonical.ts';
import type { LoggedChange } from '../../../schemas/changes.ts';
import type { Admin } from '../admin/admin.ts';
import { pack } from '../json/pack.ts';
import { publishPolicy } from '../policy/compile.ts';
import type { FindPolicy, PolicyPointer, PolicyText } from '../policy/policy.ts';
import { type PublishedPolicy, readPublished } from '../policy/published.ts';
import { PolicyError } from '../policy/reading.ts';
import { parsePolicyTemplate } from '../policy/template.ts';
import { writePublished } from '../policy/write-published.ts';
import { ApiError, invalidParameter } from '../runtime/api-error.ts';
import type { Condition } from '../table/expression.ts';
import { type Key, keys, policyCopies } from '../table/keys.ts';
import type { Table, Write } from '../table/table.ts';
import { type ChangeLog, noChange } from './change-log.ts';
import type { PolicyItem } from './policy-in-force.ts';

/** Maximum size of a published policy with its rules, compressed, and of its sentences, in bytes: an item holds 400 KB. */
const maxItemBytes = 300_000;

/** A compiled policy, ready to be stored under its version: the digest of its text, in which `{base_url}` stands for the gate's address. */
export interface Publication {
  version: string;
  /** see {@link writePublished} */
  text: string;
  item: Key & PolicyItem;
}

/** @param text - see {@link writePublished} */
async function toPublication(text: string): Promise<Publication> {
  const { policy }: PublishedPolicy = JSON.parse(text);
  const version = canonicalDigest(policy);
  return { version, text, item: { ...keys.publishedPolicy(version), packed: await pack(text) } };
}

/**
 * Compiles the text of a policy for its publication.
 * @throws ApiError INVALID_PARAMETER listing every place that cannot be put into effect
 */
export async function readPublication(text: string, baseUrl: string): Promise<Publication> {
  try {
    const publication = await toPublication(writePublished(publishPolicy(parsePolicyTemplate(text, baseUrl), baseUrl)));
    // PATs are issued only once the sentences are kept, uncompressed: see `policy-refusals.ts`
    const { sentences } = readPublished(publication.text, baseUrl);
    if (Math.max(publication.item.packed.length, Buffer.byteLength(JSON.stringify(sentences))) <= maxItemBytes) return publication;
    const size = `${maxItemBytes / 1_000} KB`;
    throw new PolicyError([
      { path: '', problem: `must be smaller: with its rules it takes more than ${size}, compressed, or its sentences more than ${size}` },
    ]);
  } catch (error) {
    if (error instanceof PolicyError) throw invalidParameter(error.issues);
    throw error;
  }
}

export const policyChanged = (): ApiError =>
  new ApiError('CONFLICT', 'If-Match is not the digest of the policy in force. Read it with GET /api/policy, and compare it with yours.', {
    details: { reason: 'etag_mismatch' },
  });

/**
 * The policy to replace. One that is missing or damaged has no digest: it is named by its version, which the log of changes states.
 * @param named - in the request
 */
export async function findReplaced(
  { table, findPolicy }: { table: Pick<Table, 'getAll'>; findPolicy: FindPolicy<PolicyText> },
  baseUrl: string,
  named: string,
): Promise<Pick<PolicyText, 'digest' | 'sentences' | 'pointer'>> {
  try {
    return await findPolicy(baseUrl);
  } catch (error) {
    const [pointer] = await table.getAll<PolicyPointer>([keys.policyInForce()]);
    if (pointer?.version === undefined || named.replace(/^sha-256=/, '') !== pointer.version) throw error;
    return { digest: named, sentences: [], pointer };
  }
}

/** A change of the pointer, planned from its current state. */
export interface PointerChange {
  /** what the pointer is to have besides its present members; undefined removes a member */
  members: Omit<Partial<PolicyPointer>, 'rev'>;
  logged: LoggedChange;
}

/** Changes which policies the pointer names, and stores them: archive, pointer and log entry are one transaction. */
export function openPublisher(changeLog: Pick<ChangeLog, 'change'>, readFile: () => string) {
  /**
   * @param named - the policies that the pointer will name
   * @param plan - returns undefined if the pointer names them already; throws the refusal
   * @returns the number of the log entry, or that of the newest one if nothing changes
   */
  const change = (
    by: Admin,
    named: readonly Publication[],
    plan: (pointer: PolicyPointer | undefined) => PointerChange | undefined,
  ): Promise<number> =>
    changeLog.change<number>(by, async (read) => {
      const [pointer, ...stored] = await read<PolicyPointer | PolicyItem>([
        keys.policyInForce(0),
        ...named.map(({ version }) => keys.publishedPolicy(version)),
      ]);
      const seen = pointer as PolicyPointer | undefined;
      const isStored = named.every(
        ({ item }, at) => Buffer.compare(item.packed, (stored[at] as PolicyItem | undefined)?.packed ?? Buffer.of()) === 0,
      );
      const planned = plan(seen);
      if (!planned || (isStored && planned.logged.digest_before === planned.logged.digest_after)) return noChange(seen?.rev ?? 0);
      const when: Condition[] = [seen ? ['=', 'rev', seen.rev] : ['absent', 'pk']];
      const point = (copy: number, rev: number): Write => ({
        put: { ...seen, ...planned.members, rev, ...keys.policyInForce(copy) },
        ...(copy === 0 && { when }),
      });
      return {
        result: (seq) => seq,
        changes: [planned.logged],
        writes: (rev) => [
          ...named.map(({ item }) => ({ put: item })),
          ...Array.from({ length: policyCopies }, (_, copy) => point(copy, rev)),
        ],
      };
    });

  return {
    change,

    /**
     * Puts a policy into force.
     * @param seen - the version that the admin means to replace; undefined: the policy of the deployment
     * @throws ApiError CONFLICT if another one is in force
     */
    async publish(by: Admin, next: Publication, seen: string | undefined): Promise<number> {
      const ofFile = seen === undefined ? await toPublication(readFile()) : undefined;
      const isOther = ofFile !== undefined && ofFile.version !== next.version;
      return change(by, isOther ? [ofFile, next] : [next], (pointer) => {
        if (pointer?.version !== seen) throw policyChanged();
        return {
          members: { version: next.version },
          logged: logged('policy', 'publish', seen ?? (isOther ? ofFile.version : undefined), next.version),
        };
      });
    },
  };
}

export type Publisher = ReturnType<typeof openPublisher>;

/** @param id - `policy`: the one in force; features have others */
export const logged = (id: string, action: LoggedChange['action'], before?: string, after?: string): LoggedChange => ({
  kind: 'policy',
  id,
  action,
  ...(before !== undefined && { digest_before: `sha-256=${before}` }),
  ...(after !== undefined && { digest_after: `sha-256=${after}` }),
});
