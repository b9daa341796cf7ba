/**
 * `npm run without -- <feature> ...`, `-- --all` or `-- --next` (another one after each commit): deletes each feature in a copy of the project, and
 * checks that the rest type-checks, synthesizes and passes its tests. Two features are tried at a time.
 *
 * Left out is what tries the whole product (`*.check.ts`, benchmarks, the pages of the documentation) and every file of `test/`, except
 * `test/support/`, that imports the deleted feature. Of the other tests those run that import a socket, because a test that
 * reaches neither a socket nor a deleted file runs the same code as before, and those that read the tree.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

const sockets = [
  'schemas/features.ts',
  'functions/features.ts',
  'lib/features.ts',
  'lib/feature-stacks.ts',
  'registry/features.ts',
  'bin/cli/features.ts',
  'console/app/features.ts',
  'console/app/admin/features.ts',
  'test/support/features.ts',
  'test/world/scenarios.ts',
];

/** Folders in which a file of the feature's name is not part of it: the clients keep theirs. */
const kept = ['client', 'docs', 'samples'];

/** Tests of what describes the whole product: the documentation, and the catalogue of scenarios. */
const ofPages = /\btest\/(docs|operations|world\/catalogue)\.test\.ts$/;

/** A file of tests that reads what lies in the project, instead of importing it. */
const readsTree = /globSync|readdirSync|import\(`|openapi\.json/;

const features = readdirSync('functions', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'core')
  .map(({ name }) => name);

const list = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' });
const files = list.stdout
  .trim()
  .split('\n')
  .filter((file) => existsSync(file));
const startMs = Date.now();

/** Features that are built on another one, and are deleted with it. */
const builtOn: Record<string, readonly string[]> = { 'sign-in': ['connections'] };

/** A feature and those that are built on it. */
const withBuiltOn = (feature: string): string[] => [feature, ...(builtOn[feature] ?? [])];

const isOf = (feature: string, file: string): boolean =>
  !kept.includes(file.split('/')[0] ?? '') &&
  withBuiltOn(feature).some((name) => dirname(file).split('/').includes(name) || basename(file).split('.')[0] === name);

/** The files of the project that a file imports. */
const importsOf = (file: string): string[] =>
  [...readFileSync(file, 'utf8').matchAll(/(?:from|import\(?)\s*'(\.[^']+)'/g)].map(([, target = '']) => join(dirname(file), target));

/** Tests outside `test/support/` that import the feature or one another. */
function testsOf(feature: string): string[] {
  const tests = files.filter((file) => /^test\/(?!support\/).*\.ts$/.test(file) && !isOf(feature, file));
  const imports = new Map(tests.map((file) => [file, importsOf(file)]));
  const found = new Set<string>();
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const [file, targets] of imports) if (targets.some((target) => isOf(feature, target) || found.has(target))) found.add(file);
  }
  return [...found];
}

/** The socket without the imports from the feature's folders, and without the names that they import. */
function unplug(socket: string, feature: string): string {
  return withBuiltOn(feature).reduce(unplugOne, socket);
}

function unplugOne(socket: string, feature: string): string {
  const imports = new RegExp(`^import (?:(?:type )?\\{([^}]*)\\} from )?'[^']*/${feature}(?:/[^']*|\\.tsx?)';\\n`, 'gm');
  const names = [...socket.matchAll(imports)].flatMap(([, all = '']) => all.split(',').map((name) => name.trim()));
  return names
    .filter((name) => name !== '')
    .reduce(
      (text, name) => text.replaceAll(new RegExp(`(?:\\.\\.\\.)?(?<![-/\\w])${name}(?![-\\w]),?\\s?`, 'g'), ''),
      socket.replaceAll(imports, ''),
    );
}

/** A copy of the project with these files, which type checks with {@link checkTypes}. */
function copyProject(name: string, some: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), `without-${name}-`));
  for (const file of some) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(file, join(folder, file));
  }
  const tsconfig = {
    extends: './tsconfig.json',
    exclude: ['console/app', 'console/in-browser', 'node_modules', '**/*.check.ts', 'test/docs.test.ts', 'tools/bench.ts', 'tools/bench'],
  };
  writeFileSync(join(folder, 'tsconfig.without.json'), JSON.stringify(tsconfig));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return folder;
}

/** The scripts that write documents, without those of the deleted feature. */
const listWriters = (folder: string): string[] =>
  ['tools/documents/openapi.ts', 'tools/permissions.ts', 'tools/props.ts'].filter((program) => existsSync(join(folder, program)));

const projects = { 'tsconfig.without.json': 'project.tsbuildinfo', console: 'console.tsbuildinfo' };

/** Runs a command, and shows the end of what it prints if it fails. */
function run(folder: string, command: string, ...words: string[]): Promise<boolean> {
  return new Promise((done) => {
    const child = spawn(command, words, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    let printed = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (printed += text));
    child.on('close', (code) => {
      if (code !== 0) console.error(printed.split('\n').slice(-200).join('\n'));
      done(code === 0);
    });
  });
}

async function inTurn(steps: readonly (() => Promise<boolean>)[]): Promise<boolean> {
  for (const step of steps) if (!(await step())) return false;
  return true;
}

const checkTypes = (folder: string): Promise<boolean> =>
  inTurn(
    Object.entries(projects).map(
      ([project, info]) =>
        () =>
          run(folder, 'npx', 'tsc', '-p', project, '--incremental', '--tsBuildInfoFile', info),
    ),
  );

const say = (text: string): void => console.log(`${String(Math.round((Date.now() - startMs) / 1_000)).padStart(4)} s  ${text}`);

/** @param checked - a copy of the whole project whose types have been checked, so that only differences are checked again */
async function tryWithout(feature: string, checked: string | undefined): Promise<boolean> {
  const leftOut = testsOf(feature);
  const rest = files.filter((file) => !isOf(feature, file) && !leftOut.includes(file));
  const folder = copyProject(feature, rest);
  try {
    for (const socket of sockets) writeFileSync(join(folder, socket), unplug(readFileSync(socket, 'utf8'), feature));
    if (checked !== undefined) for (const info of Object.values(projects)) cpSync(join(checked, info), join(folder, info));
    say(`without ${feature}: ${leftOut.length} files of tests are left out, because they import it`);
    const readers = rest.filter((file) => /^test\/.*\.ts$/.test(file) && !ofPages.test(file) && readsTree.test(readFileSync(file, 'utf8')));
    const tests = ['--findRelatedTests', ...sockets, 'bin/gate-settings.ts', ...readers];
    const steps: [string, () => Promise<boolean>][] = [
      ['types', () => checkTypes(folder)],
      ['documents', () => inTurn(listWriters(folder).map((program) => () => run(folder, 'node', 'bin/run.js', program)))],
      ['synthesis', () => run(folder, 'npx', 'cdk', 'synth', '--quiet')],
      [
        'tests',
        () =>
          run(
            folder,
            'npm',
            'test',
            '--',
            ...tests,
            '--maxWorkers',
            checked === undefined ? '100%' : '1',
            '--testPathIgnorePatterns',
            ofPages.source,
          ),
      ],
    ];
    for (const [name, step] of steps) {
      say(`without ${feature}: ${name}`);
      if (await step()) continue;
      say(`without ${feature}: ${name} FAILED`);
      return false;
    }
    say(`without ${feature}: all green`);
    return true;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Tries features two at a time. */
async function tryAll(chosen: string[]): Promise<boolean> {
  const checked = copyProject('nothing', files);
  try {
    say('types of the whole project');
    if (!(await checkTypes(checked))) return false;
    const waiting = [...chosen];
    let isGreen = true;
    const takeTurns = async () => {
      for (let feature = waiting.shift(); feature; feature = waiting.shift()) isGreen = (await tryWithout(feature, checked)) && isGreen;
    };
    await Promise.all([takeTurns(), takeTurns()]);
    return isGreen;
  } finally {
    rmSync(checked, { recursive: true });
  }
}

const words = process.argv.slice(2);
const commits = Number(spawnSync('git', ['rev-list', '--count', 'HEAD'], { encoding: 'utf8' }).stdout);
const turn = features.slice(commits % features.length).slice(0, 1);
const chosen = words.includes('--all') ? features : words.flatMap((word) => (word === '--next' ? turn : [word]));
const unknown = chosen.filter((name) => !features.includes(name));
const [first] = chosen;
if (first === undefined || unknown.length > 0) {
  console.error(`Name features, or --all: ${features.join(', ')}.`);
  process.exit(2);
}
process.exitCode = (await (chosen.length === 1 ? tryWithout(first, undefined) : tryAll(chosen))) ? 0 : 1;
