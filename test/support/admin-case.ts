import type { LoggedChange } from '../../schemas/changes.ts';
import type { World } from './admin-endpoints.ts';
import type { Call } from './invoke.ts';

/** Makes what an endpoint works on, in this namespace. */
export type Prepare = (world: World, namespace: string | undefined) => Promise<Call>;

/** How an endpoint for admins is tried. A new one needs one. */
export interface AdminCase {
  prepare: Prepare;
  /** what its entry in the log says; absent if it changes nothing */
  entry?: Pick<LoggedChange, 'kind' | 'action'>;
  /** its records belong to nobody's namespace: to full admins alone */
  isFullAdminsOnly?: true;
  /** it lists what admins may see, so that it refuses nobody */
  isForAll?: true;
}

export const changes = (kind: LoggedChange['kind'], action: LoggedChange['action'], prepare: Prepare): AdminCase => ({
  prepare,
  entry: { kind, action },
});
