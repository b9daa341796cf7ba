import type { RecordKind } from '../functions/core/table/keys.ts';
import type { BackgroundFunction, EndpointGroup, HeaderRow } from './endpoints/endpoint.ts';
import type { Needs } from './endpoints/needs.ts';

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
  /** its endpoints, by tag */
  endpoints?: Readonly<Record<string, EndpointGroup>>;
  background?: readonly BackgroundFunction[];
  /** what it adds to functions of the core, by name */
  additions?: Readonly<Record<string, { needs?: Needs; headers?: readonly string[] }>>;
  responseHeaders?: Readonly<Record<string, HeaderRow>>;
  /** what is used up first at high rates of requests: noun phrases, which the warning joins with commas */
  rateCeilings?: (settings: Readonly<Record<string, unknown>>) => readonly string[];
  /** what a stack can adopt that a deleted one left, by members of the setting `adopt` */
  adopted?: {
    keys: readonly AdoptedKey[];
    buckets: readonly string[];
    /** whether these settings need them */
    isUsed: (settings: Readonly<Record<string, unknown>>) => boolean;
  };
  /** what its records contain, by kind */
  records?: Partial<Record<RecordKind, string>>;
}
