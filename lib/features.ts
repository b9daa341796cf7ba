/**
 * The socket of the features in the tables of endpoints, headers and settings. `lib/feature-stacks.ts` lists those that have resources of their own,
 * because only synthesis loads CDK.
 */
import type { Declaration } from './feature.ts';
import { receipts } from './receipts/declaration.ts';
import { findAdoptionProblems, receiptAdoption, receiptSettings } from './receipts/settings.ts';

/** A tuple, from whose literal keys the names of endpoints derive. */
export const named = [receipts] as const satisfies readonly Declaration[];

export const features: readonly Declaration[] = named;

export const featureSettings = { ...receiptSettings };

/** Members of the setting `adopt`. */
export const featureAdoption = { ...receiptAdoption };

/** Each finds problems with the members of `adopt`. */
export const adoptionRules: readonly ((
  adopt: Readonly<Record<string, never>>,
  settings: Readonly<Record<string, unknown>>,
) => [place: string, problem: string][])[] = [findAdoptionProblems];
