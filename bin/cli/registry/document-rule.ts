import { foldField } from '../../../schemas/header.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import type { ServiceInput } from '../../../schemas/service.ts';

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

function combine<Name extends string, T extends Described<Name>>(stated: T, standing: T, name: Name, decided: readonly (keyof T)[]): T {
  const kept = decided.filter((member) => standing[member] !== undefined).map((member) => [member, standing[member]]);
  const combined: T = { ...standing, ...stated, ...Object.fromEntries(kept) };
  if (stated.description !== stated[name]) return combined;
  return { ...combined, description: standing.description === standing[name] ? combined[name] : standing.description };
}

/**
 * The service as it is to be.
 * @param standing - its record, in normal form
 * @param isNamed - whether somebody has asked for the name that is stated
 */
export function combineService(stated: ServiceInput, standing: ServiceInput, isNamed = false): ServiceInput {
  const headers = { ...openHeaders(stated, standing), ...stated.headers };
  const combined = combine(stated, standing, 'service_name', isNamed ? decidedOfService : ['service_name', ...decidedOfService]);
  return Object.keys(headers).length > 0 ? { ...combined, headers } : combined;
}

/** The header fields of a service that its document does not state. */
export function openHeaders(stated: ServiceInput, standing: Pick<ServiceInput, 'headers'> | undefined): Record<string, string> {
  const names = new Set(Object.keys(stated.headers ?? {}).map(foldField));
  return Object.fromEntries(Object.entries(standing?.headers ?? {}).filter(([name]) => !names.has(foldField(name))));
}

/** The intent as it is to be. @param standing - its record, in normal form */
export const combineIntent = ({ draft: _, ...stated }: IntentInput, standing: IntentInput): IntentInput =>
  combine(stated, standing, 'intent_name', decidedOfIntent);
