import { compareVersions, splitIntentUid } from '../../../schemas/intent-uid.ts';
import { ApiError } from '../runtime/api-error.ts';
import type { LiveIntent, LiveIntents } from './live-intents.ts';
import { noSuchIntent } from './refusals.ts';

/**
 * Requires an intent that may be executed. A draft counts as missing.
 * @throws ApiError NOT_FOUND, VERSION_CONFLICT if only other versions exist, INTENT_DEPRECATED (specification section 9)
 */
export async function requireIntent(
  found: LiveIntent | undefined,
  intentUid: string,
  intents: Pick<LiveIntents, 'versions'>,
): Promise<LiveIntent> {
  const isDraft = found?.intent.draft === true;
  if (found && !isDraft && !found.intent.deprecated) return found;
  const usable = (await intents.versions(intentUid)).filter(({ deprecated }) => !deprecated);
  if (found && !isDraft) throw deprecated(intentUid, usable);
  if (usable.length === 0) throw noSuchIntent();
  throw new ApiError('VERSION_CONFLICT', 'This version of the intent does not exist. Execute one of details.supported_versions.', {
    details: { supported_versions: usable.map(({ intent_uid }) => splitIntentUid(intent_uid).version) },
  });
}

/** @throws ApiError SERVICE_UNAVAILABLE if an admin has paused the service, which does not count as a failure of the gate */
export function requireNotPaused({ service }: LiveIntent): void {
  if (!service.paused) return;
  throw new ApiError(
    'SERVICE_UNAVAILABLE',
    'An admin has paused this service. Nothing was sent. Ask the operators of this gate when it will run again, or find another intent.',
    { details: { reason: 'paused', outcome: 'not_sent' }, fault: 'upstream' },
  );
}

function deprecated(intentUid: string, usable: { intent_uid: string }[]): ApiError {
  const { version } = splitIntentUid(intentUid);
  const successor = usable.findLast(({ intent_uid }) => compareVersions(splitIntentUid(intent_uid).version, version) > 0)?.intent_uid;
  const next = successor ? 'Execute details.successor instead.' : 'Find another one with GET /api/intents/search.';
  return new ApiError('INTENT_DEPRECATED', `The intent is deprecated and no longer executed. ${next}`, {
    details: successor ? { successor } : {},
  });
}
