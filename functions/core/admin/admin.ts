import { splitIntentUid } from '../../../schemas/intent-uid.ts';
import { ApiError } from '../api-error.ts';

/** Who an admin is: what the history, the log and records say about the author of a change. */
export interface Actor {
  /** `sub` of the access token */
  subject: string;
  /** of a person */
  user_name?: string;
  /** of a machine */
  client_id?: string;
}

/** An admin, and what they may do in the request at hand. */
export interface Admin {
  actor: Actor;
  /** the only namespaces in which the admin may change anything; absent if they may change everything */
  namespaces?: readonly string[];
  /** of the request that the admin sent; absent if a program of the operators acts */
  requestId?: string;
}

/** What people call the admin: the user name of a person, the client id of a machine. */
export const nameOf = ({ actor: { user_name, client_id, subject } }: Admin): string => user_name ?? client_id ?? subject;

/** Who runs a program against the tables themselves: no admin token is involved. */
export const operator: Admin = { actor: { subject: 'operator' } };

/** Whether the admin may change what belongs to a namespace. Only a full admin may change what belongs to none. */
export const mayChange = ({ namespaces }: Admin, namespace: string | undefined): boolean =>
  namespaces === undefined || (namespace !== undefined && namespaces.includes(namespace));

const notYours = ({ namespaces = [] }: Admin, message: string) =>
  new ApiError('FORBIDDEN', message, { details: { reason: 'namespace', namespaces: [...namespaces] } });

/**
 * @param namespace - that what is about to be changed belongs to, if any
 * @throws ApiError FORBIDDEN if that is not the admin's
 */
export function requireNamespace(admin: Admin, namespace: string | undefined): void {
  if (mayChange(admin, namespace)) return;
  throw notYours(
    admin,
    'This does not belong to a namespace of yours, which details.namespaces lists. Ask an admin of its namespace, or a member of the group admins.',
  );
}

/** @throws ApiError FORBIDDEN if the admin may only change what belongs to certain namespaces */
export function requireFullAdmin(admin: Admin): void {
  if (admin.namespaces === undefined) return;
  throw notYours(admin, 'This belongs to no namespace. Ask a member of the group admins; you may change what details.namespaces lists.');
}

/**
 * @param service - that the intent stands in, or is to
 * @throws ApiError FORBIDDEN if the service or the intent is not the admin's, or the intent stands outside of its service's namespace
 */
export function requireIntentNamespace(admin: Admin, service: { namespace?: unknown }, uid: string): void {
  const own = typeof service.namespace === 'string' ? service.namespace : undefined;
  requireNamespace(admin, own);
  const { namespace } = splitIntentUid(uid);
  if (own === undefined || own === namespace) return;
  throw new ApiError(
    'FORBIDDEN',
    'The service belongs to a namespace, and this intent would stand outside of it. Let its intent_uid begin with details.namespace and a colon, or choose another service.',
    { details: { reason: 'namespace', namespace: own } },
  );
}
