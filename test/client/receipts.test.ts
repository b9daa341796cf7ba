import { beforeAll, describe, expect, test } from '@jest/globals';
import { type Checkpoint, type ReceiptFile, verifyCheckpoint, verifyConsistency, verifyReceipt } from '../../client/receipts.ts';
import { readConsistency } from '../../functions/receipts/tiles.ts';
import { buildLog, type EvidenceLog, newEvidenceKeys } from '../support/receipts/evidence-log.ts';

const keys = await newEvidenceKeys();
const foreignKeys = await newEvidenceKeys();
const otherKeys = await newEvidenceKeys('intent-gate/log/other');

const sizes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 15, 16, 17, 31, 33, 255, 256, 257, 300, 511, 512, 513, 600];
const receipts = Array.from({ length: 600 }, () => keys.issue());
const replaced = receipts.with(2, keys.issue('{"name":"Forged"}'));
const [log, rewritten] = (await Promise.all([receipts, replaced].map((some) => buildLog(keys, some, sizes)))) as [EvidenceLog, EvidenceLog];

const text = (hash: Uint8Array) => Buffer.from(hash).toString('base64');
const proofIn = async ({ read }: EvidenceLog, older: number, newer: number) => (await readConsistency(read, older, newer)).map(text);
const pairs = sizes.flatMap((newer) => sizes.filter((older) => older > 0 && older < newer).map((older) => [older, newer] as const));
const open = async (from: EvidenceLog) =>
  Promise.all(sizes.map(async (size) => [size, await verifyCheckpoint(from.checkpoint(size), keys.log_key)] as const));
const opened = new Map([
  [log, new Map(await open(log))],
  [rewritten, new Map(await open(rewritten))],
]);
const at = (from: EvidenceLog, size: number) => opened.get(from)?.get(size) as Checkpoint;
const refusalOf = (promise: Promise<void>) =>
  promise.then(
    () => undefined,
    (error: Error) => error.message,
  );

describe.each(sizes.slice(2))('a consistency proof to size %i', (newer) => {
  const olderSizes = pairs.filter(([, size]) => size === newer).map(([older]) => older);
  const verify = async (proof: string[], older: number, from = log, to = log, end = newer) =>
    refusalOf(verifyConsistency(at(from, older), at(to, end), proof));

  test('a consistency proof is accepted from every smaller size', async () => {
    for (const older of olderSizes) expect([older, await verify(await proofIn(log, older, newer), older)]).toEqual([older, undefined]);
  });

  test('a consistency proof is refused if any hash is changed, missing, added or moved', async () => {
    for (const older of olderSizes) {
      const proof = await proofIn(log, older, newer);
      const [first = '', ...others] = proof;
      const changed: Record<string, string[]> = {
        'no hash': [],
        'without the first hash': others,
        'without the last hash': proof.slice(0, -1),
        'another hash at the end': [...proof, first],
        'another hash at the beginning': [text(Buffer.alloc(32)), ...proof],
        'a hash of 31 bytes': [text(Buffer.alloc(31)), ...others],
        'a hash that is not base64': ['*', ...others],
        ...Object.fromEntries(proof.map((_, at) => [`hash ${at} changed`, proof.with(at, text(Buffer.alloc(32, at)))])),
        ...(others.length > 0 && { backwards: proof.toReversed() }),
      };
      const accepted = await Promise.all(
        Object.entries(changed).map(async ([what, hashes]) => ((await verify(hashes, older)) ? [] : what)),
      );
      expect([older, accepted.flat()]).toEqual([older, []]);
    }
  });

  test('a consistency proof is refused for other sizes', async () => {
    for (const older of olderSizes) {
      const proof = await proofIn(log, older, newer);
      for (const [from, to] of pairs.filter(([from, to]) => (from === older) !== (to === newer) && Math.abs(from + to - older - newer) < 5))
        if (String(await proofIn(log, from, to)) !== String(proof))
          expect(await verify(proof, from, log, log, to)).toMatch(/^The (consistency )?proof/);
    }
  });

  test('a consistency proof does not join the log to its rewritten version', async () => {
    for (const older of olderSizes.filter((size) => size > 2))
      for (const from of [log, rewritten])
        expect(await verify(await proofIn(from, older, newer), older, log, rewritten)).toMatch(/the log was rewritten, or the proof/);
  });
});

describe('a checkpoint that was kept', () => {
  const passed = [undefined, true] as const;
  const notCompared = (older: number, newer: number) => [
    `not compared: the file has no consistency proof from ${older} to ${newer} entries. Add it with "intent-gate receipt save FILE --checkpoint KEPT".`,
    false,
  ];
  const isSmaller = (older: number, newer: number) =>
    `The checkpoint that was kept has ${older} entries, and that of the file only ${newer}. Save the file again; if it still has fewer, the log has lost entries: keep both.`;
  const rewrote =
    'The consistency proof does not lead from the checkpoint that was kept to that of the file: the log was rewritten, or the proof was changed.';
  const fork = (size: number) =>
    `Fork: the log has signed two checkpoints of size ${size} with different roots. Keep both: together they prove it.`;
  const unsigned = 'The checkpoint is not signed with the key of the log: it was changed, or is from another gate.';
  const withProof = async (from: EvidenceLog, index: number, older: number, newer: number): Promise<ReceiptFile> => ({
    ...(await from.fileOf(index, newer)),
    consistency: { [older]: await proofIn(from, older, newer) },
  });
  const unknown = 'The file is not a receipt as "intent-gate receipt save" writes it.';

  test.each<[what: string, file: () => Promise<ReceiptFile>, kept: () => string | Promise<string>, outcome: readonly unknown[]]>([
    ['of size 6, a log of 12 and no proof', () => log.fileOf(2, 12), () => log.checkpoint(6), notCompared(6, 12)],
    ['of size 6, a log of 12 with a proof', () => withProof(log, 2, 6, 12), () => log.checkpoint(6), passed],
    ['of size 6, the forged receipt 2 and no proof', () => rewritten.fileOf(2, 12), () => log.checkpoint(6), notCompared(6, 12)],
    ['of size 6, the forged receipt 2 and a proof', () => withProof(rewritten, 2, 6, 12), () => log.checkpoint(6), [rewrote, false]],
    ['of size 6, another receipt of the rewritten log', () => withProof(rewritten, 9, 6, 12), () => log.checkpoint(6), [rewrote, false]],
    [
      'of size 6, the rewritten log with the proof of the other',
      async () => ({ ...(await rewritten.fileOf(2, 12)), consistency: { 6: await proofIn(log, 6, 12) } }),
      () => log.checkpoint(6),
      [rewrote, false],
    ],
    ['of size 6, and a proof only from size 7', () => withProof(log, 2, 7, 12), () => log.checkpoint(6), notCompared(6, 12)],
    ['of the same size and root', () => log.fileOf(2, 12), () => log.checkpoint(12), passed],
    ['of the same size with another root', () => log.fileOf(2, 12), () => rewritten.checkpoint(12), [fork(12), false]],
    ['larger than the log', () => log.fileOf(2, 6), () => log.checkpoint(12), [isSmaller(12, 6), false]],
    [
      'larger than the log, with a proof for its size',
      async () => ({ ...(await log.fileOf(2, 6)), consistency: { 12: await proofIn(log, 6, 12) } }),
      () => log.checkpoint(12),
      [isSmaller(12, 6), false],
    ],
    ['of an empty log', () => log.fileOf(2, 12), () => log.checkpoint(0), passed],
    ['of an empty log with the root of another', () => log.fileOf(2, 12), () => keys.sign(0, Buffer.alloc(32)), [fork(0), false]],
    ['of size 1', () => withProof(log, 0, 1, 2), () => log.checkpoint(1), passed],
    ['of size 256, a log of 257', () => withProof(log, 256, 256, 257), () => log.checkpoint(256), passed],
    [
      'of another log',
      () => log.fileOf(2, 12),
      async () => (await buildLog(otherKeys, receipts, [12])).checkpoint(),
      ['The checkpoint is of another log: "intent-gate/log/other", and the key is of "intent-gate/log/test".', false],
    ],
    [
      'signed with another key',
      () => withProof(log, 2, 6, 12),
      async () => (await buildLog(foreignKeys, receipts, [6])).checkpoint(),
      [unsigned, false],
    ],
    ['with a changed size', () => withProof(log, 2, 6, 12), () => log.checkpoint(7).replace('\n7\n', '\n6\n'), [unsigned, false]],
    ['that is no checkpoint', () => withProof(log, 2, 6, 12), () => 'size 6', ['The checkpoint is not a signed note of a log.', false]],
    [
      'and a proof that is a text',
      async () => ({ ...(await log.fileOf(2, 12)), consistency: { 6: 'x' as never } }),
      () => log.checkpoint(6),
      [unknown, false],
    ],
    [
      'and a proof that is null',
      async () => ({ ...(await log.fileOf(2, 12)), consistency: { 6: null as never } }),
      () => log.checkpoint(6),
      [unknown, false],
    ],
  ])('a kept checkpoint is compared with a receipt: %s', async (_, file, kept, [problem, isValid]) => {
    const report = await verifyReceipt(await file(), { logKey: keys.log_key, checkpoints: [await kept()] });
    expect(report.checks.slice(0, -1).filter((one) => one.problem !== undefined)).toEqual([]);
    const isSkipped = String(problem).startsWith('not compared');
    expect(report.checks.at(-1)).toEqual({
      what: 'checkpoint that was kept',
      ...(problem !== undefined && { problem }),
      ...(isSkipped && { isSkipped }),
    });
    expect(report.isValid).toBe(isValid);
  });

  test('a kept checkpoint is compared even if another one passes', async () => {
    const report = await verifyReceipt(await withProof(log, 2, 6, 12), { checkpoints: [log.checkpoint(6), log.checkpoint(7)] });
    expect(report.isValid).toBe(false);
    expect(report.checks.slice(-2).map(({ problem = 'passed' }) => problem)).toEqual(['passed', notCompared(7, 12)[0]]);
  });
});

describe('receipt files', () => {
  let file: Required<ReceiptFile>;
  beforeAll(async () => {
    file = (await log.fileOf(3, 12)) as typeof file;
  });
  const problemsOf = async (changed: object) => {
    const { isValid, checks } = await verifyReceipt({ ...file, ...changed });
    expect(isValid).toBe(false);
    return checks.flatMap(({ problem }) => problem ?? []);
  };

  test.each(['receipt', 'salts', 'parameters', 'answer', 'proof', 'log_key'] as const)(
    'a receipt file whose %s is a list of the right text, a number or null is refused',
    async (name) => {
      for (const value of [[file[name]], 1, null, { toString: () => file[name] }])
        expect(await problemsOf({ [name]: value })).toContain('The file is not a receipt as "intent-gate receipt save" writes it.');
    },
  );

  test.each<[what: string, keys: unknown]>([
    ['a list in a list', [[1]]],
    ['text', 'x'],
    ['null', [null]],
    ['a key that is a list of the right text', [{ ...keys.jwks.keys[0], x: [keys.jwks.keys[0]?.x] }]],
  ])('a receipt file whose jwks have %s is refused', async (_, list) => {
    expect(await problemsOf({ jwks: { keys: list } })).not.toEqual([]);
  });

  const salts = 'salts are not two base64url strings of 16 bytes each, separated by a dot.';
  test.each<[what: string, change: (parameters: string, answer: string) => string]>([
    [
      'a salt that takes the beginning of the answer',
      (one, two) => `${one}.${Buffer.concat([Buffer.from(two, 'base64url'), Buffer.from('{"na')]).toString('base64url')}`,
    ],
    [
      'a salt that leaves a byte to the answer',
      (one, two) => `${one}.${Buffer.from(two, 'base64url').subarray(0, 15).toString('base64url')}`,
    ],
    ['an empty salt', (one) => `${one}.`],
    ['one salt', (one) => one],
    ['three salts', (one, two) => `${one}.${two}.${two}`],
    ['no salts', () => ''],
    ['padded salts', (one, two) => `${one}==.${two}==`],
  ])('a receipt file with %s is refused', async (_, change) => {
    const [one = '', two = ''] = file.salts?.split('.') ?? [];
    expect(new Set(await problemsOf({ salts: change(one, two) }))).toEqual(new Set([salts]));
  });

  test('a receipt file that shows only the end of the answer, with its beginning in the salt, is refused', async () => {
    const salt = Buffer.concat([Buffer.from(file.salts?.split('.')[1] ?? '', 'base64url'), Buffer.from('{"name":')]);
    const answer = file.answer?.replace('{"name":', '');
    expect(await problemsOf({ salts: `${file.salts?.split('.')[0]}.${salt.toString('base64url')}`, answer })).toEqual([salts, salts]);
  });

  const filled = (first: string, middle: string, last: string) => `${first}${middle.repeat(30)}${last}`;
  test.each([
    ...[filled('00', '00', '00'), filled('01', '00', '00'), filled('01', '00', '80'), filled('ec', 'ff', '7f'), filled('ee', 'ff', 'ff')],
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
  ])('a receipt file with the certified key of small order %s is refused', async (y) => {
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const x = Buffer.from(y, 'hex').toString('base64url');
    const { kid } = await keys.certifier.read();
    const iat = Math.floor(Date.now() / 1_000);
    const certified = `${encode({ alg: 'EdDSA', typ: 'receipt-key+jwt', kid })}.${encode({ iat, exp: iat + 60, cnf: { jwk: { x } } })}`;
    const certificate = `${certified}.${(await keys.certifier.sign(Buffer.from(certified))).toString('base64url')}`;
    // R is the neutral element and S is 0, which fits many texts
    const forged = Buffer.from(`01${'00'.repeat(63)}`, 'hex').toString('base64url');
    for (let tries = 0; tries < 16; tries++) {
      const header = encode({ alg: 'EdDSA', typ: 'execution-receipt+jwt', certificate, tries });
      expect(await problemsOf({ receipt: `${header}.${file.receipt.split('.')[1]}.${forged}` })).toEqual([
        'The signature of the receipt is invalid: it was changed, or signed with another key.',
      ]);
    }
  });
});
