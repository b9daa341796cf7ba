export interface TableWork {
  operations: Record<string, number>;
  newest: Record<string, string>;
  /** bytes of items read and written, as DynamoDB counts them */
  readBytes: number;
  writtenBytes: number;
  busyMs: number;
}

export const newTableWork = (): TableWork => ({ operations: {}, newest: {}, readBytes: 0, writtenBytes: 0, busyMs: 0 });

type AttributeValue = Record<string, unknown>;
type WireItem = Record<string, AttributeValue>;

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
  for (const item of read) work.readBytes += itemBytes(item);
  for (const item of [put, Attributes, ...TransactItems.map(({ Put }) => Put?.Item)]) if (item) work.writtenBytes += itemBytes(item);
}

/** Size of an item in bytes as DynamoDB counts it, except for the rounding of numbers. */
export const itemBytes = (item: WireItem): number =>
  Object.entries(item).reduce((sum, [name, value]) => sum + Buffer.byteLength(name) + valueBytes(value), 0);

function valueBytes(attribute: AttributeValue): number {
  const [[type, value] = []] = Object.entries(attribute);
  switch (type) {
    case 'S':
      return Buffer.byteLength(value as string);
    case 'N':
      return Math.ceil((value as string).replace(/[^0-9]/g, '').length / 2) + 1;
    case 'B':
      return Buffer.byteLength(value as string, 'base64');
    case 'L':
      return (value as AttributeValue[]).reduce((sum, element) => sum + 1 + valueBytes(element), 3);
    case 'M':
      return Object.entries(value as WireItem).reduce((sum, [name, member]) => sum + 1 + Buffer.byteLength(name) + valueBytes(member), 3);
    default:
      return 1;
  }
}
