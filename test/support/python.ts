import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
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

/** A virtual environment with pip, and the Python client as pip installs it; nothing, with a warning, if this machine cannot make one. */
export const installPythonClient = (): Promise<PythonEnvironment | undefined> =>
  makeEnvironment('The Python client is not tested', async () => [resolve('client/python')], { hasPip: true });

/**
 * A virtual environment with packages; nothing, with a warning, if this machine cannot make one.
 * @param packages - as `pip install` takes them
 */
export const installPython = (packages: string[], otherwise: string): Promise<PythonEnvironment | undefined> =>
  makeEnvironment(otherwise, async () => packages);

/** What the proofs use: tools that share no code with the gate. */
const witnesses = ['schemathesis==4.32.5', 'PyJWT==2.10.1', 'cryptography'];

/** The Python of an environment with {@link witnesses}; nothing, with a warning, if this machine cannot make one. */
export const installWitnesses = (otherwise: string): Promise<string | undefined> => installTools(witnesses, otherwise);

/**
 * The Python of an environment with tools that change nothing in it, which is made once; nothing, with a warning, if this machine cannot make one.
 * @param packages - as `pip install` takes them
 */
export async function installTools(packages: string[], otherwise: string): Promise<string | undefined> {
  const digest = createHash('sha256').update(packages.join()).digest('hex').slice(0, 16);
  const kept = resolve('node_modules/.cache/intent-gate/python', digest);
  const python = join(kept, 'bin', 'python');
  if (existsSync(python)) return python;
  await mkdir(dirname(kept), { recursive: true });
  const made = await makeEnvironment(otherwise, async () => packages, { parent: dirname(kept) });
  // another process may have made it meanwhile
  await (made && rename(made.folder, kept).catch(made.remove));
  return made && python;
}

async function makeEnvironment(
  otherwise: string,
  choosePackages: (folder: string) => Promise<string[]>,
  { parent = tmpdir(), hasPip = false } = {},
): Promise<PythonEnvironment | undefined> {
  const folder = await mkdtemp(join(parent, 'intent-gate-python-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  const python = join(folder, 'bin', 'python');
  const options = ['--disable-pip-version-check', '--no-input', 'install', '--quiet', '--no-compile'];
  try {
    await run('python3', ['-m', 'venv', '--without-pip', folder]);
    const packages = await choosePackages(folder);
    const install = (program: string, args: string[]) =>
      run(program, ['-m', 'pip', ...args, ...options, ...packages], { timeout: 120_000 });
    // to install pip into it takes longer than to use the one that is there
    const canUseOurs = !hasPip && (await run('python3', ['-m', 'pip', '--python', python, '--version']).catch(() => undefined));
    if (!canUseOurs) await run(python, ['-m', 'ensurepip', '--default-pip']);
    await (canUseOurs ? install('python3', ['--python', python]) : install(python, []));
    return { folder, remove };
  } catch (error) {
    console.warn(`${otherwise}: ${(error as Error).message.split('\n').slice(0, 3).join(' ')}`);
    await remove();
    return undefined;
  }
}
