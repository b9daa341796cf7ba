/** `npm run package [-- <folder>]`: builds the npm package with the construct for CDK apps, as a tarball in the folder `dist` by default. */
import { spawnSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { buildSync } from 'esbuild';
import { listAssets } from '../console/assets.ts';
import { bundleFunctions } from '../lib/bundle.ts';
import { functionNames } from '../lib/endpoints.ts';

const target = resolve(process.argv[2] ?? 'dist');
const folder = join(target, 'package');
const { version, license } = JSON.parse(readFileSync('package.json', 'utf8'));

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
bundleFunctions(functionNames(), join(folder, 'functions'));
writeFileSync(join(folder, 'assets.json'), JSON.stringify(listAssets()));
copyFileSync('functions/core/search/word-vectors.bin', join(folder, 'word-vectors.bin'));
for (const file of ['lib/README.md', 'CHANGELOG.md', ...globSync('LICENSE*')]) copyFileSync(file, join(folder, basename(file)));
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
  license,
  private: true,
  type: 'module',
  engines: { node: '>=22.12' },
  exports: { '.': { types: './types/bin/construct.d.ts', default: './index.js' } },
  // test/deploy/package.check.ts tries the oldest versions and the current ones.
  dependencies: { zod: '^4.5.0' },
  peerDependencies: { 'aws-cdk-lib': '^2.224.0', constructs: '^10.0.0' },
};
writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
run(process.execPath, 'node_modules/typescript/bin/tsc', '-p', 'bin/tsconfig.package.json', '--outDir', join(folder, 'types'));
run('npm', 'pack', folder, '--pack-destination', target, '--silent');

function run(program: string, ...words: string[]): void {
  const { status } = spawnSync(program, words, { stdio: 'inherit', shell: process.platform === 'win32' && program === 'npm' });
  if (status !== 0) process.exit(status ?? 1);
}
