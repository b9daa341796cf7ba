import { foldHeaderName } from '../schemas/header.ts';
import type { IntentInput } from '../schemas/intent.ts';
import type { ServiceInput } from '../schemas/service.ts';

/*
 * Whose a member of a record is when its document is imported again:
 *
 * - What the document states is the document's. The endpoint and the parameters of an intent are stated as wholes, and so is its name.
 * - What the document leaves out stays as it is: somebody may have set it by hand. A description that is the name is left out: the import has made it.
 * - What people decide is theirs once it is set, whatever the document says. Whether an intent is a draft is theirs from the beginning.
 */

const decidedOfService = ['namespace', 'limit'] as const;
const decidedOfIntent = ['fields', 'strict'] as const;

type Described<Name extends string> = Record<Name | 'description', string>;

function combine<Name extends string, T extends Described<Name>>(stated: T, registered: T, name: Name, decided: readonly (keyof T)[]): T {
  const kept = decided.filter((member) => registered[member] !== undefined).map((member) => [member, registered[member]]);
  const combined: T = { ...registered, ...stated, ...Object.fromEntries(kept) };
  if (stated.description !== stated[name]) return combined;
  return { ...combined, description: registered.description === registered[name] ? combined[name] : registered.description };
}

/** @param registered - the record, in normal form */
export function combineService(stated: ServiceInput, registered: ServiceInput, isNamed = false): ServiceInput {
  const headers = { ...openHeaders(stated, registered), ...stated.headers };
  const combined = combine(stated, registered, 'service_name', isNamed ? decidedOfService : ['service_name', ...decidedOfService]);
  return Object.keys(headers).length > 0 ? { ...combined, headers } : combined;
}

/** Header fields of a service that the document does not set. */
export function openHeaders(stated: ServiceInput, registered: Pick<ServiceInput, 'headers'> | undefined): Record<string, string> {
  const names = new Set(Object.keys(stated.headers ?? {}).map(foldHeaderName));
  return Object.fromEntries(Object.entries(registered?.headers ?? {}).filter(([name]) => !names.has(foldHeaderName(name))));
}

/** @param registered - the record, in normal form */
export const combineIntent = ({ draft: _, ...stated }: IntentInput, registered: IntentInput): IntentInput =>
  combine(stated, registered, 'intent_name', decidedOfIntent);
