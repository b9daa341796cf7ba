import type { Policy } from '../../../schemas/policy.ts';
import { placeholder } from './placeholder.ts';
import type { Rule } from './reading.ts';

/** Version of the compiled form; functions refuse any other. Raise it with every change to what a {@link Rule} holds or means. */
export const compilerVersion = 1;

/** A policy as it is published: compiled once, so that functions that judge contain no parser. `{base_url}` stands for the gate's address. */
export interface PublishedPolicy {
  compiler: number;
  policy: Policy;
  /** the policy in plain words */
  sentences: string[];
  /** for all agents */
  rules: Rule[];
}

/** A published policy for callers at one address. */
export const readPublished = (text: string, baseUrl: string): PublishedPolicy =>
  JSON.parse(text.replaceAll(placeholder, () => JSON.stringify(baseUrl).slice(1, -1)));
