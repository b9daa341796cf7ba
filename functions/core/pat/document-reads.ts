import { ApiError } from '../runtime/api-error.ts';
import { keys } from '../table/keys.ts';
import { takeLease } from '../table/leases.ts';
import type { Table } from '../table/table.ts';

/** Maximum number of documents that all instances of a function read at the same time: a slow one occupies its instance for seconds. */
const maxReads = 4;

/** Longer than any read, in seconds. */
const leaseSeconds = 5;

/** Reads a document at an address that a caller names. @throws ApiError TOO_MANY_REQUESTS if too many are being read, and what `read` throws */
export type BoundReads = <T>(read: () => Promise<T>) => Promise<T>;

/** @param name - of the function; each has its own bound */
export function openBoundReads(table: Pick<Table, 'get' | 'update'>, name = process.env.AWS_LAMBDA_FUNCTION_NAME ?? ''): BoundReads {
  const key = keys.slowCalls('documents', name);
  return async (read) => {
    const giveBack = await takeLease(table, key, maxReads, leaseSeconds);
    if (!giveBack) throw tooManyReads();
    try {
      return await read();
    } finally {
      await giveBack();
    }
  };
}

const tooManyReads = () =>
  new ApiError('TOO_MANY_REQUESTS', 'The gate is reading too many documents of others. Nothing was read; try again after Retry-After.', {
    details: { reason: 'documents' },
    headers: { 'Retry-After': '2' },
  });
