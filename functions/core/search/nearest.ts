import { setTimeout } from 'node:timers/promises';
import * as z from 'zod';
import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { forwardToFunction } from '../http/forward-to-function.ts';
import { innerRequest } from '../http/inner-request.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Action } from '../http/serve.ts';
import type { JsonObject } from '../json/json.ts';
import type { FindPolicy } from '../policy/policy.ts';
import { sightOf } from '../policy/sight.ts';
import { ApiError } from '../runtime/api-error.ts';
import { editDistance } from '../runtime/edit-distance.ts';
import { isCatalogueHidden, readEnvironment } from '../runtime/environment.ts';
import { questionWords } from './query.ts';
import { wordsOf } from './text.ts';

const maxNearest = 3;

/** Longest wait for suggestions, in milliseconds; enough for a cold start. */
const timeoutMs = 2_000;

/** Maximum edit distance of a misspelling, as a fraction of the uid's length (without its version). */
const misspelt = 1 / 4;

const found = z.object({ intents: z.array(z.object({ intent_uid: z.string(), intent_name: z.string() })) });

export interface NearestDeps {
  /** the action of `GET /api/intents/search`, whose results are suggested */
  search: Action;
  /** absent if the results are only intents that the caller sees */
  findPolicy: FindPolicy | undefined;
}

/**
 * Adds suggestions to NOT_FOUND: `details.nearest`, up to three uids that the policy permits, and the caller sees, nearest first. This takes one search; if it
 * fails or times out, the refusal is unchanged.
 */
export const withNearest =
  (action: Action, deps: NearestDeps, waitMs = timeoutMs): Action =>
  async (request) => {
    try {
      return await action(request);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error;
      const nearest = await Promise.race([findNearest(request, deps).catch(() => []), setTimeout(waitMs, [], { ref: false })]);
      throw nearest.length > 0 ? error.withDetails({ nearest }) : error;
    }
  };

/** {@link withNearest} for functions without an index, which call the search function. */
export function withNearestFromEnvironment(action: Action, findPolicy: FindPolicy): Action {
  const { searchFunction } = readEnvironment([], ['searchFunction']);
  const isHidden = isCatalogueHidden();
  if (searchFunction === undefined) return action;
  return withNearest(action, {
    search: forwardToFunction(searchFunction, { method: 'GET', path: '/api/intents/search', timeoutMs, isWithToken: isHidden }),
    findPolicy: isHidden ? undefined : findPolicy,
  });
}

async function findNearest(request: ApiRequest, { search, findPolicy }: NearestDeps): Promise<string[]> {
  const asked = request.pathParameter('intent_uid') || String((request.json() as JsonObject).intent_uid);
  const { namespace, slug } = splitIntentUid(asked);
  // not filtered by namespace, which may be the misspelt part
  const query = { query: `${namespace} ${slug}`, view: 'brief', page_size: '100' };
  const { intents } = found.parse((await search(innerRequest(request, { query }))).body);
  const policy = await findPolicy?.(request.baseUrl);
  const sight = policy && sightOf(policy);
  const words = questionWords(slug);
  return intents
    .filter(({ intent_uid }) => !sight || sight.covers(intent_uid))
    .map(({ intent_uid, intent_name }) => {
      const share = changedShare(asked, intent_uid);
      const own = wordsOf(`${splitIntentUid(intent_uid).slug} ${intent_name}`);
      return { intent_uid, share: share <= misspelt ? share : 1, isRelated: words.some((word) => own.includes(word)) };
    })
    .filter(({ share, isRelated }) => share < 1 || isRelated)
    .sort((a, b) => a.share - b.share)
    .slice(0, maxNearest)
    .map(({ intent_uid }) => intent_uid);
}

const withoutVersion = (uid: string): string => uid.slice(0, uid.lastIndexOf(':')).toLowerCase();

function changedShare(uid: string, other: string): number {
  const [a, b] = [withoutVersion(uid), withoutVersion(other)];
  return editDistance(a, b) / Math.max(a.length, b.length);
}
