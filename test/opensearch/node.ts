import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chown, cp, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { promisify } from 'node:util';
import { type OpenSearchEngine, openOpenSearchEngine } from '../../functions/opensearch/engine.ts';
import { findFreePort } from '../support/local-process.ts';

const run = promisify(execFile);

const version = '2.19.3';
const cache = resolve(`node_modules/.cache/intent-gate/opensearch-${version}`);

/** The user "nobody": OpenSearch refuses to run as root. */
const nobody = 65_534;

/** The module with the stemmer is not part of the distribution, which has only what a node needs to start. */
const analysisDescriptor = `description=Analyzers
version=${version}
name=analysis-common
classname=org.opensearch.analysis.common.CommonAnalysisPlugin
java.version=11
opensearch.version=${version}
`;

/** Fetches OpenSearch with Maven, which knows from where, unless that has been done. */
async function install(): Promise<void> {
  if (existsSync(cache)) return;
  const folder = `${cache}.part`;
  await rm(folder, { recursive: true, force: true });
  const modules = join(folder, `opensearch-${version}`, 'modules', 'analysis-common');
  await mkdir(folder, { recursive: true });
  // Maven notes in its working directory what it has unpacked, and does not do it twice.
  const maven = (goal: string, artifact: string, outputDirectory: string) =>
    run('mvn', ['--quiet', '--batch-mode', `dependency:${goal}`, `-Dartifact=${artifact}`, `-DoutputDirectory=${outputDirectory}`], {
      cwd: folder,
    });
  await maven('unpack', `org.opensearch.distribution.integ-test-zip:opensearch:${version}:zip`, folder);
  await maven('copy', `org.opensearch.plugin:analysis-common:${version}:jar`, modules);
  await writeFile(join(modules, 'plugin-descriptor.properties'), analysisDescriptor);
  await rename(folder, cache);
}

export interface OpenSearchNode {
  engine: OpenSearchEngine;
  /** a request to the node itself; its answer as JSON */
  send(method: string, path: string, body?: object): Promise<unknown>;
  stop(): Promise<void>;
}

/** Starts a real OpenSearch node on loopback. It needs Java (11 to 23) and Maven, about 20 seconds and 1 GB of memory. */
export async function startOpenSearch(heap = '512m'): Promise<OpenSearchNode> {
  await install();
  const folder = await mkdtemp(join(tmpdir(), 'opensearch-'));
  await cp(join(cache, `opensearch-${version}`), folder, { recursive: true });
  const [port, transportPort] = [await findFreePort(), await findFreePort()];
  await mkdir(join(folder, 'data'));
  await writeFile(
    join(folder, 'config', 'opensearch.yml'),
    `discovery.type: single-node
network.host: 127.0.0.1
http.port: ${port}
transport.port: ${transportPort}
path.data: data
cluster.routing.allocation.disk.threshold_enabled: false
`,
  );
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await giveAway(folder);
  const child = spawn(
    'java',
    [
      `-Xms${heap}`,
      `-Xmx${heap}`,
      '-Djava.security.manager=allow',
      `-Djava.io.tmpdir=${join(folder, 'data')}`,
      `-Dopensearch.path.home=${folder}`,
      `-Dopensearch.path.conf=${join(folder, 'config')}`,
      '-cp',
      join(folder, 'lib', '*'),
      'org.opensearch.bootstrap.OpenSearch',
    ],
    { cwd: folder, env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'], ...(isRoot && { uid: nobody, gid: nobody }) },
  );
  const endpoint = `http://127.0.0.1:${port}`;
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const stop = async () => {
    process.off('exit', kill);
    const ended = child.exitCode === null ? new Promise((resolve) => child.once('exit', resolve)) : undefined;
    kill();
    await ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await untilReady(child, endpoint);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    engine: openOpenSearchEngine({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'test', secretAccessKey: 'test' } }),
    send: async (method, path, body) => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(new URL(path, endpoint), { method, headers, ...(body && { body: JSON.stringify(body) }) });
      return response.json();
    },
    stop,
  };
}

async function giveAway(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true });
  await Promise.all(['', ...entries].map((entry) => chown(join(folder, entry), nobody, nobody)));
}

async function untilReady(child: ChildProcess, endpoint: string): Promise<void> {
  let log = '';
  const collect = (chunk: Buffer) => {
    log = (log + chunk).slice(-4_000);
  };
  child.stdout?.on('data', collect);
  child.stderr?.on('data', collect);
  child.once('error', (error) => collect(Buffer.from(error.message)));
  for (let waitedMs = 0; waitedMs < 120_000; waitedMs += 250) {
    if (child.exitCode !== null || child.pid === undefined) break;
    const response = await fetch(`${endpoint}/_cluster/health`).catch(() => undefined);
    if (response?.ok) return;
    await setTimeout(250);
  }
  throw new Error(`OpenSearch has not started. It needs Java 11 to 23; its log ends with:\n${log}`);
}
