import * as z from 'zod';

export const intentUidPattern = /^[a-zA-Z0-9.-]+:[a-z0-9-]+:v[0-9]+([.][0-9]+)*$/;

/** `<namespace>:<slug>:v<version>` (specification section 2.2). */
export const intentUid = z
  .string()
  .max(200, 'must have at most 200 characters')
  .regex(intentUidPattern, 'must have the form <namespace>:<intent-slug>:v<version>, for example example.com:convert-currency:v1')
  .meta({ id: 'IntentUid', examples: ['world.example:get-country:v1'] });

export const isIntentUid = (text: string): boolean => intentUid.safeParse(text).success;

/** Whether a text may stand before the first colon of a uid. */
export const isNamespace = (text: string): boolean => /^[a-zA-Z0-9.-]+$/.test(text);

export interface IntentUidParts {
  namespace: string;
  slug: string;
  /** with its `v`, for example `v1.2` */
  version: string;
}

/** Takes a uid apart. The uid must match {@link intentUidPattern}. */
export function splitIntentUid(uid: string): IntentUidParts {
  const [namespace = '', slug = '', version = ''] = uid.split(':');
  return { namespace, slug, version };
}

/** Orders versions by their numbers: v2 before v10, v1 before v1.1. */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [left, right].map((version) => version.slice(1).split('.').map(BigInt));
  for (let index = 0; index < Math.max(a?.length ?? 0, b?.length ?? 0); index++) {
    const [x = -1n, y = -1n] = [a?.[index], b?.[index]];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
}
