import { type Action, serve } from '../core/http/serve.ts';
import { ApiError } from '../core/runtime/api-error.ts';
import { type Table, tableFromEnvironment } from '../core/table/table.ts';
import { type ReceiptLog, receiptLogFromEnvironment } from './log-store.ts';
import { noReceipts, requireHead } from './proofs.ts';

/** Tiles never change (C2SP tlog-tiles). */
const immutable = { 'Cache-Control': 'public, max-age=31536000, immutable' };

const number = '(?:x\\d{3}/)*\\d{3}';
const tilePattern = new RegExp(`^/log/(tile/(?:[0-5]|entries)/${number}(?:\\.p/(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]\\d?))?)$`);

/** `GET /log/checkpoint`, `/log/key`, `/log/jwks.json` and `/log/tile/{tile+}`: the receipt log, open to everybody. */
export const createAction =
  ({ log, table }: { log: Pick<ReceiptLog, 'store' | 'origin' | 'publicKeys'> | undefined; table: Pick<Table, 'get'> }): Action =>
  async ({ path }) => {
    if (!log) throw noReceipts();
    const text = (body: string, type = 'text/plain; charset=utf-8') => ({
      status: 200,
      text: body,
      headers: { 'Content-Type': type, 'Cache-Control': 'no-cache' },
    });
    const local = path.slice(path.indexOf('/log/'));
    if (local === '/log/checkpoint') return text((await requireHead(table, log.origin)).checkpoint);
    if (local === '/log/key') return text((await log.publicKeys()).key);
    if (local === '/log/jwks.json') return text((await log.publicKeys())['jwks.json'], 'application/json');
    const [, name] = tilePattern.exec(local) ?? [];
    const bytes = name && (await log.store.read(name));
    if (!bytes) throw new ApiError('NOT_FOUND', 'The log has no such tile. GET /log/checkpoint says how many receipts it has.');
    return { status: 200, bytes, headers: { 'Content-Type': 'application/octet-stream', ...immutable } };
  };

export const handler = serve(createAction({ log: receiptLogFromEnvironment(), table: tableFromEnvironment() }));
