#!/usr/bin/env node
// Runs on any Node, and hands over to one that can run the command line: this one, or the one that "npm ci" has installed.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findBroughtNode, isNewEnough, refuseNode } from './check-node.js';
import './closed-pipe.js';

if (isNewEnough) {
  await import('./compile-cache.js');
  await import('./cli.ts');
} else {
  // Ctrl-C reaches the other one, too, which may have something to finish
  process.on('SIGINT', () => {});
  const { status, signal } = spawnSync(findBroughtNode() ?? refuseNode(), [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
}
