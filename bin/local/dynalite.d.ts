// biome-ignore-all lint/style/noDefaultExport: these modules have no other
declare module 'dynalite' {
  import type { Server } from 'node:http';

  export interface Options {
    path?: string | undefined;
    createTableMs?: number;
  }
  export default function dynalite(options?: Options): Server;
}

declare module 'dynalite/db/index.js' {
  import type { Options } from 'dynalite';

  type Item = Record<string, object>;
  type Answer<T> = (error: Error | null, value?: T) => void;
  export type TableDefinition = object;
  /** `write` is called once the lock is there, with what wraps the callback that ends it. */
  export type Lock = (key: string, write: (release: (answer: (...given: never[]) => void) => (...given: never[]) => void) => void) => void;

  /** The members of requests that say what is written where. */
  export interface Request {
    TableName: string;
    Item?: Item;
    Key?: Item;
    TransactItems?: Record<string, object>[];
    ClientRequestToken?: string;
  }

  export interface BatchOperation {
    type: 'put' | 'del';
    key: string;
    value?: object;
  }

  export interface Items {
    lock: Lock;
    get(key: string, answer: Answer<Item>): void;
    put(key: string, item: Item, answer: Answer<unknown>): void;
    del(key: string, answer: Answer<unknown>): void;
  }

  export interface Store {
    db: {
      batch(operations: BatchOperation[]): Promise<void>;
      iterator<T>(range: { gt: string; lt: string }): { all(): Promise<[key: string, value: T][]> };
    };
    getTable(name: string, answer: Answer<TableDefinition>): void;
    getItemDb(name: string): Items;
  }

  export type Action = (store: Store, request: Request, answer: Answer<object>) => void;

  const db: {
    create(options?: Options): Store;
    createKey(item: Item, table: TableDefinition): string;
    validateItem(item: Item, table: TableDefinition): Error | undefined;
    validateKey(key: Item, table: TableDefinition): Error | undefined;
    itemSize(item: object): number;
    validationError(message: string): Error;
  };

  export default db;
}

declare module 'dynalite/actions/*.js' {
  const action: import('dynalite/db/index.js').Action;
  export default action;
}

declare module 'dynalite/validations/index.js' {
  import type { Request, Store } from 'dynalite/db/index.js';

  export interface Rules {
    types: object;
    custom: object;
  }
  const validations: {
    checkTypes(request: object, types: object): Request;
    checkValidations(request: Request, types: object, custom: object, store: Store): void;
  };
  export default validations;
}

declare module 'dynalite/validations/*.js' {
  const rules: import('dynalite/validations/index.js').Rules;
  export default rules;
}
