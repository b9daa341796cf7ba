import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { ApiError } from '../runtime/api-error.ts';

export interface Actor {
  /** `sub` of the access token */
  subject: string;
  /** of a person */
  user_name?: string;
  /** of a machine */
  client_id?: string;
}

export interface Admin {
  actor: Actor;
  /** namespaces that the admin may change; absent for full admins */
  namespaces?: readonly string[];
  /** absent for operators' programs */
  requestId?: string;
  /** of the import that the request belongs to, if any */
  importId?: string;
}

export const nameOf = ({ actor: { user_name, client_id, subject } }: Admin): string => user_name ?? client_id ?? subject;

/** The author of changes by operators' programs, which write to the tables without an admin token. */
export const operator: Admin = { actor: { subject: 'operator' } };

/** Whether the admin may change records of a namespace. Only full admins change records without one. */
export const mayChange = ({ namespaces }: Admin, namespace: string | undefined): boolean =>
  namespaces === undefined || (namespace !== undefined && namespaces.includes(namespace));

const notYours = ({ namespaces = [] }: Admin, message: string) =>
  new ApiError('FORBIDDEN', message, { details: { reason: 'namespace', namespaces: [...namespaces] } });

/**
 * @param namespace - of the record to change, if it has one
 * @throws ApiError FORBIDDEN if the admin may not change it
 */
export function requireNamespace(admin: Admin, namespace: string | undefined): void {
  if (mayChange(admin, namespace)) return;
  throw notYours(
    admin,
    'Your namespaces (details.namespaces) do not include this one. Ask an admin of its namespace, or a member of the group admins.',
  );
}

/** @throws ApiError FORBIDDEN if the admin is restricted to namespaces */
export function requireFullAdmin(admin: Admin): void {
  if (admin.namespaces === undefined) return;
  throw notYours(
    admin,
    'Only admins of the whole gate may do this. Ask a member of the group admins; details.namespaces lists what you may change.',
  );
}

/**
 * @param service - the service of the intent
 * @throws ApiError FORBIDDEN if the admin may not change the service, or the intent is outside the service's namespace
 */
export function requireIntentNamespace(admin: Admin, { namespace: own }: { namespace?: string | undefined }, uid: string): void {
  requireNamespace(admin, own);
  const { namespace } = splitIntentUid(uid);
  if (own === undefined || own === namespace) return;
  throw new ApiError(
    'FORBIDDEN',
    'The intent_uid is outside the namespace of the service. Begin it with details.namespace and a colon, or choose another service.',
    { details: { reason: 'namespace', namespace: own } },
  );
}
