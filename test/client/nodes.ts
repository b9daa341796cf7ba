import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The PATH without the folders that npm scripts prepend. */
export const systemPath = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((folder) => !folder.includes('node_modules'))
  .join(delimiter);

const oldest = systemPath
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .find(existsSync);

/** This Node, and the one installed on this machine. */
export const nodes = [...new Set([process.execPath, oldest ?? process.execPath])];
