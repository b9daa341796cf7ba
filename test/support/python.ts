import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

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

/** The programs of an environment with the Python client as pip installs it; nothing, with a warning, if this machine cannot make one. */
export const installPythonClient = (): Promise<string | undefined> => {
  const sources = globSync('client/python/**/*.{py,toml,typed}').sort();
  const state = sources.map((file) => file + readFileSync(file, 'utf8')).join();
  return install([resolve('client/python')], 'The Python client is not tested', state);
};

/**
 * The Python of an environment with packages; nothing, with a warning, if this machine cannot make one.
 * @param packages - as `pip install` takes them
 */
export async function installTools(packages: string[], otherwise: string): Promise<string | undefined> {
  const programs = await install(packages, otherwise);
  return programs && join(programs, 'bin', 'python');
}

/** What the proofs use: tools that share no code with the gate. */
export const installWitnesses = (otherwise: string): Promise<string | undefined> =>
  installTools(['schemathesis==4.32.5', 'PyJWT==2.10.1', 'cryptography'], otherwise);

/**
 * The folder of a virtual environment, which is made once and stays: nothing in it may be changed.
 * @param state - what the packages are, if their names do not say so
 */
async function install(packages: string[], otherwise: string, state = ''): Promise<string | undefined> {
  const digest = createHash('sha256')
    .update(packages.join() + state)
    .digest('hex')
    .slice(0, 16);
  const parent = resolve('node_modules/.cache/intent-gate/python');
  const known = join(parent, digest);
  if (existsSync(join(known, 'bin', 'python'))) return realpath(known);
  await mkdir(parent, { recursive: true });
  const folder = await mkdtemp(`${known}-`);
  const remove = () => rm(folder, { recursive: true, force: true });
  const python = join(folder, 'bin', 'python');
  const options = ['--disable-pip-version-check', '--no-input', 'install', '--quiet', '--no-compile'];
  const pip = (program: string, args: string[]) => run(program, ['-m', 'pip', ...args, ...options, ...packages], { timeout: 120_000 });
  try {
    await run('python3', ['-m', 'venv', '--without-pip', folder]);
    // to install pip into it takes longer than to use the one that is there
    const canUseOurs = await run('python3', ['-m', 'pip', '--python', python, '--version']).catch(() => undefined);
    if (!canUseOurs) await run(python, ['-m', 'ensurepip', '--default-pip']);
    await (canUseOurs ? pip('python3', ['--python', python]) : pip(python, []));
  } catch (error) {
    console.warn(`${otherwise}: ${(error as Error).message.split('\n').slice(0, 3).join(' ')}`);
    await remove();
    return undefined;
  }
  // programs hold the path of their environment, so that it cannot be renamed; another process may have made one meanwhile
  await symlink(basename(folder), known).catch(remove);
  return realpath(known);
}
