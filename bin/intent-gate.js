#!/usr/bin/env node
// Runs on whatever Node there is, and hands over to one that can run the command line: this one, or the one that "npm ci" has brought.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const least = 24;
const cli = fileURLToPath(new URL('cli.ts', import.meta.url));

if (Number(process.versions.node.split('.')[0]) >= least) {
  await import('./compile-cache.js');
  await import('./cli.ts');
} else {
  const folder = `../node_modules/node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}/bin/`;
  const brought = fileURLToPath(new URL(`${folder}node${process.platform === 'win32' ? '.exe' : ''}`, import.meta.url));
  if (existsSync(brought)) {
    const { status, signal } = spawnSync(brought, [cli, ...process.argv.slice(2)], { stdio: 'inherit' });
    process.exitCode = status ?? (signal === 'SIGINT' ? 130 : 1);
  } else {
    console.error(
      `Intent Gate needs Node ${least} or newer; this is Node ${process.versions.node}. Run "npm ci", which brings it, or install it from nodejs.org.`,
    );
    process.exitCode = 1;
  }
}
