#!/usr/bin/env node
// Runs on any Node, and starts the command line with one that is new enough: this one, or the one installed by "npm ci".
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findInstalledNode, isNewEnough, refuseNode } from './check-node.js';
import './closed-pipe.js';

if (isNewEnough) {
  await import('./compile-cache.js');
  await import('./cli.ts');
} else {
  // Ctrl-C also reaches the child process, which may need to clean up
  process.on('SIGINT', () => {});
  const { status, signal } = spawnSync(findInstalledNode() ?? refuseNode(), [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
}
