import { createHash } from 'node:crypto';
import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import * as z from 'zod';

/** What the stack has taken over from a deleted one: see `adopt` in the settings. */
const adoption = z.object({
  registryTable: z.string().optional(),
  activityTable: z.string().optional(),
  userPoolId: z.string().optional(),
  signingKeys: z.record(z.string(), z.string()).default({}),
});

type Adoption = z.infer<typeof adoption>;

const keyList = z.object({
  SigningKeys: z.array(z.string()).min(1),
  VoidPats: z.enum(['true', 'false']),
  Adopt: adoption.default({ signingKeys: {} }),
});

/** Data that was taken over would be left again, for tables and users that are new and empty. */
function findAbandoned(then: Adoption, now: Adoption): string | undefined {
  const part = (['registryTable', 'activityTable', 'userPoolId'] as const).find((name) => then[name] && then[name] !== now[name]);
  if (!part) return undefined;
  return `adopt.${part}: this stack has taken over ${then[part]} and would leave it again. Keep it in the settings for as long as the stack stands; to leave it on purpose, delete the stack, which keeps it, and deploy a new one.`;
}

/**
 * Why CloudFormation must not go on, because what was taken over would be left, or because every PAT in circulation would become invalid: the
 * key that signs would leave the list, or the one that is to sign has not been published yet. The reason says what to deploy instead.
 * @returns undefined if it may go on
 */
export function findObjection(event: Pick<CloudFormationCustomResourceEvent, 'RequestType' | 'ResourceProperties'>): string | undefined {
  if (event.RequestType !== 'Update' || !('OldResourceProperties' in event)) return undefined;
  const { SigningKeys: wanted, VoidPats, Adopt: now } = keyList.parse(event.ResourceProperties);
  const { SigningKeys: standing, Adopt: then } = keyList.parse(event.OldResourceProperties);
  const abandoned = findAbandoned(then, now);
  if (abandoned) return abandoned;
  const [signing = ''] = standing;
  const [next = ''] = wanted;
  if (VoidPats === 'true') return undefined;
  const list = (names: string[]) => JSON.stringify(names);
  const onPurpose = 'If every PAT is to become invalid at once, as after a compromise, set voidPats for this deployment.';
  const exchanged = standing.find((name) => wanted.includes(name) && then.signingKeys[name] !== now.signingKeys[name]);
  if (exchanged) {
    return `adopt.signingKeys: "${exchanged}" would be another key than it is now. Leave it as it is, and give the other key a name of its own. ${onPurpose}`;
  }
  if (!wanted.includes(signing)) {
    const step = standing.includes(next) ? [next, ...standing.filter((name) => name !== next)] : [...standing, next];
    return `signingKeys: ${list(wanted)} leaves out "${signing}", which signs PATs now. Deploy ${list(step)} first. ${onPurpose}`;
  }
  if (!standing.includes(next)) {
    return `signingKeys: "${next}" would sign PATs before it is published. Deploy ${list([...standing, next])} first, then move it to the front. ${onPurpose}`;
  }
  return undefined;
}

/**
 * The id of what is agreed to. A refusal names another id than what stands, too: CloudFormation then rolls back by the deletion of the new
 * one. If the id stayed, it would ask for the change back, which is refused as well, and the rollback would fail.
 */
const idOf = ({ ResourceProperties: { ServiceToken: _, ...properties } }: Pick<CloudFormationCustomResourceEvent, 'ResourceProperties'>) =>
  `signing-keys-${createHash('sha256').update(JSON.stringify(properties)).digest('hex').slice(0, 16)}`;

/** CloudFormation runs this at the beginning of a deployment, and goes on or rolls back as it is told. */
export async function handler(event: CloudFormationCustomResourceEvent): Promise<void> {
  const objection = findObjection(event);
  const { StackId, RequestId, LogicalResourceId, ResponseURL } = event;
  const answer = {
    Status: objection === undefined ? 'SUCCESS' : 'FAILED',
    ...(objection !== undefined && { Reason: objection }),
    PhysicalResourceId: event.RequestType === 'Delete' ? event.PhysicalResourceId : idOf(event),
    StackId,
    RequestId,
    LogicalResourceId,
  };
  // The address is signed for a request without a media type, which fetch gives to texts but not to bytes.
  const { ok, status } = await fetch(ResponseURL, { method: 'PUT', body: Buffer.from(JSON.stringify(answer)) });
  if (!ok) throw new Error(`CloudFormation's address for the answer answered ${status}`);
}
