import * as z from 'zod';
import { canonicalDigest } from '../schemas/canonical.ts';
import { toFullIntent, toIntentDetails, viewQuery } from '../schemas/intent.ts';
import { intentUid } from '../schemas/intent-uid.ts';
import { mayChange } from './core/admin/admin.ts';
import { adminVerifierFromEnvironment, findAdmin, type VerifyAdmin } from './core/admin/verify-admin.ts';
import { findSeen, type Look, lookFromEnvironment, privateHeaders } from './core/execution/catalogue.ts';
import { recordTag, revalidated } from './core/http/response.ts';
import { type Action, serve } from './core/http/serve.ts';
import { parse } from './core/json/json.ts';
import { openCallerPolicy } from './core/pat/authenticate.ts';
import { patVerifierFromEnvironment, type VerifyPat } from './core/pat/verify.ts';
import { judgedIntent } from './core/policy/conditions.ts';
import type { FindPolicy } from './core/policy/policy.ts';
import { describeTerms } from './core/policy/terms.ts';
import { type LiveIntents, openLiveIntents } from './core/registry/live-intents.ts';
import { policyFromEnvironment } from './core/registry/policy-in-force.ts';
import { noSuchIntent } from './core/registry/refusals.ts';
import { isCatalogueHidden } from './core/runtime/environment.ts';
import { withNearestFromEnvironment } from './core/search/nearest.ts';
import type { ReadHealth } from './core/search/search-engine.ts';
import { tableFromEnvironment } from './core/table/table.ts';
import { healthReportFromEnvironment } from './features.ts';

export interface Deps {
  /** without it, nobody sees drafts */
  verifyAdmin?: VerifyAdmin;
  intents: Pick<LiveIntents, 'find'>;
  findPolicy: FindPolicy;
  verifyPat?: VerifyPat;
  look?: Look | undefined;
  readHealth?: ReadHealth | undefined;
}

/**
 * `GET /api/intents/{intent_uid}`; `?view=full` returns the full intent schema, and drafts to their admins. `terms` lists what
 * the policy says about this intent in particular; `paused` is present while its service is paused.
 */
export const createAction =
  ({ verifyAdmin, intents, findPolicy, verifyPat, look, readHealth }: Deps): Action =>
  async (request) => {
    const { intent_uid } = parse(z.object({ intent_uid: intentUid }), { intent_uid: request.pathParameter('intent_uid') });
    const { view } = request.query(viewQuery);
    const viewer = await look?.(request);
    const found = await findSeen(intents, intent_uid, viewer?.sight);
    if (!found || found.intent.draft) {
      const admin = verifyAdmin && view === 'full' && (viewer?.admin ?? (await findAdmin(request, verifyAdmin, true)));
      if (!found || !admin || !mayChange(admin, found.service.namespace)) throw noSuchIntent();
    }
    const describe = view === 'full' ? toFullIntent : toIntentDetails;
    const policy = viewer?.policy ?? (await openCallerPolicy(findPolicy, verifyPat)(request));
    const terms = describeTerms(policy.compiled, judgedIntent(found.intent, found.service));
    const { service_name, paused, rev } = found.service;
    const { health } = (await readHealth?.())?.(intent_uid) ?? {};
    const shown = { ...describe(found.intent, service_name), ...(paused && { paused }), ...(health && { health }) };
    const headers = viewer && privateHeaders;
    const tagOf = (...parts: unknown[]) =>
      recordTag(found.intent, rev, view, ...[...parts, health].flatMap((part) => (part ? canonicalDigest(part).slice(0, 8) : [])));
    if (terms.length === 0) return revalidated(shown, tagOf(), headers);
    return revalidated({ ...shown, terms }, tagOf([policy.digest, terms]), headers);
  };

const table = tableFromEnvironment();
const intents = openLiveIntents(table, isCatalogueHidden());
const findPolicy = policyFromEnvironment(table);
const verifyPat = patVerifierFromEnvironment();

const look = lookFromEnvironment(table, findPolicy);
const readHealth = healthReportFromEnvironment(table);

export const action = createAction({ intents, findPolicy, verifyPat, look, readHealth });

export const handler = serve(
  withNearestFromEnvironment(
    createAction({ verifyAdmin: adminVerifierFromEnvironment(), intents, findPolicy, verifyPat, look, readHealth }),
    findPolicy,
  ),
);
