/**
 * `npm run without -- <feature> ...`, `-- --all` or `-- --next` (another one after each commit): deletes each feature in a copy of the project, and
 * checks that the rest type-checks, synthesizes and passes its tests. Type checks and tests leave out what tries the whole product: `*.check.ts`, benchmarks and the pages of the
 * documentation.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

const sockets = [
  'functions/features.ts',
  'lib/features.ts',
  'lib/feature-stacks.ts',
  'bin/cli/features.ts',
  'console/app/features.ts',
  'console/app/admin/features.ts',
  'test/support/features.ts',
  'test/world/scenarios.ts',
];

/** Folders in which a file of the feature's name is not part of it: the clients keep theirs. */
const kept = ['client', 'docs', 'samples'];

const features = readdirSync('functions', { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && entry.name !== 'core')
  .map(({ name }) => name);

const isOf = (feature: string, file: string): boolean =>
  !kept.includes(file.split('/')[0] ?? '') && (dirname(file).split('/').includes(feature) || basename(file).split('.')[0] === feature);

/** The socket without the imports from the feature's folders, and without the names that they import. */
function unplug(socket: string, feature: string): string {
  const imports = new RegExp(`^import (?:(?:type )?\\{([^}]*)\\} from )?'[^']*/${feature}/[^']*';\\n`, 'gm');
  const names = [...socket.matchAll(imports)].flatMap(([, list = '']) => list.split(',').map((name) => name.trim()));
  return names
    .filter((name) => name !== '')
    .reduce((text, name) => text.replaceAll(new RegExp(`(?:\\.\\.\\.)?\\b${name}\\b,?\\s?`, 'g'), ''), socket.replaceAll(imports, ''));
}

function run(folder: string, command: string, ...words: string[]): boolean {
  const { status, stdout, stderr } = spawnSync(command, words, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 28 });
  if (status !== 0) console.error(`${stdout}${stderr}`.split('\n').slice(-200).join('\n'));
  return status === 0;
}

/** The scripts that write documents, without those of the deleted feature. */
const listWriters = (folder: string): string[] =>
  Object.entries({ openapi: 'documents/openapi.ts', permissions: 'permissions.ts', props: 'props.ts' })
    .filter(([, program]) => existsSync(join(folder, 'tools', program)))
    .map(([name]) => name);

function tryWithout(feature: string): boolean {
  const folder = mkdtempSync(join(tmpdir(), `without-${feature}-`));
  const listed = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
    .stdout.trim()
    .split('\n');
  try {
    for (const file of listed.filter((name) => !isOf(feature, name))) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      cpSync(file, join(folder, file));
    }
    for (const socket of sockets) writeFileSync(join(folder, socket), unplug(readFileSync(socket, 'utf8'), feature));
    const tsconfig = {
      extends: './tsconfig.json',
      exclude: ['console/app', 'console/in-browser', 'node_modules', '**/*.check.ts', 'test/docs.test.ts', 'tools/bench.ts', 'tools/bench'],
    };
    writeFileSync(join(folder, 'tsconfig.without.json'), JSON.stringify(tsconfig));
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    const steps: [string, () => boolean][] = [
      ['types', () => run(folder, 'npx', 'tsc', '-p', 'tsconfig.without.json') && run(folder, 'npx', 'tsc', '-p', 'console')],
      ['documents', () => listWriters(folder).every((name) => run(folder, 'npm', 'run', name))],
      ['synthesis', () => run(folder, 'npx', 'cdk', 'synth', '--quiet')],
      ['tests', () => run(folder, 'npm', 'test', '--', '--testPathIgnorePatterns', 'test/(docs|operations|world/catalogue)\\.test\\.ts')],
    ];
    const failed = steps.find(([name, step]) => {
      console.log(`without ${feature}: ${name}`);
      return !step();
    });
    console.log(failed ? `without ${feature}: ${failed[0]} FAILED` : `without ${feature}: all green`);
    return failed === undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const words = process.argv.slice(2);
const commits = Number(spawnSync('git', ['rev-list', '--count', 'HEAD'], { encoding: 'utf8' }).stdout);
const turn = features.slice(commits % features.length).slice(0, 1);
const chosen = words.includes('--all') ? features : words.flatMap((word) => (word === '--next' ? turn : [word]));
const unknown = chosen.filter((name) => !features.includes(name));
if (chosen.length === 0 || unknown.length > 0) {
  console.error(`Name features, or --all: ${features.join(', ')}.`);
  process.exit(2);
}
process.exitCode = chosen.filter((feature) => !tryWithout(feature)).length > 0 ? 1 : 0;
