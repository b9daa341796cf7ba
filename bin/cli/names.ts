import { Unreachable } from '../../client/errors.ts';
import { judgedIntent } from '../../functions/core/policy/conditions.ts';
import type { Rule } from '../../functions/core/policy/reading.ts';
import { readRegistry } from '../../registry/files.ts';
import { describeUnknown, type KnownIntent, type KnownNames } from '../../registry/policy/unknown-names.ts';
import { findIntent, listAllIntents, listServices, readPages } from '../../registry/read.ts';
import type { IntentInput } from '../../schemas/intent.ts';
import { intentPage } from '../../schemas/intent-pages.ts';
import { type CliContext, findBaseUrl } from './context.ts';

type Described = Pick<IntentInput, 'intent_uid' | 'tags' | 'endpoint' | 'input_parameters'>;

const toKnown = (intent: Described, service: { service_id?: string; service_name: string }): KnownIntent => ({
  ...judgedIntent(intent, service),
  parameters: intent.input_parameters.map(({ name }) => name),
  definition: intent,
});

/**
 * The names that a policy may use, from a registry file or the gate.
 * @param registry - a file or folder, or true for the gate
 * @param uids - further intents to look up
 * @returns undefined if there is no gate, or if a gate that was not explicitly requested does not answer
 */
export async function readNames(
  context: CliContext,
  registry: string | true | undefined,
  rules: readonly Rule[],
  uids: readonly string[] = [],
): Promise<KnownNames | undefined> {
  if (typeof registry === 'string') {
    const services = await readRegistry(registry);
    return {
      services: services.map(({ service }) => service),
      intents: services.flatMap(({ service, intents }) => intents.map((intent) => toKnown(intent, service))),
    };
  }
  const isNamed = registry === true || context.url !== undefined || Boolean(process.env.INTENT_GATE_URL);
  if (!isNamed && findBaseUrl() === undefined) return undefined;
  try {
    return await readFromGate(context, rules, uids);
  } catch (error) {
    if (!isNamed && error instanceof Unreachable) return undefined;
    throw error;
  }
}

/** Reads lists, which include tags and parameters of intents, and reads an intent in full only if rules need more. */
async function readFromGate({ api }: CliContext, rules: readonly Rule[], uids: readonly string[]): Promise<KnownNames> {
  const services = await Array.fromAsync(listServices(api));
  const intents = new Map<string, KnownIntent>();
  for (const { service_id, service_name } of services) {
    for (const { intent_uid, tags } of await listAllIntents(api, service_id)) {
      intents.set(intent_uid, { intentUid: intent_uid, tags, service: { service_id, service_name }, parameters: [] });
    }
  }
  const isAsked = (subject: string) => rules.some(({ conditions }) => conditions.some((condition) => condition.subject.of === subject));
  if (isAsked('parameter')) {
    for await (const { intents: listed } of readPages(api, '/api/intents/search', {}, intentPage, 'if signed in')) {
      for (const { intent_uid, input_parameters } of listed) {
        const known = intents.get(intent_uid);
        if (known) intents.set(intent_uid, { ...known, parameters: input_parameters.map(({ name }) => name) });
      }
    }
  }
  const isNamed = (uid: string) =>
    rules.some(
      ({ entry, conditions }) =>
        entry === `${uid}:execute` || conditions.some(({ subject }) => subject.of === 'parameter' && subject.uid === uid),
    );
  const wanted = [...intents.keys()].filter((uid) => isAsked('method') || isNamed(uid));
  for (const uid of new Set([...wanted, ...uids])) {
    const found = await findIntent(api, uid);
    if (found) intents.set(uid, toKnown(found.record, found.record));
  }
  return { services, intents: [...intents.values()] };
}

export function sayUnknownIntent(uid: string, { intents }: KnownNames): string {
  const uids = intents.map(({ intentUid }) => intentUid);
  return `The call ${describeUnknown('intent', uid, uids)}`;
}
