// `node bin/run.js <program> [options]`: runs a program of the project, or says that this Node is too old for it.
import module from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isNewEnough, refuseNode } from './check-node.js';

if (!isNewEnough) refuseNode();
// Compiled code is cached from one start to the next, also for the threads and processes that the program starts: it loads much faster.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../node_modules/.cache/intent-gate/compiled', import.meta.url));
module.enableCompileCache(process.env.NODE_COMPILE_CACHE);
const program = resolve(process.argv[2] ?? '');
process.argv.splice(1, 2, program);
await import(pathToFileURL(program).href);
