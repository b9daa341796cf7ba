import { agentRecordKeys, toAgentRecords } from '../activity/agent.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Authenticate } from '../pat/authenticate.ts';
import { holderOf } from '../pat/holder.ts';
import type { Table } from '../table/table.ts';
import { requireNotStopped } from './block-check.ts';

/** Requires a PAT that would be accepted for an execution now, with one read of the table. */
export type Admit = (request: ApiRequest) => Promise<void>;

/** @returns a function that throws ApiError UNAUTHORIZED or FORBIDDEN */
export const openAdmission =
  (authenticate: Authenticate, table: Pick<Table, 'getAll'>): Admit =>
  async (request) => {
    const { claims } = await authenticate(request, Date.now());
    const records = await table.getAll(agentRecordKeys(claims.sub, holderOf(claims).principal));
    requireNotStopped(toAgentRecords(records), claims);
  };
