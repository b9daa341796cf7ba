import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { buildSync } from 'esbuild';
import { LambdaFailure, type LambdaOptions, LambdaThrottled, LambdaTimeout, openLambdas } from '../../../bin/local/lambda.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0)) await clean();
});

interface Opened {
  /** @returns the result of the function */
  invoke(event: unknown, name?: string): Promise<unknown>;
  scratch: string;
}

/** Functions with this body, under the given names; `threadId` and `event` are in scope. */
function open(body: string, { timeoutMs = 5_000, ...options }: LambdaOptions & { timeoutMs?: number } = {}): Opened {
  const folder = mkdtempSync(join(tmpdir(), 'lambda-'));
  const scratch = join(folder, 'scratch');
  mkdirSync(scratch);
  writeFileSync(
    join(folder, 'index.cjs'),
    `const { threadId } = require('node:worker_threads'); let count = 0; exports.handler = async (event, context) => { ${body} };`,
  );
  const definition = { folder, handler: 'index.handler', environment: { COLOUR: 'green' }, timeoutMs, memoryMb: 128 };
  const lambdas = openLambdas({ scratch, ...options });
  cleanups.push(
    () => lambdas.stop(),
    () => rmSync(folder, { recursive: true }),
  );
  return {
    invoke: async (event, name = 'example') => JSON.parse((await lambdas.invoke({ ...definition, name }, event)) ?? 'null'),
    scratch,
  };
}

describe('openLambdas', () => {
  test('a function gets its event, context and own environment only', async () => {
    const lambda = open('return { event, ...context, left: context.getRemainingTimeInMillis(), env: { ...process.env } }');
    expect(await lambda.invoke({ a: [1] })).toEqual({
      event: { a: [1] },
      awsRequestId: expect.stringMatching(/^[0-9a-f-]{36}$/),
      functionName: 'example',
      functionVersion: '$LATEST',
      invokedFunctionArn: 'arn:aws:lambda:eu-west-1:000000000000:function:example',
      memoryLimitInMB: '128',
      callbackWaitsForEmptyEventLoop: true,
      left: expect.any(Number),
      env: { COLOUR: 'green', AWS_LAMBDA_FUNCTION_NAME: 'example', TMPDIR: expect.stringContaining('environment-') },
    });
  });

  test('a function serves one invocation at a time in each of a bounded number of environments', async () => {
    const lambda = open(
      `const isAlone = !globalThis.busy; globalThis.busy = true;
       await new Promise((resolve) => setTimeout(resolve, 60)); globalThis.busy = false; return { isAlone, threadId };`,
      { maxOfOne: 2 },
    );
    const results = (await Promise.all(Array.from({ length: 8 }, () => lambda.invoke({})))) as { isAlone: boolean; threadId: number }[];
    expect(results.every(({ isAlone }) => isAlone)).toBe(true);
    expect(new Set(results.map(({ threadId }) => threadId)).size).toBe(2);
  });

  test('a timeout ends the environment, and waiting invocations get another one', async () => {
    const lambda = open('if (event.hang) for (;;); return threadId', { timeoutMs: 3_000, maxOfOne: 1 });
    await lambda.invoke({});
    const [hung, waiting] = await Promise.allSettled([lambda.invoke({ hang: true }), lambda.invoke({})]);
    expect(hung).toMatchObject({ status: 'rejected', reason: new LambdaTimeout('example ran longer than 3000 ms') });
    expect(waiting.status).toBe('fulfilled');
  });

  test.each([
    { what: 'throws', body: 'throw new Error("no")', message: 'example threw', logged: 'Error: no' },
    {
      what: 'dies of an uncaught exception',
      body: 'setTimeout(() => { throw new Error("later") }); await new Promise(() => {})',
      message: 'an environment of example ended',
      logged: 'Error: later',
    },
    { what: 'exits', body: 'process.exit(3)', message: 'an environment of example ended', logged: undefined },
  ])('a function that $what fails only this invocation, and its log says why', async ({ body, message, logged }) => {
    const lines: string[] = [];
    const lambda = open(`if (event.fail) { ${body} } return 'fine'`, { maxOfOne: 1, onLog: (line) => lines.push(line) });
    await expect(lambda.invoke({ fail: true })).rejects.toEqual(new LambdaFailure(message));
    expect(await lambda.invoke({})).toBe('fine');
    if (logged) expect(lines.join('\n')).toContain(logged);
  });

  test('the log names lines of the sources if the bundle has a source map', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sources-'));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const source = join(folder, 'fails.ts');
    writeFileSync(
      source,
      'interface Event { input: string }\n\nexport const handler = async ({ input }: Event) => {\n  throw new TypeError(input);\n};\n',
    );
    const loggedWith = async (sourcemap: boolean) => {
      const lines: string[] = [];
      const lambdas = openLambdas({ onLog: (line) => lines.push(line) });
      cleanups.push(lambdas.stop);
      const outdir = join(folder, String(sourcemap));
      buildSync({
        entryPoints: { index: source },
        outdir,
        outExtension: { '.js': '.cjs' },
        bundle: true,
        minify: true,
        platform: 'node',
        sourcemap,
      });
      const definition = { name: 'fails', folder: outdir, handler: 'index.handler', environment: {}, timeoutMs: 5_000, memoryMb: 128 };
      await expect(lambdas.invoke(definition, { input: 'no' })).rejects.toEqual(new LambdaFailure('fails threw'));
      return lines.join('\n');
    };
    expect(await loggedWith(true)).toMatch(/^TypeError: no\n +at .*\(?fails\.ts:4:\d+/);
    expect(await loggedWith(false)).toMatch(/^TypeError: no\n +at .*index\.cjs:1:\d+/);
  });

  test('a function that cannot be loaded fails every invocation', async () => {
    const lambda = open('}; throw new TypeError("missing environment variables: TABLE_NAME"); {');
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(lambda.invoke({})).rejects.toEqual(new LambdaFailure('an environment of example ended'));
    }
  });

  const later = 'await new Promise((resolve) => setTimeout(resolve, 100)); return threadId';

  test('the environment that was idle longest makes room for another function', async () => {
    const lambda = open('return ++count', { maxOfAll: 2 });
    const counts: unknown[] = [];
    for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) counts.push(await lambda.invoke({}, name));
    expect(counts).toEqual([1, 1, 2, 1, 3, 1]);
  });

  test('idle environments of other functions make room for parallel invocations of one', async () => {
    const lambda = open(later.replace('100', '300'), { maxOfAll: 3 });
    for (const name of ['b', 'c']) await lambda.invoke({}, name);
    const threads = await Promise.all([1, 2, 3].map(() => lambda.invoke({}, 'a')));
    expect(new Set(threads).size).toBeGreaterThan(1);
  });

  test.each([
    ['short', 5, 2],
    ['long', 600, 3],
  ])('a third environment starts only if invocations wait: %s ones', async (_, ms, most) => {
    const lambda = open(later.replace('100', String(ms)));
    for (let warmed = 0; warmed < 2; warmed++) await Promise.all([lambda.invoke({}), lambda.invoke({})]);
    const threads = await Promise.all([1, 2, 3].map(() => lambda.invoke({})));
    expect(new Set(threads).size).toBe(most);
  });

  test('a third environment starts if an invocation has waited for a second, even if all are short', async () => {
    const lambda = open(later.replace('100', '150'));
    const threads = await Promise.all(Array.from({ length: 24 }, () => lambda.invoke({})));
    expect(new Set(threads).size).toBeGreaterThan(2);
  });

  test('all environments of a function but one end soon', async () => {
    const lambda = open(later, { spareMs: 1_000 });
    await Promise.all([lambda.invoke({}), lambda.invoke({})]);
    expect(readdirSync(lambda.scratch).length).toBe(2);
    while (readdirSync(lambda.scratch).length > 1) await new Promise((resolve) => setTimeout(resolve, 20));
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(readdirSync(lambda.scratch).length).toBe(1);
  });

  test('an environment that cannot be started fails only its invocation', async () => {
    const lambda = open('return 1', { maxOfAll: 1, maxOfOne: 1 });
    rmSync(lambda.scratch, { recursive: true });
    for (let attempt = 0; attempt < 2; attempt++) await expect(lambda.invoke({})).rejects.toMatchObject({ code: 'ENOENT' });
    mkdirSync(lambda.scratch);
    expect(await lambda.invoke({})).toBe(1);
  });

  test('invocations of all functions are served in order of arrival', async () => {
    const lambda = open('await new Promise((resolve) => setTimeout(resolve, 20)); return ++count', { maxOfAll: 1 });
    const counts = await Promise.all(['a', 'a', 'b', 'a'].map((name) => lambda.invoke({}, name)));
    expect(counts).toEqual([1, 2, 1, 1]);
  });

  test('an invocation that waits too long is refused, and is not run later', async () => {
    const lambda = open(
      'globalThis.runs = (globalThis.runs ?? 0) + 1; await new Promise((resolve) => setTimeout(resolve, 300)); return runs',
      {
        maxOfOne: 1,
        maxWaitMs: 50,
      },
    );
    await lambda.invoke({});
    const settled = await Promise.allSettled([lambda.invoke({}), lambda.invoke({})]);
    expect(settled).toMatchObject([
      { status: 'fulfilled', value: 2 },
      { reason: new LambdaThrottled('no environment of example was free within 50 ms') },
    ]);
    expect(await lambda.invoke({})).toBe(3);
  });

  test('an environment that is idle ends, and its temporary folder with it', async () => {
    const lambda = open('(await import("node:fs")).writeFileSync(process.env.TMPDIR + "/left", "x"); return ++count', { idleMs: 50 });
    expect(await lambda.invoke({})).toBe(1);
    expect(readdirSync(lambda.scratch).length).toBe(1);
    while (readdirSync(lambda.scratch).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await lambda.invoke({})).toBe(1);
  });
});
