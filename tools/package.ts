/** `npm run package [-- <folder>]`: builds the npm package with the construct for CDK apps, as a tarball in the folder `dist` by default. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { listAssets } from '../console/assets.ts';
import { bundleFunctions } from '../lib/bundle.ts';
import { functionNames } from '../lib/endpoints.ts';

const target = resolve(process.argv[2] ?? 'dist');
const folder = join(target, 'package');
const { version, dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const { 'aws-cdk-lib': library, constructs, zod } = dependencies;

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
bundleFunctions(functionNames(), join(folder, 'functions'));
writeFileSync(join(folder, 'assets.json'), JSON.stringify(listAssets()));
copyFileSync('functions/core/search/word-vectors.bin', join(folder, 'word-vectors.bin'));
buildSync({
  entryPoints: ['bin/construct.ts'],
  outfile: join(folder, 'index.js'),
  bundle: true,
  platform: 'node',
  target: 'node22',
  format: 'esm',
  external: ['aws-cdk-lib', 'constructs', 'zod'],
});
const manifest = {
  name: 'intent-gate-cdk',
  version,
  description: 'Intent Gate as a construct for apps of the AWS CDK',
  private: true,
  type: 'module',
  engines: { node: '>=22.12' },
  exports: { '.': { types: './types/bin/construct.d.ts', default: './index.js' } },
  dependencies: { zod },
  peerDependencies: { 'aws-cdk-lib': `^${library}`, constructs: `^${constructs}` },
};
writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
run(process.execPath, 'node_modules/typescript/bin/tsc', '-p', 'bin/tsconfig.package.json', '--outDir', join(folder, 'types'));
run('npm', 'pack', folder, '--pack-destination', target, '--silent');

function run(program: string, ...words: string[]): void {
  const { status } = spawnSync(program, words, { stdio: 'inherit', shell: process.platform === 'win32' && program === 'npm' });
  if (status !== 0) process.exit(status ?? 1);
}
