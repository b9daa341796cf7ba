import { readFileSync } from 'node:fs';
import { policy } from '../schemas/policy.ts';
import { SettingsError } from './settings.ts';

/** Stands for the base URL wherever the policy names a target; filled in when the policy is served. */
const placeholder = '{base_url}';

/**
 * Reads the usage policy that a deployment will ship.
 * @returns its text, unchanged
 * @throws SettingsError naming every place that is wrong
 */
export function readPolicy(file: string): string {
  const text = read(file);
  let value: unknown;
  try {
    value = JSON.parse(text.replaceAll(placeholder, 'https://api.example.com'));
  } catch (error) {
    throw new SettingsError(`${file} is not JSON: ${(error as Error).message}`);
  }
  const result = policy.safeParse(value);
  if (result.success) return text;
  const mistakes = result.error.issues.map(({ path, message }) => `  /${path.join('/')}: ${message}`);
  throw new SettingsError(`${file} is not a policy as specification section 2.3 has it:\n${mistakes.join('\n')}`);
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new SettingsError(`policyFile: ${file} cannot be read`);
  }
}
