import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import { type GuardedSettings, guardedSettings, isRollback } from './guarded-settings.ts';

/** A stack adopts data and users only when it is created: the domain of its user pool cannot move to another pool. */
function findExchangedData({ Adopt: then }: GuardedSettings, { Adopt: now }: GuardedSettings): string | undefined {
  const part = (['registryTable', 'activityTable', 'userPoolId'] as const).find((name) => then[name] !== now[name]);
  if (!part) return undefined;
  return then[part]
    ? `adopt.${part}: this stack has adopted ${then[part]}, and the change would abandon it. Keep it in the settings for as long as the stack exists; to abandon it on purpose, delete the stack, which keeps it, and deploy a new one.`
    : `adopt.${part}: this stack has its own. Only a new stack can adopt what another stack left: delete this one, which keeps its data unless retainData is false, then deploy.`;
}

/** The signing key must stay in the list, and a new one must already be published. */
function findVoidingChange(then: GuardedSettings, now: GuardedSettings): string | undefined {
  const [current, wanted] = [then.SigningKeys, now.SigningKeys];
  const [signing = ''] = current;
  const [next = ''] = wanted;
  const show = (names: string[]) => JSON.stringify(names);
  const exchanged = current.find((name) => wanted.includes(name) && then.Adopt.signingKeys[name] !== now.Adopt.signingKeys[name]);
  if (exchanged)
    return `adopt.signingKeys: "${exchanged}" would become a different key. Leave it unchanged, and give the other key its own name.`;
  if (!wanted.includes(signing)) {
    const step = current.includes(next) ? [next, ...current.filter((name) => name !== next)] : [...current, next];
    return `signingKeys: ${show(wanted)} leaves out "${signing}", which signs PATs now. Deploy ${show(step)} first.`;
  }
  if (!current.includes(next))
    return `signingKeys: "${next}" would sign PATs before it is published. Deploy ${show([...current, next])} first, then move it to the front.`;
  return undefined;
}

/**
 * Why CloudFormation must not continue: data or users would be exchanged for others, or every PAT in circulation would become invalid. The
 * reason says what to deploy instead.
 * @returns undefined if it may continue
 */
export function findObjection(event: Pick<CloudFormationCustomResourceEvent, 'RequestType' | 'ResourceProperties'>): string | undefined {
  if (event.RequestType !== 'Update' || !('OldResourceProperties' in event)) return undefined;
  const now = guardedSettings.parse(event.ResourceProperties);
  if ('PhysicalResourceId' in event && isRollback(String(event.PhysicalResourceId), now)) return undefined;
  const then = guardedSettings.parse(event.OldResourceProperties);
  const exchangedData = findExchangedData(then, now);
  if (exchangedData || now.VoidPats === 'true') return exchangedData;
  const voiding = findVoidingChange(then, now);
  return voiding && `${voiding} If every PAT is to become invalid immediately, as after a compromise, set voidPats for this deployment.`;
}
