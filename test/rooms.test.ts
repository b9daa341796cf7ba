import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';

/** Every import of some files: the file, and what it imports (a path of the project, or a package). */
const importsOf = (files: string) =>
  globSync(files, { exclude: ['**/node_modules/**'] }).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*'([^']+)'/g)].map(([, target = '']) => ({
      file,
      target: target.startsWith('.') ? join(dirname(file), target) : target,
    })),
  );

const imports = importsOf('{bin,client,console,functions,lib,registry,schemas,tools}/**/*.{js,ts,tsx}');

const isOwn = (target: string) => /\.tsx?$/.test(target);
const within = (...rooms: string[]) => new RegExp(`^(${rooms.join('|')})`);

/** The base of everything in a Lambda, which each other room of `functions/core` may import. */
const ground = ['aws', 'json', 'runtime'].map((room) => `functions/core/${room}/`);

/** The rooms of `functions/core`, and which other rooms each may import besides itself, the base and the schemas. */
const coreRooms: Record<string, readonly string[]> = {
  http: [],
  policy: ['parameters'],
  parameters: [],
  credentials: [],
  deployment: [],
  table: [],
  activity: ['admin', 'policy', 'registry', 'table'],
  registry: ['admin', 'policy', 'table'],
  admin: ['http'],
  search: ['http', 'policy', 'registry'],
  'search/sqlite': ['registry', 'search'],
  limit: ['policy', 'table'],
  relay: ['credentials', 'parameters'],
  pat: ['activity', 'http', 'limit', 'policy', 'registry', 'relay', 'table'],
  execution: ['activity', 'admin', 'http', 'limit', 'parameters', 'pat', 'policy', 'registry', 'relay', 'table'],
};

/** The features: each has a folder of this name in `functions/` and, where it needs them, on the other floors. */
const features = readdirSync('functions', { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() && entry.name !== 'core' ? [entry.name] : [],
);

/** The sockets, the only files outside a feature that may import it. */
const sockets = [
  'schemas/features.ts',
  'functions/features.ts',
  'lib/features.ts',
  'lib/feature-stacks.ts',
  'registry/features.ts',
  'bin/cli/features.ts',
  'console/app/features.ts',
  'console/app/admin/features.ts',
];

/** The feature that a file belongs to. */
const featureOf = (file: string): string | undefined =>
  features.find((name) => !/^(client|tools\/bench)\//.test(file) && file.split('/').some((part) => part.replace(/\.tsx?$/, '') === name));

/** Ties to features that no socket has replaced yet. This list only ever gets shorter. */
const uncut: readonly string[] = [];

/** Features that are built on another one, and are deleted with it. */
const builtOn: Record<string, readonly string[]> = { connections: ['sign-in'] };

/** What the files of a room may import from this project. */
const mayImport: [room: RegExp, allowed: RegExp][] = [
  [within('schemas/'), within('schemas/')],
  [within('functions/core/runtime/environment.ts'), /^$/],
  [within('functions/core/runtime/'), within('functions/core/runtime/', 'schemas/')],
  [within('functions/core/(aws|json)/'), within(...ground, 'schemas/')],
  ...Object.entries(coreRooms).map(([room, others]): [RegExp, RegExp] => [
    within(`functions/core/${room}/[a-z-]+\\.ts`),
    within(...ground, 'schemas/', ...[room, ...others].map((other) => `functions/core/${other}/[a-z-]+\\.ts`)),
  ]),
  // one handler may offer what another does, as MCP's tools are endpoints
  [within('functions/'), within('functions/', 'schemas/')],
  [within('client/'), within('client/', 'schemas/', 'functions/core/json/json.ts')],
  [within('registry/'), within('registry/', 'client/', 'functions/', 'schemas/')],
  // what runs in a browser in place of Node's own modules
  [within('console/in-browser/'), /^$/],
  [within('console/'), within('console/', 'registry/', 'client/', 'functions/core/', 'schemas/')],
  // synthesis
  [within('lib/'), within('lib/', 'functions/', 'schemas/')],
  [within('bin/'), within('bin/', 'console/', 'lib/', 'registry/', 'client/', 'functions/core/', 'schemas/')],
  [within('tools/'), within('tools/', 'bin/', 'console/', 'lib/', 'registry/', 'client/', 'functions/', 'schemas/')],
];

/** Packages that belong to one room. */
const belongsTo: [name: RegExp, room: RegExp][] = [
  [/^@aws-sdk\/(client|lib|util)-dynamodb$/, within('functions/core/table/', 'bin/', 'tools/')],
  [/^@aws-sdk\/client-lambda$/, within('functions/core/aws/invoke-function.ts', 'functions/core/deployment/', 'bin/', 'tools/')],
  [/^@aws-sdk\/client-api-gateway$/, within('functions/core/deployment/', 'bin/')],
  [/^@aws-sdk\/client-eventbridge$/, within('functions/approvals/announce.ts')],
  [/^@aws-sdk\/client-kms$/, within('functions/core/aws/kms.ts', 'bin/', 'tools/')],
  [/^@aws-sdk\/client-s3$/, within('functions/core/aws/bucket.ts', 'bin/', 'tools/')],
  [/^@aws-sdk\/client-secrets-manager$/, within('functions/core/credentials/', 'bin/', 'tools/')],
  [
    /^(node:https?|node:net|node:tls|node:dns.*)$/,
    within('functions/core/relay/', 'functions/core/parameters/formats.ts', 'functions/core/aws/idle-connections.ts', 'bin/', 'tools/'),
  ],
  [
    /^(@smithy\/.*|@aws-sdk\/credential-provider-env)$/,
    within('functions/core/aws/aws-client.ts', 'functions/core/aws/signed-request.ts', 'functions/core/table/table.ts'),
  ],
  [/^node:sqlite$/, within('functions/core/search/sqlite/', 'bin/', 'tools/')],
  [/^(aws-cdk-lib|constructs|cdk-nag)(\/.*)?$/, within('lib/', 'bin/app.ts', 'bin/construct.ts')],
  [/^(@middy\/core)$/, within('functions/core/http/')],
];

test('handlers have at most 80 lines, and no file of functions/ more than 300', () => {
  const tooLong = globSync('functions/**/*.ts').filter((file) => {
    const lines = readFileSync(file, 'utf8').split('\n').length - 1;
    return lines > (dirname(file) === 'functions' ? 80 : 300);
  });
  expect(tooLong).toEqual([]);
});

describe('imports', () => {
  test('imports are found', () => {
    expect(imports.length).toBeGreaterThan(300);
  });

  test.each(mayImport.map(([room, allowed]) => ({ room, allowed })))('imports of $room stay within $allowed', ({ room, allowed }) => {
    const strays = imports.filter(
      ({ file, target }) =>
        mayImport.find(([one]) => one.test(file))?.[0] === room &&
        isOwn(target) &&
        featureOf(target) === undefined &&
        !allowed.test(target),
    );
    expect(strays).toEqual([]);
  });

  test('imports of a feature are in its own folders, the sockets and the benchmarks only', () => {
    const strays = imports.filter(({ file, target }) => {
      const feature = featureOf(target);
      const own = featureOf(file) ?? '';
      const isAllowed = own === feature || builtOn[own]?.includes(feature ?? '');
      return feature !== undefined && !isAllowed && !sockets.includes(file) && !file.startsWith('tools/bench/');
    });
    expect(strays.map(({ file, target }) => `${file} > ${target}`).sort()).toEqual(uncut);
  });

  test('imports of a feature by what tests share are in its own folders and the socket only', () => {
    const strays = importsOf('test/support/**/*.ts').filter(({ file, target }) => {
      const feature = featureOf(target);
      const isAllowed = [feature, ...Object.keys(builtOn).filter((one) => builtOn[one]?.includes(feature ?? ''))];
      return feature !== undefined && !isAllowed.some((one) => file.includes(`/${one}/`)) && file !== 'test/support/features.ts';
    });
    expect(strays).toEqual([]);
  });

  test.each(belongsTo.map(([name, room]) => ({ name, room })))('imports of $name are only in $room', ({ name, room }) => {
    expect(imports.filter(({ file, target }) => name.test(target) && !room.test(file))).toEqual([]);
  });

  test('imports lead from every room of functions/core only to rooms that are listed here', () => {
    const rooms = globSync('functions/core/**/*.ts').map((path) => dirname(path).replace('functions/core/', ''));
    expect([...new Set(rooms)].sort()).toEqual(['aws', 'json', 'runtime', ...Object.keys(coreRooms)].sort());
  });

  test('imports form no cycle between files', () => {
    expect(circlesAmong((file) => file)).toEqual([]);
  });

  test('imports form no cycle between the rooms and features of functions/', () => {
    // handlers that nothing imports lead nowhere
    const imported = new Set(imports.map(({ target }) => target));
    const roomOf = (file: string) => (imported.has(file) ? /^functions\/(?:core\/)?(.+)\/[^/]+$/.exec(file)?.[1] : undefined) ?? file;
    expect(circlesAmong(roomOf)).toEqual([]);
  });
});

/** Every cycle of imports between the places to which `placeOf` assigns files, each as the places on its path. */
function circlesAmong(placeOf: (file: string) => string): string[][] {
  const arrows = new Map<string, Set<string>>();
  for (const { file, target } of imports) {
    const [from, to] = [placeOf(file), placeOf(target)];
    if (isOwn(target) && from !== to && !uncut.includes(`${file} > ${target}`)) arrows.set(from, (arrows.get(from) ?? new Set()).add(to));
  }
  const circles: string[][] = [];
  const isDone = new Set<string>();
  const follow = (place: string, way: string[]): void => {
    if (way.includes(place)) {
      circles.push([...way.slice(way.indexOf(place)), place]);
      return;
    }
    if (isDone.has(place)) return;
    for (const next of arrows.get(place) ?? []) follow(next, [...way, place]);
    isDone.add(place);
  };
  for (const place of arrows.keys()) follow(place, []);
  return circles;
}
