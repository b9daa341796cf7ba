import { foldField } from '../../../schemas/header.ts';
import type { IntentInput } from '../../../schemas/intent.ts';
import type { ServiceInput } from '../../../schemas/service.ts';

/*
 * Whose a member of a record is when its document is imported again:
 *
 * - What the document states is the document's. The endpoint and the parameters of an intent are stated as wholes, and so is its name.
 * - What the document leaves out stays as it is: somebody may have set it by hand.
 * - What people decide about calls is theirs once it is set, whatever the document says. Whether an intent is a draft is theirs from the beginning.
 */

const decidedOfService = ['namespace', 'limit'] as const;
const decidedOfIntent = ['fields', 'strict'] as const;

function combine<T extends object>(stated: T, standing: T, decided: readonly (keyof T)[]): T {
  const kept = decided.filter((name) => standing[name] !== undefined).map((name) => [name, standing[name]]);
  return { ...standing, ...stated, ...Object.fromEntries(kept) };
}

/** The service as it is to be. @param standing - its record, in normal form */
export function combineService(stated: ServiceInput, standing: ServiceInput): ServiceInput {
  const { description, ...others } = stated;
  // a document without a description: the import has put the name in its place, now or earlier
  const isOpen = description === stated.service_name && standing.description !== standing.service_name;
  const headers = { ...openHeaders(stated, standing), ...stated.headers };
  const combined = combine({ ...others, description: isOpen ? standing.description : description }, standing, decidedOfService);
  return Object.keys(headers).length > 0 ? { ...combined, headers } : combined;
}

/** The header fields of a service that its document does not state. */
export function openHeaders(stated: ServiceInput, standing: Pick<ServiceInput, 'headers'> | undefined): Record<string, string> {
  const names = new Set(Object.keys(stated.headers ?? {}).map(foldField));
  return Object.fromEntries(Object.entries(standing?.headers ?? {}).filter(([name]) => !names.has(foldField(name))));
}

/** The intent as it is to be. @param standing - its record, in normal form */
export const combineIntent = ({ draft: _, ...stated }: IntentInput, standing: IntentInput): IntentInput =>
  combine(stated, standing, decidedOfIntent);
