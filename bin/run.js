// `node bin/run.js <program> [options]`: runs a program of the project, or reports that this Node is too old.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isNewEnough, refuseNode } from './check-node.js';
import './closed-pipe.js';

if (!isNewEnough) refuseNode();
await import('./compile-cache.js');
const program = resolve(process.argv[2] ?? '');
// The C library of Linux gives threads memory of their own, which they seldom return. The stack has many threads, and needs a quarter less memory if
// they share it. The library reads the variable only at the start of a process, hence the new one, which has the same id.
if (process.platform === 'linux' && program.endsWith('local.ts') && !process.env.MALLOC_ARENA_MAX) {
  const words = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
  process.execve?.(process.execPath, words, { ...process.env, MALLOC_ARENA_MAX: '1' });
}
process.argv.splice(1, 2, program);
await import(pathToFileURL(program).href);
