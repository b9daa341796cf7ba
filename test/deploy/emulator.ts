import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { makeCertificate } from '../support/certificate.ts';
import { findFreePort } from '../support/local-process.ts';
import { installRequirements } from '../support/python.ts';

const environmentFolder = '.venv';

export interface Emulator {
  port: number;
  stop(): Promise<void>;
}

/** Installs the emulator into a virtual environment of the project, unless the required version is there already. */
export const installEmulator = (): Promise<void> => installRequirements(environmentFolder, 'test/deploy/requirements.txt');

/**
 * Starts the emulator on a loopback port, over TLS (the bootstrap's bucket policy refuses anything else), with IAM in force.
 * @param lambdaEnvironment - additional environment variables for its Lambdas
 */
export async function startEmulator(lambdaEnvironment: (port: number) => Record<string, string>): Promise<Emulator> {
  const folder = await mkdtemp(join(tmpdir(), 'emulator-'));
  const { cert, key } = makeCertificate('localhost');
  const [certificateFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  await Promise.all([writeFile(certificateFile, cert), writeFile(keyFile, key)]);
  const port = await findFreePort();
  const child = spawn(resolve(environmentFolder, 'bin', 'python'), [resolve('test/deploy/emulator.py')], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      GATEWAY_PORT: String(port),
      BIND_HOST: '127.0.0.1',
      USE_SSL: '1',
      MINISTACK_SSL_CERT: certificateFile,
      MINISTACK_SSL_KEY: keyFile,
      // Functions that answer CloudFormation do so by fetch, which the emulator does not tell to trust it.
      NODE_EXTRA_CA_CERTS: certificateFile,
      AUTH: 'true',
      IOT_MTLS_ENABLED: '0',
      MINISTACK_REGION: region,
      S3_DATA_DIR: join(folder, 's3'),
      STATE_DIR: join(folder, 'state'),
      TMPDIR: folder,
      // The runtime contains the SDK, which the CDK's own function for emptying buckets needs.
      NODE_PATH: resolve('node_modules'),
      // Nothing here may find a container runtime.
      DOCKER_HOST: `unix://${join(folder, 'none')}`,
      ...lambdaEnvironment(port),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const log = collect(child);
  await untilReady(child, log);
  return {
    port,
    stop: async () => {
      stopGroup(child);
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

export const region = 'us-east-1';
export const account = '000000000000';

/** The emulator's root user. */
export const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };

const collect = ({ stdout, stderr }: ChildProcess): string[] => {
  const lines: string[] = [];
  for (const stream of [stdout, stderr]) stream?.on('data', (chunk) => lines.push(String(chunk)));
  return lines;
};

async function untilReady(child: ChildProcess, log: string[]): Promise<void> {
  for (let waits = 0; waits < 300; waits++) {
    if (child.exitCode !== null) break;
    if (log.join('').includes('Running on')) return;
    await setTimeout(100);
  }
  stopGroup(child);
  throw new Error(`the emulator did not start:\n${log.join('')}`);
}

/** The emulator and the Lambdas that it has started. */
function stopGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, 'SIGKILL');
}
