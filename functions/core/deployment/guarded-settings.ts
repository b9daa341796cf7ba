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

/** Settings whose changes are checked, as the stack passes them. */
export const guardedSettings = z.object({
  SigningKeys: z.array(z.string()).min(1),
  VoidPats: z.enum(['true', 'false']),
  Adopt: adoption.default({ signingKeys: {} }),
});

export type GuardedSettings = z.infer<typeof guardedSettings>;

const digestOf = (settings: GuardedSettings): string => createHash('sha256').update(JSON.stringify(settings)).digest('hex').slice(0, 16);

/** Whether these settings are the ones that `voidPats` replaced: a failed deployment may roll back to those only. */
export const isRollback = (id: string, wanted: GuardedSettings): boolean => id.endsWith(`-from-${digestOf(wanted)}`);

/**
 * The physical id of the settings. A refusal returns the new id too, so that CloudFormation rolls back by deleting the new resource. If it requests
 * an update to the old settings instead, their id equals the current one, so that nothing is checked.
 */
export function idOf(event: CloudFormationCustomResourceEvent): string {
  const now = guardedSettings.parse(event.ResourceProperties);
  const then = event.RequestType === 'Update' && now.VoidPats === 'true' ? guardedSettings.parse(event.OldResourceProperties) : undefined;
  return `signing-keys-${digestOf(now)}${then ? `-from-${digestOf(then)}` : ''}`;
}
