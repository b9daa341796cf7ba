// `node bin/run.js <program> [options]`: runs a program of the project, or reports that this Node is too old.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isNewEnough, refuseNode } from './check-node.js';
import './closed-pipe.js';

if (!isNewEnough) refuseNode();
await import('./compile-cache.js');
const program = resolve(process.argv[2] ?? '');
process.argv.splice(1, 2, program);
await import(pathToFileURL(program).href);
