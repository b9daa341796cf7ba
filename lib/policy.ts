import { readFileSync } from 'node:fs';
import { compilePolicy } from '../functions/core/policy/compile.ts';
import { findContradictions } from '../functions/core/policy/contradictions.ts';
import { PolicyError } from '../functions/core/policy/reading.ts';
import { fillTemplate, parsePolicyTemplate } from '../functions/core/policy/template.ts';
import { type Settings, SettingsError } from './settings.ts';

const placeholderUrl = 'https://service.example';

/**
 * Reads the usage policy that a deployment will ship, and compiles it as the functions will.
 * @returns its text, unchanged
 * @throws SettingsError naming every place that is wrong or that the gate could not enforce
 */
export function readPolicy({ policyFile, billing, publicBaseUrl = placeholderUrl }: Settings): string {
  const text = read(policyFile);
  try {
    compilePolicy(fillTemplate(parsePolicyTemplate(text, publicBaseUrl), publicBaseUrl), publicBaseUrl, billing);
    return text;
  } catch (error) {
    if (error instanceof PolicyError) throw new SettingsError(`${policyFile}: ${error.message}`);
    throw error;
  }
}

/** What the policy says without effect, one sentence each: it can be put into effect, but hardly means that. */
export function warnOfPolicy({ policyFile, publicBaseUrl = placeholderUrl }: Settings): string[] {
  const policy = fillTemplate(parsePolicyTemplate(read(policyFile)), publicBaseUrl);
  return findContradictions(policy, publicBaseUrl, Date.now()).map(({ path, problem }) => `Warning: ${policyFile}: ${path} ${problem}`);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new SettingsError(`policyFile: ${file} cannot be read`);
  }
}
