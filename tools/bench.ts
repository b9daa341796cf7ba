/** `npm run bench -- <what> [options]`: runs one of the benchmarks and prints its results. */
const benchmarks: Record<string, () => Promise<{ run(args: string[]): Promise<void> }>> = {
  execute: () => import('./bench/execute.ts'),
  search: () => import('./bench/search.ts'),
  cold: () => import('./bench/cold.ts'),
  hanging: () => import('./bench/hanging.ts'),
};

const [what = '', ...args] = process.argv.slice(2);
const load = benchmarks[what];
if (load) {
  await (await load()).run(args);
} else {
  console.error(`Usage: npm run bench -- ${Object.keys(benchmarks).join(' | ')}`);
  process.exitCode = 1;
}
