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

/** A stack takes data and users over when it is created, or never: the domain of its user pool cannot pass to another pool. */
function findExchanged(then: Adoption, now: Adoption): string | undefined {
  const part = (['registryTable', 'activityTable', 'userPoolId'] as const).find((name) => then[name] !== now[name]);
  if (!part) return undefined;
  return then[part]
    ? `adopt.${part}: this stack has taken over ${then[part]} and would leave it again. Keep it in the settings for as long as the stack stands; to leave it on purpose, delete the stack, which keeps it, and deploy a new one.`
    : `adopt.${part}: this stack has its own. Only a new stack takes over what another left: delete this one, which keeps its data unless retainData is false, then deploy.`;
}

/**
 * Why CloudFormation must not go on, because data or users would be exchanged for others, or because every PAT in circulation would become
 * invalid: the key that signs would leave the list, or the one that is to sign has not been published yet. The reason says what to deploy
 * instead.
 * @returns undefined if it may go on
 */
export function findObjection(event: Pick<CloudFormationCustomResourceEvent, 'RequestType' | 'ResourceProperties'>): string | undefined {
  if (event.RequestType !== 'Update' || !('OldResourceProperties' in event)) return undefined;
  const { SigningKeys: wanted, VoidPats, Adopt: now } = keyList.parse(event.ResourceProperties);
  const { SigningKeys: standing, Adopt: then } = keyList.parse(event.OldResourceProperties);
  const exchangedData = findExchanged(then, now);
  if (exchangedData) return exchangedData;
  const [signing = ''] = standing;
  const [next = ''] = wanted;
  if (VoidPats === 'true') return undefined;
  const list = (names: string[]) => JSON.stringify(names);
  const onPurpose = 'If every PAT is to become invalid at once, as after a compromise, set voidPats for this deployment.';
  const exchangedKey = standing.find((name) => wanted.includes(name) && then.signingKeys[name] !== now.signingKeys[name]);
  if (exchangedKey) {
    return `adopt.signingKeys: "${exchangedKey}" would be another key than it is now. Leave it as it is, and give the other key a name of its own. ${onPurpose}`;
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
 * one. If it asks for the change back all the same, the id says that this is what stands.
 */
const idOf = ({ ResourceProperties }: Pick<CloudFormationCustomResourceEvent, 'ResourceProperties'>): string =>
  `signing-keys-${createHash('sha256')
    .update(JSON.stringify(keyList.parse(ResourceProperties)))
    .digest('hex')
    .slice(0, 16)}`;

/** CloudFormation runs this at the beginning of a deployment, and goes on or rolls back as it is told. */
export async function handler(event: CloudFormationCustomResourceEvent): Promise<void> {
  const id = idOf(event);
  const isStanding = event.RequestType === 'Update' && event.PhysicalResourceId === id;
  const objection = isStanding ? undefined : findObjection(event);
  const { StackId, RequestId, LogicalResourceId, ResponseURL } = event;
  const answer = {
    Status: objection === undefined ? 'SUCCESS' : 'FAILED',
    ...(objection !== undefined && { Reason: objection }),
    PhysicalResourceId: event.RequestType === 'Delete' ? event.PhysicalResourceId : id,
    StackId,
    RequestId,
    LogicalResourceId,
  };
  // The address is signed for a request without a media type, which fetch gives to texts but not to bytes.
  const { ok, status } = await fetch(ResponseURL, { method: 'PUT', body: Buffer.from(JSON.stringify(answer)) });
  if (!ok) throw new Error(`CloudFormation's address for the answer answered ${status}`);
}
