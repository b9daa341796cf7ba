import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from '@jest/globals';
import { makeFolder } from '../support/folder.ts';

const run = promisify(execFile);
const folder = makeFolder();
let tarball: string;

/** The oldest versions in the ranges of the package, and those of the project. */
let versions: Record<'oldest' | 'current', Record<string, string>>;

beforeAll(async () => {
  await run(process.execPath, ['bin/run.js', 'tools/package.ts', folder]);
  tarball = join(folder, (await readdir(folder)).find((name) => name.endsWith('.tgz')) ?? '');
  const { dependencies, peerDependencies } = JSON.parse(await readFile(join(folder, 'package', 'package.json'), 'utf8'));
  const ranges: [string, string][] = Object.entries({ ...dependencies, ...peerDependencies });
  const project = JSON.parse(await readFile('package.json', 'utf8')).dependencies;
  versions = {
    oldest: Object.fromEntries(ranges.map(([name, range]) => [name, range.slice(1)])),
    current: Object.fromEntries(ranges.map(([name]) => [name, project[name]])),
  };
}, 180_000);

/** Installs the package from its tarball as another team would, checks the types of its README's app, and synthesizes it. */
async function synthesizeWith(name: keyof typeof versions): Promise<{ template: string; installed: Record<string, string> }> {
  const app = join(folder, name);
  await mkdir(app);
  const compilerOptions = { strict: true, module: 'nodenext', target: 'esnext', types: [], noEmit: true };
  const [, program = ''] = /^```ts\n(.*?)^```$/ms.exec(await readFile('lib/README.md', 'utf8')) ?? [];
  await Promise.all([
    writeFile(join(app, 'package.json'), '{"type":"module"}'),
    writeFile(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] })),
    writeFile(join(app, 'app.ts'), program),
    cp('policy.json', join(app, 'policy.json')),
  ]);
  const packages = Object.entries(versions[name]).map(([dependency, version]) => `${dependency}@${version}`);
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--save-exact', tarball, ...packages], { cwd: app });
  await run(process.execPath, [resolve('node_modules/typescript/bin/tsc'), '-p', app]);
  const env = { ...process.env, NODE_OPTIONS: '', CDK_VALIDATION: 'false', CDK_OUTDIR: join(app, 'cdk.out'), CDK_CONTEXT_JSON: '{}' };
  await run(process.execPath, ['app.ts'], { cwd: app, env });
  const installed = Object.keys(versions[name]).map(async (dependency) => {
    const { version } = JSON.parse(await readFile(join(app, 'node_modules', dependency, 'package.json'), 'utf8'));
    return [dependency, version];
  });
  return {
    template: await readFile(join(app, 'cdk.out', 'Orders.template.json'), 'utf8'),
    installed: Object.fromEntries(await Promise.all(installed)),
  };
}

test('an app has the same gate with the oldest supported versions of its dependencies and with the current ones', async () => {
  const [oldest, current] = [await synthesizeWith('oldest'), await synthesizeWith('current')];
  expect([oldest.installed, current.installed]).toEqual([versions.oldest, versions.current]);
  expect(versions.oldest).not.toEqual(versions.current);
  expect(Object.keys(JSON.parse(oldest.template).Resources).length).toBeGreaterThan(100);
  expect(JSON.parse(oldest.template)).toEqual(JSON.parse(current.template));
}, 600_000);
