/** `npm run bench -- <what> [options]`: benchmarks that anyone can run; each prints what it measured and how. */
const benchmarks: Record<string, () => Promise<{ run(args: string[]): Promise<void> }>> = {
  execute: () => import('./bench/execute.ts'),
  pat: () => import('./bench/pat.ts'),
  search: () => import('./bench/search.ts'),
  tune: () => import('./bench/tune.ts'),
  changes: () => import('./bench/changes.ts'),
  cold: () => import('./bench/cold.ts'),
  stack: () => import('./bench/stack.ts'),
};

const [what = '', ...args] = process.argv.slice(2);
const load = benchmarks[what];
if (load) {
  await (await load()).run(args);
} else {
  console.error(`Say what to measure: npm run bench -- ${Object.keys(benchmarks).join(' | ')}`);
  process.exitCode = 1;
}
