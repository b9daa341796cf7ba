import { readFileSync } from 'node:fs';
import { compilePolicy } from '../functions/core/policy/compile.ts';
import { findContradictions } from '../functions/core/policy/contradictions.ts';
import { type Charge, unitOf } from '../functions/core/policy/limits.ts';
import { PolicyError } from '../functions/core/policy/reading.ts';
import { fillTemplate, parsePolicyTemplate } from '../functions/core/policy/template.ts';
import { declarations } from './features.ts';
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
 * Reads and checks the policies that features need.
 * @returns their texts, by the settings that name their files
 * @throws SettingsError as {@link readPolicy}
 */
export const readFurtherPolicies = (settings: Settings): Record<string, string> =>
  Object.fromEntries(
    declarations
      .flatMap(({ policies = [] }) => policies)
      .flatMap(({ setting }) => {
        const file: unknown = Reflect.get(settings, setting);
        return typeof file === 'string' ? [[setting, requireCompiled(file, read(setting, file), settings)]] : [];
      }),
  );

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

/** DynamoDB's write throughput for one item; each agent has one counter item. */
const maxWritesPerSecond = 1_000;

/** Below this period, in seconds, buckets are so short that each call is counted about three times. */
const shortestSeconds = 10;

function warnOfLimit(limit: Charge): string[] {
  const { rule = 'a limit', rate, period } = limit;
  const calls = Math.ceil(rate / unitOf(limit) / period);
  const counter = `one counter sustains about ${maxWritesPerSecond} writes a second`;
  if (period < shortestSeconds) {
    return [
      `${rule} has a period of ${period} s: below ${shortestSeconds} s each call takes about 3 writes, and ${counter}, so about ${Math.floor(maxWritesPerSecond / 3)} calls`,
    ];
  }
  return calls > maxWritesPerSecond ? [`${rule} allows ${calls} calls a second, but ${counter}`] : [];
}

function read(setting: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new SettingsError(`${setting}: ${file} cannot be read`);
  }
}
