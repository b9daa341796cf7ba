import { spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { StartError, tryLock } from './data-folder.ts';

export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

const caches = join(projectRoot, 'node_modules', '.cache', 'intent-gate');

/** Enables the cache of compiled code, shared with {@link ../compile-cache.js}. */
export const withCompileCache = { NODE_COMPILE_CACHE: join(caches, 'compiled') };

/** Settings of every local stack. */
export const localContext = {
  stage: 'local',
  allowLoopback: true,
  tracing: false,
  agentIds: 'shared',
  receipts: 'keyed',
  signIn: true,
  adminSignIn: true,
};

/** Holds synthesized templates with bundles, in folders named by a digest of sources and settings, and bundles, in folders named by a digest of sources. */
const cache = join(caches, 'synthesized');

/** Number of recently used folders to keep, besides those used in the last two hours. Running stacks mark their folder as used. */
const maxKept = 8;
const minKeptMs = 2 * 60 * 60 * 1_000;

/** Everything that synthesis reads, relative to the project's root; npm's lock file represents the installed packages. */
const sources = [
  '{console,functions,lib,registry,schemas}/**/*.*',
  'bin/app.ts',
  '{cdk,cdk.context,package,package-lock,tsconfig}.json',
  'node_modules/.package-lock.json',
];

/**
 * Bundles the functions and synthesizes the app in a separate process, unless the cache has the result for the same sources and settings.
 * @param context - settings of the deployment
 * @returns the folder with the template and the bundles; call {@link markUsed} while it is in use
 * @throws StartError with the app's message about the settings or the policy
 */
export async function synthesize(context: Record<string, unknown>, signal?: AbortSignal): Promise<string> {
  mkdirSync(cache, { recursive: true });
  for (;;) {
    const digest = digestSources(context);
    const folder = join(cache, digest);
    if (markUsed(folder)) return folder;
    const unlock = tryLock(cache);
    if (!unlock) {
      // Another process is synthesizing, perhaps the same app.
      await sleep(100, undefined, { signal });
      continue;
    }
    const draft = join(cache, `draft-${randomUUID()}`);
    try {
      if (existsSync(folder)) continue;
      prune();
      const code = digestCode();
      const kept = join(cache, `bundles-${code}`);
      const isKept = markUsed(kept);
      const bundles = isKept ? kept : join(draft, 'bundles');
      await runApp(draft, bundles, context, signal);
      // Start again if a source has changed meanwhile: the result may mix old and new.
      if (digestCode() !== code || digestSources(context) !== digest) continue;
      // without bundling there are no bundles
      if (!isKept && existsSync(bundles)) renameSync(bundles, kept);
      renameSync(draft, folder);
    } finally {
      rmSync(draft, { recursive: true, force: true });
      unlock();
    }
  }
}

/** Protects a folder from removal for two hours. @returns false if it does not exist */
export function markUsed(folder: string): boolean {
  const now = new Date();
  try {
    utimesSync(folder, now, now);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** Removes old folders. The caller must hold the lock, so that any drafts are leftovers of killed processes. */
function prune(): void {
  const folders = readdirSync(cache)
    .filter((name) => !name.startsWith('lock'))
    .map((name) => ({ path: join(cache, name), isDraft: name.startsWith('draft-'), usedMs: statSync(join(cache, name)).mtimeMs }))
    .sort((a, b) => b.usedMs - a.usedMs);
  for (const [index, { path, isDraft, usedMs }] of folders.entries()) {
    const isOld = index >= maxKept && Date.now() - usedMs > minKeptMs;
    if (isDraft || isOld) rmSync(path, { recursive: true, force: true });
  }
}

/** A digest of everything that a synthesis with these settings reads. */
export function digestSources(context: Record<string, unknown>, root = projectRoot): string {
  const given = { ...JSON.parse(readFileSync(join(root, 'cdk.json'), 'utf8')).context, ...context };
  // The content of the policy matters, its path does not.
  const { policyFile = 'policy.json', ...settings } = given;
  const path = resolve(root, policyFile);
  const policy = existsSync(path) ? readFileSync(path, 'utf8') : '';
  return digestOf(JSON.stringify([digestCode(root), settings, policy]));
}

/** A digest of the files that every synthesis reads, which determine the bundles. */
export function digestCode(root = projectRoot): string {
  const files = sources.flatMap((pattern) => globSync(pattern, { cwd: root })).sort();
  return digestOf(JSON.stringify([process.version, ...files.map((file) => [file, digestOf(readFileSync(join(root, file)))])]));
}

const digestOf = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex').slice(0, 32);

async function runApp(folder: string, bundles: string, context: Record<string, unknown>, signal?: AbortSignal): Promise<void> {
  const child = spawn(process.execPath, [join('bin', 'app.ts')], {
    cwd: projectRoot,
    env: {
      ...process.env,
      ...withCompileCache,
      CDK_OUTDIR: folder,
      INTENT_GATE_BUNDLES: bundles,
      // Makes the CDK write the paths of bundles into the template.
      CDK_CONTEXT_JSON: JSON.stringify({ ...context, 'aws:cdk:enable-asset-metadata': true }),
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    signal,
  });
  const [complaint, [exitCode]] = await Promise.all([text(child.stderr), once(child, 'close')]);
  if (exitCode !== 0) throw new StartError(complaint.trim());
  // The CDK has copied the bundles.
  rmSync(join(folder, 'dist'), { recursive: true, force: true });
}
