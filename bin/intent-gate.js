#!/usr/bin/env node
// Runs on any Node, and hands over to one that can run the command line: this one, or the one that "npm ci" has installed.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { findBroughtNode, isNewEnough, refuseNode } from './check-node.js';

if (isNewEnough) {
  await import('./compile-cache.js');
  await import('./cli.ts');
} else {
  const { status, signal } = spawnSync(
    findBroughtNode() ?? refuseNode(),
    [fileURLToPath(new URL('cli.ts', import.meta.url)), ...process.argv.slice(2)],
    { stdio: 'inherit' },
  );
  process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
}
