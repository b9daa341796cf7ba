import { readFileSync } from 'node:fs';
import QuickLRU from 'quick-lru';
import { type Billing, billing as billingSchema } from '../../../schemas/pat.ts';
import { unpack } from '../json/pack.ts';
import {
  type FindPolicy,
  maxCached,
  type OpenPolicy,
  openPolicy,
  openPolicyText,
  type PolicyPointer,
  type PolicyText,
  unreadable,
} from '../policy/policy.ts';
import { readEnvironment } from '../runtime/environment.ts';
import { keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';

/** The stored form of a published policy. */
export interface PolicyItem extends Item {
  /** see `published.ts` */
  packed: Uint8Array;
}

/** Opens published policies by their versions. @returns a function that returns undefined if there is no such version */
export function openPolicies<Policy>(table: Pick<Table, 'get'>, open: OpenPolicy<Policy>, billing?: Billing) {
  const opened = new QuickLRU<string, (baseUrl: string) => Policy>({ maxSize: maxCached });
  return async (version: string, baseUrl: string): Promise<Policy | undefined> => {
    const known = opened.get(version);
    if (known) return known(baseUrl);
    const item = await table.get<PolicyItem>(keys.publishedPolicy(version));
    if (!item) return undefined;
    const made = open(String(await unpack(item.packed)), billing);
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

/**
 * @param fromFile - the text of the policy of the deployment, which is in force until one is published
 * @param open - {@link openPolicy}, or what else is to be known of the policy in force
 */
export function openPolicyInForce<Policy extends PolicyText>(
  table: Pick<Table, 'get'>,
  fromFile: () => string,
  open: OpenPolicy<Policy>,
  { billing, isFileOnly = false }: InForceOptions = {},
): FindPolicy<Policy> {
  const find = openPolicies(table, open, billing);
  let opened: ((baseUrl: string) => Policy) | undefined;
  const findInFile = (baseUrl: string): Policy => {
    opened ??= open(fromFile(), billing);
    return opened(baseUrl);
  };
  return async (baseUrl, given) => {
    const pointer = given === undefined ? await table.get<PolicyPointer>(keys.policyInForce()) : given;
    if (!pointer) return findInFile(baseUrl);
    const { version, ...others } = pointer;
    if (version === undefined || isFileOnly) return { ...findInFile(baseUrl), pointer: others };
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

export const policyFromEnvironment = (table: Pick<Table, 'get'>): FindPolicy => inForceFromEnvironment(table, openPolicy);

/** What the policy in force says, even if this version of the gate cannot judge by it. */
export const policyTextFromEnvironment = (table: Pick<Table, 'get'>): FindPolicy<PolicyText> =>
  inForceFromEnvironment(table, openPolicyText);

const inForceFromEnvironment = <Policy extends PolicyText>(table: Pick<Table, 'get'>, open: OpenPolicy<Policy>) =>
  openPolicyInForce(table, readPolicyFile, open, { billing: billingFromEnvironment(), isFileOnly: isFileOnly() });
