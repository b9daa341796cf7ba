import { type Action, serve } from '../core/http/serve.ts';
import { type Table, tableFromEnvironment } from '../core/table/table.ts';
import { type ReceiptLog, receiptLogFromEnvironment } from './log-store.ts';
import { noReceipts, proveInclusion } from './proofs.ts';

/** `GET /api/executions/{id}/proof`: proof that a receipt is in the log. It reveals nothing about the execution, so it is open to everybody. */
export const createAction =
  ({ log, table }: { log: Pick<ReceiptLog, 'store' | 'origin'> | undefined; table: Pick<Table, 'get'> }): Action =>
  async (request) => {
    if (!log) throw noReceipts();
    const text = await proveInclusion(table, log, request.pathParameter('id'));
    return { status: 200, text, headers: { 'Content-Type': 'text/plain; charset=utf-8' } };
  };

export const handler = serve(createAction({ log: receiptLogFromEnvironment(), table: tableFromEnvironment() }));
