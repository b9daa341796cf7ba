import { readFileSync } from 'node:fs';
import QuickLRU from 'quick-lru';
import { type Billing, billing as billingSchema } from '../../../schemas/pat.ts';
import { unpack } from '../json/pack.ts';
import { type CurrentPolicy, type FindPolicy, maxCached, openPolicy, type PolicyPointer, unreadable } from '../policy/policy.ts';
import { readEnvironment } from '../runtime/environment.ts';
import { keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';

/** The stored form of a published policy. */
export interface PolicyItem extends Item {
  /** see `published.ts` */
  packed: Uint8Array;
}

/** Opens published policies by their versions. @returns a function that returns undefined if there is no such version */
export function openPolicies(table: Pick<Table, 'get'>, billing?: Billing) {
  const opened = new QuickLRU<string, (baseUrl: string) => CurrentPolicy>({ maxSize: maxCached });
  return async (version: string, baseUrl: string): Promise<CurrentPolicy | undefined> => {
    const known = opened.get(version);
    if (known) return known(baseUrl);
    const item = await table.get<PolicyItem>(keys.publishedPolicy(version));
    if (!item) return undefined;
    const made = openPolicy(String(await unpack(item.packed)), billing);
    const policy = made(baseUrl);
    // only then: what cannot be read may be replaced under the same version
    opened.set(version, made);
    return policy;
  };
}

export interface InForceOptions {
  billing?: Billing | undefined;
  /** whether the policy changes by deployment only */
  isFileOnly?: boolean;
}

/** @param fromFile - the policy of the deployment, which is in force until one is published */
export function openPolicyInForce(
  table: Pick<Table, 'get'>,
  fromFile: FindPolicy,
  { billing, isFileOnly = false }: InForceOptions = {},
): FindPolicy {
  const find = openPolicies(table, billing);
  return async (baseUrl, given) => {
    const pointer = given === undefined ? await table.get<PolicyPointer>(keys.policyInForce()) : given;
    if (!pointer) return fromFile(baseUrl);
    const { version, ...others } = pointer;
    if (version === undefined || isFileOnly) return { ...(await fromFile(baseUrl)), pointer: others };
    const policy = await find(version, baseUrl);
    if (!policy) throw unreadable(`version ${version} is missing`);
    return { ...policy, pointer };
  };
}

/** How `pay` duties are billed, if the deployment bills. */
export function billingFromEnvironment(): Billing | undefined {
  const { billing } = readEnvironment([], ['billing']);
  return billing === undefined ? undefined : billingSchema.parse(JSON.parse(billing));
}

/** The policy of the deployment, which synthesis has compiled: see `published.ts`. */
export const readPolicyFile = (): string => readFileSync(new URL('policy.json', import.meta.url), 'utf8');

export const isFileOnly = (): boolean => readEnvironment([], ['policySource']).policySource === 'file';

export function policyFromEnvironment(table: Pick<Table, 'get'>): FindPolicy {
  const billing = billingFromEnvironment();
  let fromFile: FindPolicy | undefined;
  const findInFile: FindPolicy = (baseUrl) => {
    fromFile ??= openPolicy(readPolicyFile(), billing);
    return fromFile(baseUrl);
  };
  return openPolicyInForce(table, findInFile, { billing, isFileOnly: isFileOnly() });
}
