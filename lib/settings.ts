import * as z from 'zod';
import { article } from '../functions/core/json/json.ts';
import { executing } from './endpoints.ts';
import { declarations } from './features.ts';
import { localStage } from './settings/kinds.ts';
import { settingsObject } from './settings/options.ts';
import { settingsSchema } from './settings/rules.ts';

export type Settings = z.infer<typeof settingsSchema>;

export const totalReserved = (reserved: Settings['reservedConcurrency']): number =>
  Object.values(reserved).reduce((sum, runs) => sum + runs, 0);

export const stackNameOf = (stage: string): string => (stage === 'production' ? 'IntentGate' : `IntentGate-${stage}`);

/** The settings as Markdown: names, defaults and meanings. */
export const describeSettings = (): { name: string; fallback: string; meaning: string }[] =>
  Object.entries(settingsObject.shape).map(([name, schema]) => {
    const fallback: unknown = schema.safeParse(undefined).data;
    const isEmpty = fallback === undefined || (typeof fallback === 'object' && fallback !== null && Object.keys(fallback).length === 0);
    return {
      name,
      fallback: isEmpty ? '' : `\`${typeof fallback === 'object' && !Array.isArray(fallback) ? JSON.stringify(fallback) : fallback}\``,
      meaning: schema.description ?? '',
    };
  });

/** Mistakes in the settings or the policy, shown without a stack trace. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/**
 * Checks settings.
 * @param known - mistakes found before
 * @throws SettingsError naming every mistake and its place
 */
export function parseSettings(given: Record<string, unknown>, known: readonly string[] = []): Settings {
  const result = settingsSchema.safeParse(given, {
    error: ({ code, expected }) => (code === 'invalid_type' ? `must be ${article(String(expected))}` : undefined),
  });
  if (result.success && known.length === 0) return result.data;
  const found = (result.error?.issues ?? []).flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((name) => `${[...issue.path, name].join('.')}: is not a setting`)
      : [`${issue.path.join('.')}: ${issue.message}`],
  );
  throw new SettingsError(`The settings are not valid:\n${[...known, ...found].map((mistake) => `  ${mistake}`).join('\n')}`);
}

/** Context keys other than settings: those of CDK and its command line, and the table of stages. */
const otherKeys = /[@:]|^(stages|acknowledged-issue-numbers|cli-telemetry)$/;

/** @returns a message about the first unknown setting, if any */
export function describeUnknown(given: readonly string[]): string | undefined {
  const names = Object.keys(settingsObject.shape);
  const unknown = given.find((name) => !names.includes(name) && !otherKeys.test(name));
  if (unknown === undefined) return undefined;
  const meant = names.find((name) => name.toLowerCase() === unknown.toLowerCase());
  return `${unknown} is not a setting.${meant === undefined ? '' : ` Did you mean ${meant}?`} docs/reference.md lists all settings.`;
}

/** Executions per second that a gate sustains with the default quotas of an account and the default resources. */
const sustainedPerSecond = 3_000;

/** Warnings, one sentence each, about rates that need more than default quotas. */
export function warnOfRates(settings: Settings): string[] {
  const { requestsPerSecond, throttling } = settings;
  const rates = [
    ['requestsPerSecond', requestsPerSecond],
    ...executing.map((name) => [`throttling.${name}.requestsPerSecond`, Reflect.get(throttling, name)?.requestsPerSecond ?? 0]),
  ] as [string, number][];
  const ceilings = [
    "the account's concurrent executions of Lambda (1,000 by default, about 315 for 1,000 executions a second)",
    'the 40,000 write units a second of the Activity table (about 8,000 executions)',
    ...declarations.flatMap(({ rateCeilings }) => rateCeilings?.(settings) ?? []),
  ];
  return rates
    .filter(([, rate]) => rate > sustainedPerSecond)
    .map(
      ([name, rate]) =>
        `${name} is ${rate}: above ${sustainedPerSecond}, raise first what ends below it: ${ceilings.join(', ')}. See Limits in docs/operations.md`,
    );
}

const stagesSchema = z.record(z.string(), z.record(z.string(), z.unknown()));

/**
 * The settings in the app's context: those in `stages` for the stage `stage`, overridden by settings at the top level, such as `-c name=value`.
 * Ignores keys that other tools write into `cdk.context.json` or `~/.cdk.json`.
 * @throws SettingsError naming every mistake and its place
 */
export function readSettings(context: Record<string, unknown>): Settings {
  const names = Object.keys(settingsObject.shape);
  const own = Object.fromEntries(Object.entries(context).filter(([name]) => names.includes(name)));
  const mistakes = Object.keys(context).flatMap((name) => {
    const meant = names.find((setting) => setting !== name && setting.toLowerCase() === name.toLowerCase());
    return meant === undefined ? [] : [`${name}: is spelt ${meant}`];
  });
  const stages = stagesSchema.safeParse(context.stages ?? {});
  if (!stages.success) mistakes.push('stages: must be an object that has an object of settings for each stage');
  const listed = stages.data ?? {};
  const { stage = 'production' } = own;
  if (Object.keys(listed).length > 0 && stage !== localStage && !Object.hasOwn(listed, String(stage))) {
    mistakes.push(`stage: must be one of the stages in cdk.json (${Object.keys(listed).join(', ')}); give it an entry there`);
  }
  return parseSettings({ ...listed[String(stage)], stage, ...own }, mistakes);
}

/**
 * Intents of the local stage may call loopback addresses, where functions in AWS receive their events.
 * @throws SettingsError if that stage is synthesized for anything but the local stack or an emulator
 */
export function requireDeployable({ stage }: Settings): void {
  const { INTENT_GATE_BUNDLES: localStack, AWS_ENDPOINT_URL: emulator } = process.env;
  if (stage === localStage && localStack === undefined && emulator === undefined)
    throw new SettingsError('stage: local is for npm start, because its intents may call loopback addresses; deploy another stage');
}

/** The settings with irreversible effects, in one line. */
export const describeDecisions = ({ stage, retainData, signingKeys, adopt }: Settings): string =>
  `Stage ${stage}: ${
    retainData
      ? 'the stack is protected against deletion, and keeps its table, keys and users'
      : 'deleting the stack DELETES its table, keys and users (retainData is false)'
  }. PATs are signed with the key "${signingKeys[0]}".${adopt ? ` Adopted, not created: ${describeAdoption(adopt)}.` : ''}`;

const describeAdoption = (adopt: NonNullable<Settings['adopt']>): string => {
  const { registryTable, activityTable, userPoolId, signingKeys = {} } = adopt;
  const ofFeatures = declarations.flatMap(({ adopted }) => adopted?.buckets ?? []).flatMap((setting) => Reflect.get(adopt, setting) ?? []);
  return [
    ...(registryTable ? [`the tables ${registryTable} and ${activityTable}`] : []),
    ...(userPoolId ? [`the user pool ${userPoolId}`] : []),
    ...Object.entries(signingKeys).map(([name, arn]) => `the key "${name}" (${arn})`),
    ...ofFeatures.map((name) => `the bucket ${name}`),
  ].join(', ');
};

/** The settings of a stage that differ from the defaults. */
export function describeChanges({ stage, ...settings }: Settings): string {
  const { stage: _, ...defaults } = parseSettings({});
  const changed = Object.entries(settings).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(Reflect.get(defaults, name)));
  const texts = changed.map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return `stage ${stage} with ${texts.length > 0 ? texts.join(', ') : 'the default settings'}`;
}
