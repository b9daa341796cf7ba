import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { type Admin, mayChange } from '../admin/admin.ts';
import { adminVerifierFromEnvironment, findAdmin, type VerifyAdmin } from '../admin/verify-admin.ts';
import type { ApiRequest } from '../http/request.ts';
import { openAuthenticator } from '../pat/authenticate.ts';
import { openProofs } from '../pat/proof.ts';
import { patVerifierFromEnvironment } from '../pat/verify.ts';
import type { CurrentPolicy, FindPolicy } from '../policy/policy.ts';
import { type Sight, sightOf } from '../policy/sight.ts';
import { listIntents } from '../registry/lists.ts';
import { isSeen, type LiveIntent, type LiveIntents } from '../registry/live-intents.ts';
import { noSuchService } from '../registry/refusals.ts';
import { ApiError } from '../runtime/api-error.ts';
import { isCatalogueHidden, readEnvironment } from '../runtime/environment.ts';
import { isUlid } from '../runtime/ulid.ts';
import type { Table } from '../table/table.ts';
import { type Admit, openAdmission } from './admit.ts';

/** What one caller sees. Whether drafts are visible is decided separately: see `mayChange`. */
export interface Viewer {
  /** undefined unless it is an admin */
  admin: Admin | undefined;
  /** as it applies to the caller */
  policy: CurrentPolicy;
  /** undefined if it sees everything */
  sight: Sight | undefined;
}

/** What a caller sees of a service: undefined if everything. */
export const sightWithin = (viewer: Viewer | undefined, { namespace }: { namespace?: string | undefined }): Sight | undefined =>
  viewer?.admin && mayChange(viewer.admin, namespace) ? undefined : viewer?.sight;

/**
 * Finds out what a caller sees with the setting `catalogue: permitted`: what the policy permits to the holder of its PAT or, without a PAT that an
 * execution would accept, to anybody; with an admin's token also everything in the admin's namespaces. All else does not exist for it.
 * @throws ApiError SERVICE_UNAVAILABLE
 */
export type Look = (request: ApiRequest) => Promise<Viewer>;

/** Header fields of answers that depend on the caller. */
export const privateHeaders = { Vary: 'Authorization', 'Cache-Control': 'private, no-cache' };

export const openLook =
  ({ admit, verifyAdmin, findPolicy }: { admit: Admit; verifyAdmin: VerifyAdmin; findPolicy: FindPolicy }): Look =>
  async (request) => {
    const isAnonymous = request.headerValues('authorization').length === 0;
    const holder = isAnonymous ? undefined : await admit(request).catch(ignoreRefusal);
    const [admin, policy] = holder
      ? [undefined, holder.policy]
      : await Promise.all([findAdmin(request, verifyAdmin), findPolicy(request.baseUrl)]);
    const permitted = sightOf(policy);
    if (!admin) return { admin, policy, sight: permitted };
    const owns = (uid: string): boolean => mayChange(admin, splitIntentUid(uid).namespace);
    const sight: Sight = {
      covers: (uid) => owns(uid) || permitted.covers(uid),
      shows: (uid, read) => owns(uid) || permitted.shows(uid, read),
    };
    return { admin, policy, sight: admin.namespaces && sight };
  };

/** A PAT or token that would not be accepted counts as none. */
function ignoreRefusal(error: unknown): undefined {
  if (!(error instanceof ApiError) || !['UNAUTHORIZED', 'FORBIDDEN', 'INVALID_PARAMETER'].includes(error.code)) throw error;
}

/** @returns undefined if everybody sees everything */
export function lookFromEnvironment(table: Table, findPolicy: FindPolicy): Look | undefined {
  if (!isCatalogueHidden()) return undefined;
  const { requireProofOfPossession } = readEnvironment([], ['requireProofOfPossession']);
  const authenticate = openAuthenticator({
    verifyPat: patVerifierFromEnvironment(),
    // proofs are checked, but not used up: reads have no effect that a repetition could double
    proofs: openProofs({ consume: async () => true }, requireProofOfPossession === 'true'),
    findPolicy,
    refusals: { refuseOldPolicy: async () => new ApiError('FORBIDDEN', 'The policy has changed since the PAT was issued.') },
  });
  return openLook({ admit: openAdmission(authenticate, table), verifyAdmin: adminVerifierFromEnvironment(), findPolicy });
}

/**
 * Refuses an unknown service. Makes the reads that a hidden service takes, so that time reveals nothing.
 * @throws ApiError NOT_FOUND
 */
export async function refuseService(table: Table, serviceId: string, viewer: Viewer | undefined): Promise<never> {
  if (viewer?.sight && isUlid(serviceId))
    await listIntents(table, { service_id: serviceId, intents: 0, drafts: 0 }, 0, 1, false, viewer.sight);
  throw noSuchService();
}

/** The intent, if the caller sees it. If the uid alone hides it, nothing is read. */
export async function findSeen(
  intents: Pick<LiveIntents, 'find'>,
  intentUid: string,
  sight: Sight | undefined,
): Promise<LiveIntent | undefined> {
  const found = !sight || sight.covers(intentUid) ? await intents.find(intentUid) : undefined;
  return found && isSeen(found, sight) ? found : undefined;
}
