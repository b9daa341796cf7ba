import { readFileSync } from 'node:fs';
import { compilePolicy, publishPolicy } from '../functions/core/policy/compile.ts';
import { PolicyError } from '../functions/core/policy/reading.ts';
import { fillTemplate, type PolicyTemplate, parsePolicyTemplate } from '../functions/core/policy/template.ts';
import { warnOf } from '../functions/core/policy/warnings.ts';
import { writePublished } from '../functions/core/policy/write-published.ts';
import { type Settings, SettingsError } from './settings.ts';

const placeholderUrl = 'https://service.example';

/**
 * Reads the usage policy of a deployment, and compiles it to check it.
 * @param text - the policy, if it is not in a file
 * @returns its text, unchanged
 * @throws SettingsError naming every place that is invalid or that the gate could not enforce
 */
export function readPolicy(settings: Settings, text = read(settings.policyFile)): string {
  compileForSettings(settings, text);
  return text;
}

/** The text of a deployment's policy as its functions read it. */
export const compilePolicyFile = (text: string, { publicBaseUrl }: Settings): string =>
  writePublished(publishPolicy(parsePolicyTemplate(text, publicBaseUrl), publicBaseUrl));

/** Warnings, one sentence each, about rules without effect and limits that one counter cannot sustain. */
export function warnOfPolicy(settings: Settings, text = read(settings.policyFile)): string[] {
  const { policy, address, rules } = compileForSettings(settings, text);
  return warnOf(policy, address, rules).map(({ path, problem }) => `${settings.policyFile}: ${path} ${problem}`);
}

function compileForSettings({ policyFile, billing, publicBaseUrl: address = placeholderUrl }: Settings, text: string) {
  try {
    const policy: PolicyTemplate = fillTemplate(parsePolicyTemplate(text, address), address);
    return { policy, address, rules: compilePolicy(policy, address, billing).rules };
  } catch (error) {
    if (error instanceof PolicyError) throw new SettingsError(`${policyFile}: ${error.message}`);
    throw error;
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new SettingsError(`policyFile: ${file} cannot be read`);
  }
}
