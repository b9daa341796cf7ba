import { foldHeaderName } from '../schemas/header.ts';
import type { IntentInput } from '../schemas/intent.ts';
import type { ServiceInput } from '../schemas/service.ts';

/*
 * Which value a member of a record gets when its document is imported again:
 *
 * - Members that the document sets are replaced. The endpoint, the parameters and the name of an intent are always replaced as a whole.
 * - Members that it omits keep their value, which may have been set by hand. A description equal to the name was made by the import and counts as omitted.
 * - Members that people decide keep their value once set, whatever the document says. `draft` always keeps its value.
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

/** Registered header fields of a service that the document does not set. */
export function openHeaders(stated: ServiceInput, registered: Pick<ServiceInput, 'headers'> | undefined): Record<string, string> {
  const names = new Set(Object.keys(stated.headers ?? {}).map(foldHeaderName));
  return Object.fromEntries(Object.entries(registered?.headers ?? {}).filter(([name]) => !names.has(foldHeaderName(name))));
}

/** @param registered - the record, in normal form */
export const combineIntent = ({ draft: _, ...stated }: IntentInput, registered: IntentInput): IntentInput =>
  combine(stated, registered, 'intent_name', decidedOfIntent);
