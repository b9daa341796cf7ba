import { readFileSync } from 'node:fs';
import { publishPolicy } from '../../functions/core/policy/compile.ts';
import * as published from '../../functions/core/policy/policy.ts';
import { type PolicyTemplate, parsePolicyTemplate } from '../../functions/core/policy/template.ts';
import { writePublished } from '../../functions/core/policy/write-published.ts';
import { type InForceOptions, openPolicyInForce } from '../../functions/core/registry/policy-in-force.ts';
import type { Table } from '../../functions/core/table/table.ts';
import type { Billing } from '../../schemas/pat.ts';

/** The shipped policy. */
export const loadPolicyTemplate = (): PolicyTemplate => parsePolicyTemplate(readFileSync('policy.json', 'utf8'));

/** A policy, compiled as for its publication. */
export const openPolicy = (
  template: PolicyTemplate = loadPolicyTemplate(),
  billing?: Billing,
): ((baseUrl: string) => published.CurrentPolicy) => published.openPolicy(compiledText(template), billing);

/** Finds the policy in force, that of the deployment until one is published. */
export const openInForce = (table: Pick<Table, 'get'>, template?: PolicyTemplate, options?: InForceOptions): published.FindPolicy =>
  openPolicyInForce(table, () => compiledText(template), published.openPolicy, options);

/** The text of a compiled policy, as it lies beside bundles. */
export const compiledText = (template: PolicyTemplate = loadPolicyTemplate()): string => writePublished(publishPolicy(template));
