import type { LoggedChange } from '../../schemas/changes.ts';
import type { World } from './admin-endpoints.ts';
import type { Call } from './invoke.ts';

/** Makes what an endpoint works on, in this namespace. */
export type Prepare = (world: World, namespace: string | undefined) => Promise<Call>;

/** How an endpoint for admins is tried. A new one needs one. */
export interface AdminCase {
  prepare: Prepare;
  /** what its entry in the log says; absent if it changes nothing */
  entry?: Pick<LoggedChange, 'kind' | 'action'> & Partial<Pick<LoggedChange, 'id'>>;
  /** it is sent with POST, but changes no record */
  changesNothing?: true;
  /** its records belong to nobody's namespace: to full admins alone */
  isFullAdminsOnly?: true;
  /** it shows no record, or only those that the admin may see, so that it refuses nobody */
  isForAll?: true;
}

/** @param id - of the changed record, if the request does not name it */
export const changes = (kind: LoggedChange['kind'], action: LoggedChange['action'], prepare: Prepare, id?: string): AdminCase => ({
  prepare,
  entry: { kind, action, ...(id !== undefined && { id }) },
});
