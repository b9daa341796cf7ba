import type { Settings } from './settings.ts';

/** Contents by path. */
export type Files = Record<string, string | Uint8Array>;

export interface Build {
  /** puts each function's bundle into a folder of its name */
  bundle(names: readonly string[], folder: string): void;
  /** the served pages and what they load, by kind of document */
  buildPages(protocol: string): Record<string, Files>;
  /** file of the vectors */
  wordVectors: string;
}

/** What the files beside bundles are made of. */
export interface FileContext {
  settings: Settings;
  /** text of the usage policy */
  policy: string;
  build: Build;
}
