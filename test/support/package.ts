import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Makes a folder like that of another team's CDK app: outside this project, with the gate installed from its tarball and a policy. */
export async function installPackage(folder: string): Promise<void> {
  await run(process.execPath, ['bin/run.js', 'tools/package.ts', folder], { env: { ...process.env, npm_config_offline: 'true' } });
  const [tarball = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
  const installed = join(folder, 'node_modules', 'intent-gate-cdk');
  await mkdir(installed, { recursive: true });
  await run('tar', ['-xzf', join(folder, tarball), '--strip-components', '1', '-C', installed]);
  await rm(join(folder, 'package'), { recursive: true });
  const { dependencies, peerDependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'));
  for (const name of Object.keys({ ...dependencies, ...peerDependencies })) {
    await symlink(resolve('node_modules', name), join(folder, 'node_modules', name), 'dir');
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  await cp('policy.json', join(folder, 'policy.json'));
}
