import type * as z from 'zod';
import type { RecordKind } from '../functions/core/table/keys.ts';
import type { ApiParameter } from '../schemas/openapi.ts';
import type { BackgroundFunction, EndpointGroup, EndpointRow, HeaderRow, Tag } from './endpoints/endpoint.ts';
import type { Needs } from './endpoints/needs.ts';

/** Settings by name. A declaration cannot name their type, which derives from all declarations. */
export type AnySettings = Readonly<Record<string, unknown>>;

/** A rule between settings: the one that is at fault, whether the rule is broken, and what must hold. */
export type SettingRule<Name extends string, Given> = readonly [setting: Name, isBroken: (given: Given) => unknown, problem: string];

/** An object with the members of every type in a union; without members if there is none. */
export type Merged<Union> = (Union extends unknown ? (member: Union) => void : never) extends (merged: infer All) => void
  ? All & object
  : never;

/** What a feature adds to a row of the core or of another feature. Nothing is added if there is no such row. */
export interface Addition extends Pick<EndpointRow, 'headers' | 'furtherPaths' | 'otherAnswers'> {
  needs?: Needs;
  /** put after the description, with the white space that it begins with */
  description?: string;
}

/** Another way to do what functions of the core do, chosen by the value of a setting. */
export interface Alternative {
  setting: string;
  value: string;
  /** the needs of functions, in place of their own */
  needs: Readonly<Record<string, Needs>>;
  background: readonly BackgroundFunction[];
  /** background functions that the deployment does not have then */
  replaces: readonly string[];
}

/** An Ed25519 key in KMS that a stack can adopt. */
export interface AdoptedKey {
  /** member of `adopt` that has its ARN */
  setting: string;
  label: string;
  /** its alias, after the name of the gate */
  alias: string;
  /** output of the stack that has the policy which the key needs */
  output: string;
  /** what fails if the key does not allow the stack to sign */
  loss: string;
}

/** What a feature adds to the tables of endpoints, headers and settings. Only data, so that the local stack and the documents load no CDK. */
export interface Declaration {
  /** tags of its own */
  tags?: readonly Tag[];
  /** its endpoints, by tag */
  endpoints?: Readonly<Record<string, EndpointGroup>>;
  background?: readonly BackgroundFunction[];
  /** the setting that enables its endpoints and background functions; default: they are always there */
  onlyWith?: string;
  /** by the names of rows */
  additions?: Readonly<Record<string, Addition>>;
  alternative?: Alternative;
  responseHeaders?: Readonly<Record<string, HeaderRow>>;
  /** variables in the paths of its endpoints */
  pathParameters?: Readonly<Record<string, Pick<ApiParameter, 'description' | 'schema'>>>;
  /** parts of paths whose requests from each address the firewall limits, by the names of the rules */
  limitedPaths?: Readonly<Record<string, string>>;
  /** outputs of the project's stack that are addresses: path and description */
  outputs?: Readonly<Record<string, readonly [path: string, description: string]>>;
  settings?: z.ZodRawShape;
  rules?: readonly SettingRule<string, AnySettings>[];
  /** what is used up first at high rates of requests: noun phrases, which the warning joins with commas */
  rateCeilings?: (settings: AnySettings) => readonly string[];
  /** what a stack can adopt that a deleted one left, by members of the setting `adopt` */
  adopted?: {
    settings: z.ZodRawShape;
    findProblems: (adopt: Readonly<Record<string, never>>, settings: AnySettings) => [place: string, problem: string][];
    keys: readonly AdoptedKey[];
    buckets: readonly string[];
    /** whether these settings need them */
    isUsed: (settings: AnySettings) => boolean;
  };
  /** what its records contain, by kind */
  records?: Partial<Record<RecordKind, string>>;
}
