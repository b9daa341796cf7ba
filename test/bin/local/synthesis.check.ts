import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { digestCode, digestSources, localContext, markUsed, synthesize } from '../../../bin/local/synthesis.ts';
import { makeFolder } from '../../support/folder.ts';

const root = makeFolder();

const write = (path: string, content: string) => {
  mkdirSync(join(root, path, '..'), { recursive: true });
  writeFileSync(join(root, path), content);
};

beforeEach(() => {
  rmSync(root, { recursive: true });
  write('cdk.json', '{"context":{"stage":"test"}}');
  write('policy.json', '{}');
  write('functions/core/a.ts', 'one');
  write('console/reference/page.css', 'two');
  write('package-lock.json', '{}');
});

const digest = (context: Record<string, unknown> = {}) => digestSources(context, root);

describe('the digest of the sources', () => {
  test.each<[string, () => void]>([
    ['a function', () => write('functions/core/a.ts', 'changed')],
    ['a file other than TypeScript', () => write('console/reference/page.css', 'changed')],
    ['an additional file', () => write('schemas/new.ts', '')],
    ['a removed file', () => rmSync(join(root, 'console/reference/page.css'))],
    ['another name', () => [rmSync(join(root, 'functions/core/a.ts')), write('functions/core/b.ts', 'one')]],
    ['text that has moved to the next file', () => [write('functions/core/a.ts', 'on'), write('console/reference/page.css', 'etwo')]],
    ['the lock file', () => write('package-lock.json', '{"a":1}')],
    ['what npm has installed', () => write('node_modules/.package-lock.json', '{}')],
    ['the settings in cdk.json', () => write('cdk.json', '{"context":{"stage":"other"}}')],
    ['the policy', () => write('policy.json', '{"uid":"x"}')],
  ])('the digest of the sources changes with %s', (_, change) => {
    const before = digest();
    expect(digest()).toBe(before);
    change();
    expect(digest()).not.toBe(before);
  });

  test('the digest of the sources changes with settings and the content of the policy, not with its path or with unread files', () => {
    write('elsewhere/policy.json', '{}');
    write('README.md', 'words');
    expect(digest({ policyFile: join(root, 'elsewhere/policy.json') })).toBe(digest());
    write('elsewhere/policy.json', '{"uid":"x"}');
    expect(digest({ policyFile: join(root, 'elsewhere/policy.json') })).not.toBe(digest());
    expect(digest({ stage: 'other' })).not.toBe(digest());
  });
});

test('the digest of bundles changes with every file that is read, but not with settings and policies', () => {
  const before = digestCode(root);
  write('policy.json', '{"uid":"x"}');
  expect(digestCode(root)).toBe(before);
  write('functions/core/a.ts', 'changed');
  expect(digestCode(root)).not.toBe(before);
});

describe('synthesize', () => {
  test('a synthesis with refused settings keeps nothing, and releases the lock', async () => {
    await expect(synthesize({ stage: 'Dev' })).rejects.toThrow(/^The settings are not valid:\n {2}stage/);
    // the settings of the local stack, which other tests have already synthesized
    const context = { ...localContext, policyFile: 'bin/local/policy.json' };
    const [one, other] = await Promise.all([synthesize(context), synthesize(context)]);
    expect(one).toBe(other);
    expect(markUsed(one)).toBe(true);
  }, 180_000);

  test('a synthesis gives up when it is aborted', async () => {
    await expect(synthesize({ stage: 'given-up' }, AbortSignal.timeout(50))).rejects.toThrow();
  });
});
