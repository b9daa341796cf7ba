import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface PythonEnvironment {
  /** its programs are in `bin` */
  folder: string;
  remove(): Promise<void>;
}

/**
 * Makes a virtual environment with the packages that a file lists, unless it is there already.
 * @param folder - of the environment, which stays
 */
export async function installRequirements(folder: string, requirements: string): Promise<void> {
  const stamp = join(folder, 'requirements.txt');
  const wanted = await readFile(requirements, 'utf8');
  if (existsSync(stamp) && (await readFile(stamp, 'utf8')) === wanted) return;
  await run('python3', ['-m', 'venv', folder]);
  await run(join(folder, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', '--no-input', '-r', requirements]);
  await writeFile(stamp, wanted);
}

/** A virtual environment with the Python client as pip installs it; nothing, with a warning, if this machine cannot make one. */
export const installPythonClient = (): Promise<PythonEnvironment | undefined> =>
  makeEnvironment('The Python client is not tested', async (folder) => {
    // pip builds beside the sources unless they are elsewhere
    const sources = join(folder, 'sources');
    await run('cp', ['-R', 'client/python', sources]);
    return [sources];
  });

/**
 * A virtual environment with packages; nothing, with a warning, if this machine cannot make one.
 * @param packages - as `pip install` takes them
 */
export const installPython = (packages: string[], otherwise: string): Promise<PythonEnvironment | undefined> =>
  makeEnvironment(otherwise, async () => packages);

async function makeEnvironment(
  otherwise: string,
  choosePackages: (folder: string) => Promise<string[]>,
): Promise<PythonEnvironment | undefined> {
  const folder = await mkdtemp(join(tmpdir(), 'intent-gate-python-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await run('python3', ['-m', 'venv', folder]);
    const pip = join(folder, 'bin', 'pip');
    await run(pip, ['--disable-pip-version-check', '--no-input', 'install', '--quiet', ...(await choosePackages(folder))], {
      timeout: 120_000,
    });
    return { folder, remove };
  } catch (error) {
    console.warn(`${otherwise}: ${(error as Error).message.split('\n').slice(0, 3).join(' ')}`);
    await remove();
    return undefined;
  }
}
