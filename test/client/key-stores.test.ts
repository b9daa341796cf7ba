import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { privateFolder } from '../../bin/cli/session.ts';
import { openFileAgreementStore } from '../../client/file-agreement-store.ts';
import { openFileKeyStore } from '../../client/file-key-store.ts';
import { publicJwk } from '../../client/jws.ts';
import { type KeyStore, obtainKey, openMemoryKeyStore } from '../../client/keys.ts';
import { makeFolder } from '../support/folder.ts';

const folder = makeFolder();
let count = 0;

const stores: [string, () => KeyStore][] = [
  ['in memory', openMemoryKeyStore],
  ['in files', () => openFileKeyStore(join(folder, `${count++}`, 'keys'))],
];

describe.each(stores)('a key store %s', (_, open) => {
  test('a key store gives an agent the same key again, and another agent a different one', async () => {
    const store = open();
    const [first, again, other] = [await obtainKey('one', store), await obtainKey('one', store), await obtainKey('two', store)];
    expect(await publicJwk(again)).toEqual(await publicJwk(first));
    expect(await publicJwk(other)).not.toEqual(await publicJwk(first));
  });

  test('a key store keeps the first of several keys created at the same time', async () => {
    const store = open();
    const pairs = await Promise.all(Array.from({ length: 5 }, () => obtainKey('one', store)));
    const kept = await publicJwk(await obtainKey('one', store));
    expect(await Promise.all(pairs.map(publicJwk))).toEqual(Array.from({ length: 5 }, () => kept));
  });

  test('a key store gives keys that cannot be copied', async () => {
    const { privateKey } = await obtainKey('one', open());
    expect(privateKey.extractable).toBe(false);
    await expect(crypto.subtle.exportKey('jwk', privateKey)).rejects.toThrow();
  });
});

test('a file that others can read is refused, and so is one that is damaged', async () => {
  const place = join(folder, 'open');
  const store = openFileKeyStore(place);
  await obtainKey('one', store);
  const [path = ''] = readdirSync(place).map((name) => join(place, name));
  chmodSync(path, 0o644);
  await expect(store.load('one')).rejects.toMatchObject({
    code: 'UNSAFE_FILE',
    message: `Others can read ${path}, which contains secrets. Make it private: chmod 600 ${path}`,
  });
  chmodSync(path, 0o600);
  chmodSync(place, 0o755);
  await expect(store.load('one')).rejects.toMatchObject({
    code: 'UNSAFE_FILE',
    message: `Others can read ${place}, which contains secrets. Make it private: chmod 700 ${place}`,
  });
  chmodSync(place, 0o700);
  for (const damaged of ['{', 'null', '[]', '{}', '{"jwk":{}}', '{"jwk":{"kty":"EC","crv":"P-256","x":"A","y":"A","d":"A"}}']) {
    writeFileSync(path, damaged);
    await expect(store.load('one')).rejects.toMatchObject({
      code: 'DAMAGED_FILE',
      message: `The file ${path} is damaged. Remove it; a new one is created.`,
    });
  }
});

test('agreements are kept in files, one for each gate', async () => {
  const place = join(folder, 'agreements');
  const store = openFileAgreementStore(place);
  const agreement = { digest: 'd', pat: { agentId: 'one', text: 'a.b.c', renewAtMs: 1 } };
  expect(await store.load('https://a.example')).toBeUndefined();
  await store.save('https://a.example', { digest: 'earlier' });
  await store.save('https://a.example', agreement);
  await store.save('https://b.example', { digest: 'other' });
  expect(await store.load('https://a.example')).toMatchObject(agreement);
  expect(await store.load('https://b.example')).toMatchObject({ digest: 'other' });
  const files = readdirSync(place);
  expect(files).toHaveLength(2);
  for (const file of files) expect(statSync(join(place, file)).mode & 0o777).toBe(0o600);
});

test('only their owner can read the files, and no other file is left behind', async () => {
  const place = join(folder, 'own', 'keys');
  await obtainKey('../../somewhere else', openFileKeyStore(place));
  const [file = '', ...more] = readdirSync(place);
  expect(more).toEqual([]);
  expect(file).toMatch(/^[0-9a-f]{32}\.json$/);
  expect(statSync(place).mode & 0o777).toBe(0o700);
  expect(statSync(join(place, file)).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(join(place, file), 'utf8')).agent_id).toBe('../../somewhere else');
});

test.each([
  ['read', 'a folder', (path: string) => mkdirSync(path, { recursive: true }), 'EISDIR'],
  ['written', 'a folder that is a file', () => {}, 'ENOTDIR'],
] as const)('a key or agreement that cannot be %s is an error that names the file: %s', async (done, _, prepare, code) => {
  const blocked = join(folder, `${count++}.file`);
  writeFileSync(blocked, '');
  const place = done === 'read' ? join(folder, `${count++}`) : join(blocked, 'keys');
  const file = { keys: join(place, `${createHash('sha256').update('one').digest('hex').slice(0, 32)}.json`) };
  prepare(file.keys);
  await expect(obtainKey('one', openFileKeyStore(place))).rejects.toMatchObject({
    code: 'UNUSABLE_FILE',
    message: `The file ${file.keys} cannot be read (${code}).`,
  });
  if (done === 'written')
    await expect(openFileAgreementStore(place).save('https://gate.example', { digest: 'x' })).rejects.toMatchObject({
      code: 'UNUSABLE_FILE',
      message: expect.stringMatching(/^The file .*\.json cannot be written \(ENOTDIR\)\.$/),
    });
});

test('without a home folder in the environment, private files are not in the working directory', () => {
  const { HOME, XDG_CONFIG_HOME, INTENT_GATE_HOME } = process.env;
  Object.assign(process.env, { HOME: '' });
  for (const name of ['XDG_CONFIG_HOME', 'INTENT_GATE_HOME']) delete process.env[name];
  expect(isAbsolute(privateFolder())).toBe(true);
  for (const [name, value] of Object.entries({ HOME, XDG_CONFIG_HOME, INTENT_GATE_HOME }))
    if (value !== undefined) process.env[name] = value;
});
