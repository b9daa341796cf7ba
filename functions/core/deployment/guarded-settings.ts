import { createHash } from 'node:crypto';
import type { CloudFormationCustomResourceEvent } from 'aws-lambda';
import * as z from 'zod';

/** What the stack adopted from a deleted one: see `adopt` in the settings. */
const adoption = z.object({
  registryTable: z.string().optional(),
  activityTable: z.string().optional(),
  userPoolId: z.string().optional(),
  signingKeys: z.record(z.string(), z.string()).default({}),
});

/** Settings that need care to change, as the stack passes them. */
export const guardedSettings = z.object({
  SigningKeys: z.array(z.string()).min(1),
  VoidPats: z.enum(['true', 'false']),
  Adopt: adoption.default({ signingKeys: {} }),
});

export type GuardedSettings = z.infer<typeof guardedSettings>;

const digestOf = (settings: GuardedSettings): string => createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 16);

/** Whether these settings are the ones that `voidPats` replaced. A failed deployment may return to no others. */
export const isWayBack = (id: string, wanted: GuardedSettings): boolean => id.endsWith(`-from-${digestOf(wanted)}`);

/**
 * The id of what is agreed to. A refusal names another id than what stands, too: CloudFormation then rolls back by the deletion of the new
 * one. If it asks for the change back all the same, the id says that this is what stands.
 */
export function idOf(event: CloudFormationCustomResourceEvent): string {
  const now = guardedSettings.parse(event.ResourceProperties);
  const then = event.RequestType === 'Update' && now.VoidPats === 'true' ? guardedSettings.parse(event.OldResourceProperties) : undefined;
  return `signing-keys-${digestOf(now)}${then ? `-from-${digestOf(then)}` : ''}`;
}
