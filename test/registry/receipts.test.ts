import { expect, test } from '@jest/globals';
import { UnexpectedAnswer } from '../../client/errors.ts';
import { openHttp } from '../../client/http.ts';
import { type ReceiptFile, verifyReceipt } from '../../client/receipts.ts';
import { completeReceipt } from '../../registry/receipts.ts';
import { buildLog, newEvidenceKeys } from '../support/receipts/evidence-log.ts';

const keys = await newEvidenceKeys();
const otherKeys = await newEvidenceKeys('intent-gate/log/other');
const receipts = Array.from({ length: 600 }, () => keys.issue());
const sizes = [0, 1, 6, 12, 256, 600];

/** Completes a receipt from a log of this size, over HTTP. */
async function complete(receipt: ReceiptFile, size: number, checkpoints: string[], all = receipts): Promise<ReceiptFile> {
  const log = await buildLog(keys, all.slice(0, size), [...sizes.filter((one) => one < size), size]);
  const { url, stop } = await log.serve();
  try {
    return await completeReceipt(receipt, openHttp({ url }).exchange, checkpoints);
  } finally {
    await stop();
  }
}
const { checkpoint } = await buildLog(keys, receipts, sizes);
const [receipt] = receipts as [ReceiptFile];

test.each([
  [1, 12],
  [6, 12],
  [6, 600],
  [256, 600],
  [12, 257],
])('a receipt gets a proof that the log of %i entries is the beginning of that of %i', async (older, size) => {
  const file = await complete(receipt, size, [checkpoint(older)]);
  expect(Object.keys(file.consistency ?? {})).toEqual([String(older)]);
  expect(await verifyReceipt(file, { logKey: keys.log_key, checkpoints: [checkpoint(older)] })).toMatchObject({ isValid: true });
});

test('a receipt gets a proof for each checkpoint', async () => {
  const checkpoints = [6, 0, 12, 1].map(checkpoint);
  const file = await complete(receipt, 12, checkpoints);
  expect(Object.keys(file.consistency ?? {})).toEqual(['1', '6']);
  expect(await verifyReceipt(file, { checkpoints })).toMatchObject({ isValid: true });
});

test.each<[what: string, checkpoint: () => string | Promise<string>, problem: RegExp]>([
  ['larger than the log', () => checkpoint(600), /^The checkpoint that was kept has 600 entries, and that of the file only 12\./],
  ['of another log', async () => (await buildLog(otherKeys, receipts, [6])).checkpoint(), /^The checkpoint is of another log/],
  ['with a changed size', () => checkpoint(1).replace('\n1\n', '\n2\n'), /^The checkpoint is not signed with the key of the log/],
  ['that is not one', () => '', /^The checkpoint is not a signed note/],
])('a receipt gets no proof for a checkpoint %s, and verification says so', async (_, kept, problem) => {
  const checkpoints = [await kept()];
  const file = await complete(receipt, 12, checkpoints);
  expect(file.consistency).toBe(undefined);
  const { isValid, checks } = await verifyReceipt(file, { checkpoints });
  expect({ isValid, problems: checks.flatMap((one) => one.problem ?? []) }).toEqual({
    isValid: false,
    problems: [expect.stringMatching(problem)],
  });
});

test.each([6, 12, 256])('a log whose receipt 2 was replaced cannot prove that it extends the log of %i entries', async (older) => {
  const replaced = receipts.with(2, keys.issue('{"name":"Forged"}'));
  for (const shown of [replaced[2], replaced[0]] as ReceiptFile[]) {
    const file = await complete(shown, 600, [checkpoint(older)], replaced);
    expect(await verifyReceipt(file, { logKey: keys.log_key })).toMatchObject({ isValid: true });
    const { isValid, checks } = await verifyReceipt(file, { logKey: keys.log_key, checkpoints: [checkpoint(older)] });
    expect({ isValid, ...checks.at(-1) }).toEqual({
      isValid: false,
      what: 'checkpoint that was kept',
      problem: expect.stringMatching(/^The consistency proof does not lead from the checkpoint that was kept/),
    });
  }
});

test('a tile that is missing is an error', async () => {
  const log = await buildLog(keys, receipts, [600]);
  const { url, stop } = await log.serve();
  const { exchange } = openHttp({ url });
  const withoutTiles = (method: string, path: string) => exchange(method, path.replace('/tile/', '/nothing/'));
  await expect(completeReceipt(receipt, withoutTiles, [checkpoint(6)])).rejects.toThrow(UnexpectedAnswer);
  await stop();
});
