import { agentRecordKeys, toAgentRecords } from '../activity/agent.ts';
import type { ApiRequest } from '../http/request.ts';
import type { Authenticate, Authenticated } from '../pat/authenticate.ts';
import { holderOf } from '../pat/holder.ts';
import type { PolicyPointer } from '../policy/policy.ts';
import { keys } from '../table/keys.ts';
import type { Item, Table } from '../table/table.ts';
import { requireNotStopped } from './block-check.ts';

/** Requires a PAT that would be accepted for an execution now, with one read of the table. */
export type Admit = (request: ApiRequest) => Promise<Authenticated>;

/** @returns a function that throws ApiError UNAUTHORIZED or FORBIDDEN */
export const openAdmission =
  (authenticate: Authenticate, table: Pick<Table, 'getAll'>): Admit =>
  async (request) => {
    let records: (Item | undefined)[] = [];
    const caller = await authenticate(request, Date.now(), async (holder) => {
      const [pointer, ...others] = await table.getAll([keys.policyInForce(), ...agentRecordKeys(holder.sub, holderOf(holder).principal)]);
      records = others;
      return pointer as PolicyPointer | undefined;
    });
    requireNotStopped(toAgentRecords(records), caller.claims);
    return caller;
  };
