import db from 'dynalite/db/index.js';

export interface TableWork {
  operations: Record<string, number>;
  newest: Record<string, string>;
  /** bytes of items read and written, as DynamoDB counts them */
  readBytes: number;
  writtenBytes: number;
  busyMs: number;
}

export const newTableWork = (): TableWork => ({ operations: {}, newest: {}, readBytes: 0, writtenBytes: 0, busyMs: 0 });

type WireItem = Record<string, object>;

interface WireBody {
  Item?: WireItem;
  TransactItems?: { Put?: { Item: WireItem } }[];
  Items?: WireItem[];
  Responses?: Record<string, WireItem[]>;
  Attributes?: WireItem;
}

/** Adds an operation, from the JSON of its request and response. Counts updates by their `ReturnValues: 'ALL_NEW'`, and none in transactions. */
export function addOperation(work: TableWork, operation: string, request: string, answer: string, durationMs: number): void {
  work.operations[operation] = (work.operations[operation] ?? 0) + 1;
  work.newest[operation] = request;
  work.busyMs += durationMs;
  const { Item: put, TransactItems = [] }: WireBody = JSON.parse(request || '{}');
  const { Item, Items = [], Responses = {}, Attributes }: WireBody = JSON.parse(answer || '{}');
  const read = [...(Item ? [Item] : []), ...Items, ...Object.values(Responses).flat()];
  for (const item of read) work.readBytes += db.itemSize(item);
  for (const item of [put, Attributes, ...TransactItems.map(({ Put }) => Put?.Item)]) if (item) work.writtenBytes += db.itemSize(item);
}
