import { readFileSync } from 'node:fs';
import { describeOverload } from '../functions/core/limit/sustainable.ts';
import { compilePolicy } from '../functions/core/policy/compile.ts';
import { findContradictions } from '../functions/core/policy/contradictions.ts';
import { type Charge, unitOf } from '../functions/core/policy/limits.ts';
import { PolicyError } from '../functions/core/policy/reading.ts';
import { fillTemplate, parsePolicyTemplate } from '../functions/core/policy/template.ts';
import { type Settings, SettingsError } from './settings.ts';

const placeholderUrl = 'https://service.example';

/**
 * Reads the usage policy of a deployment, and compiles it to check it.
 * @param text - the policy, if it is not in a file
 * @returns its text, unchanged
 * @throws SettingsError naming every place that is invalid or that the gate could not enforce
 */
export function readPolicy(settings: Settings, text = read('policyFile', settings.policyFile)): string {
  return requireCompiled(settings.policyFile, text, settings);
}

/**
 * Reads and checks the trial policy, if there is one.
 * @throws SettingsError as {@link readPolicy}
 */
export function readTryPolicy(settings: Settings): string | undefined {
  const { tryPolicyFile } = settings;
  return tryPolicyFile === undefined ? undefined : requireCompiled(tryPolicyFile, read('tryPolicyFile', tryPolicyFile), settings);
}

function requireCompiled(file: string, text: string, { billing, publicBaseUrl = placeholderUrl }: Settings): string {
  try {
    compilePolicy(fillTemplate(parsePolicyTemplate(text, publicBaseUrl), publicBaseUrl), publicBaseUrl, billing);
    return text;
  } catch (error) {
    if (error instanceof PolicyError) throw new SettingsError(`${file}: ${error.message}`);
    throw error;
  }
}

/** Warnings, one sentence each, about rules without effect and limits that one counter cannot sustain. */
export function warnOfPolicy(
  { policyFile, billing, publicBaseUrl = placeholderUrl }: Settings,
  text = read('policyFile', policyFile),
): string[] {
  const policy = fillTemplate(parsePolicyTemplate(text), publicBaseUrl);
  const { rules } = compilePolicy(policy, publicBaseUrl, billing);
  const limits = new Map(rules.flatMap(({ charges }) => charges.map((charge) => [charge.id, charge])));
  return [
    ...findContradictions(policy, publicBaseUrl, Date.now()).map(({ path, problem }) => `${path} ${problem}`),
    ...[...limits.values()].flatMap(warnOfLimit),
  ].map((problem) => `${policyFile}: ${problem}`);
}

function warnOfLimit(limit: Charge): string[] {
  const { rule = 'a limit', rate, period } = limit;
  const overload = Number.isFinite(period) ? describeOverload({ rate: rate / unitOf(limit), period }) : undefined;
  return overload === undefined ? [] : [`${rule} ${overload}`];
}

function read(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new SettingsError(`${setting}: ${file} cannot be read`);
  }
}
