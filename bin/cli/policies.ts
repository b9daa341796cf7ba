import { addressIn } from '../../client/policy.ts';
import { compilePolicy } from '../../functions/core/policy/compile.ts';
import type { CompiledPolicy } from '../../functions/core/policy/compiled-policy.ts';
import { placeholder } from '../../functions/core/policy/placeholder.ts';
import { PolicyError, type Rule } from '../../functions/core/policy/reading.ts';
import { parsePolicyTemplate } from '../../functions/core/policy/template.ts';
import { unfilled } from '../../functions/core/policy/write-published.ts';
import { readAnswer } from '../../registry/api.ts';
import { CliFailure, usageFailure } from '../../registry/failure.ts';
import { decodeText } from '../../registry/import/document.ts';
import { readBytes } from '../../registry/input.ts';
import { findUnknownNames, type KnownNames } from '../../registry/policy/unknown-names.ts';
import type { Issue } from '../../schemas/errors.ts';
import { type Policy, policy as policySchema } from '../../schemas/policy.ts';
import type { CliContext } from './context.ts';

export async function readInForce({ api }: CliContext): Promise<{ policy: Policy; address: string }> {
  const policy = readAnswer(policySchema, await api.call('GET', '/api/policy'));
  return { policy, address: addressIn(policy, api.baseUrl) };
}

export function checkNames({ terminal }: CliContext, rules: readonly Rule[], names: KnownNames | undefined): Issue[] {
  if (names) return findUnknownNames(rules, names);
  terminal.remark('The names in the policy were not checked. Give a gate with --url, or a registry file with --registry.');
  return [];
}

/** Fails on unknown names: a rule with one has no effect, so a misspelt prohibition would prohibit nothing. */
export function refuseUnknown(unknown: Issue[]): void {
  if (unknown.length > 0)
    throw new CliFailure('differences', 'The policy refers to names that do not exist in the registry:', { issues: unknown });
}

export function compile(policy: Policy, address: string, file = 'in force'): CompiledPolicy {
  try {
    return compilePolicy(policy, address);
  } catch (error) {
    if (error instanceof PolicyError) throw usageFailure(`The policy ${file} is not supported by this version:`, error.issues);
    throw error;
  }
}

/** The address of the gate that serves a policy, which its `uid` begins with. */
function servedBy(text: string): string | undefined {
  try {
    return /^(https?:.+)\/api\/policy$/.exec(JSON.parse(text).uid)?.[1];
  } catch {
    return undefined;
  }
}

/** Reads a policy file that compiles. In one that a gate has served, `{base_url}` replaces the address of that gate. */
export function readTemplate(file: string): Policy {
  try {
    const text = decodeText(readBytes(file));
    const address = text.includes(placeholder) ? undefined : servedBy(text);
    const written = parsePolicyTemplate(text, address);
    const template = address === undefined ? written : unfilled(written, address);
    compilePolicy(template, placeholder);
    return template;
  } catch (error) {
    if (error instanceof PolicyError) throw usageFailure(`The file ${file} does not contain a valid policy:`, error.issues);
    throw error;
  }
}
