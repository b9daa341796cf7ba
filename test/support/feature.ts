import type { ChangeLog } from '../../functions/core/registry/change-log.ts';
import type { Table } from '../../functions/core/table/table.ts';
import type { AdminCase } from './admin-case.ts';
import type { Call } from './invoke.ts';

/** What a feature adds to tests that try everything of a kind. */
export interface TestedFeature {
  /** how its endpoints for admins are tried */
  cases?: Readonly<Record<string, AdminCase>>;
  /** what these endpoints work with */
  stores?(table: Table, changeLog: ChangeLog): object;
  /** requests that they refuse as invalid, by the name of the endpoint */
  invalid?: readonly (readonly [endpoint: string, call: Call])[];
  /** its clients that keep connections, as one request to a peer that gives `anyAnswer` */
  keepingClients?(endpoint: string): Record<string, () => Promise<unknown>>;
}
