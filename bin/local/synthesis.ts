import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { StartError } from './data-folder.ts';

/** The root of the project. */
export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Bundles the functions and synthesizes the app into `folder`, in a process of its own.
 * @param context - settings of the deployment
 * @throws StartError saying what the app says of the settings or the policy
 */
export async function synthesize(folder: string, context: Record<string, unknown>, signal?: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, [join('bin', 'app.ts')], {
    cwd: projectRoot,
    // The CDK writes where bundles are into the template only if it is asked to.
    env: { ...process.env, CDK_OUTDIR: folder, CDK_CONTEXT_JSON: JSON.stringify({ ...context, 'aws:cdk:enable-asset-metadata': true }) },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  const [complaint, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  if (exitCode !== 0) throw new StartError(complaint.trim());
}
