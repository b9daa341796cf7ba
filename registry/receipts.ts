import { toBase64 } from '../client/bytes.ts';
import { type Exchange, readFailure } from '../client/http.ts';
import { type ReceiptFile, verifyCheckpoint } from '../client/receipts.ts';
import { readConsistency } from '../functions/receipts/tiles.ts';
import { CliFailure } from './failure.ts';

/**
 * Adds to a receipt, if missing, what offline verification needs: its inclusion proof and the gate's keys. Adds consistency proofs from the
 * checkpoints, as far as they are older ones of the same log.
 * @throws CliFailure if it is not a receipt; Refusal with the reason `waiting` if it is not in the log yet; UnexpectedAnswer
 */
export async function completeReceipt(
  kept: ReceiptFile,
  exchange: (method: string, path: string) => Promise<Exchange>,
  checkpoints: readonly string[] = [],
): Promise<ReceiptFile> {
  const read = async (path: string) => {
    const answer = await exchange('GET', path);
    if (answer.status !== 200) throw readFailure(answer);
    return answer;
  };
  const [proof, log_key, jwks] = await Promise.all([
    kept.proof ?? read(`/api/executions/${encodeURIComponent(idIn(kept))}/proof`).then(({ text }) => text),
    kept.log_key ?? read('/log/key').then(({ text }) => text),
    kept.jwks ?? read('/log/jwks.json').then(({ text }) => JSON.parse(text)),
  ]);
  // what is wrong with a checkpoint is for verification to say
  const sizeOf = (note: string) =>
    verifyCheckpoint(note, log_key).then(
      ({ size }) => size,
      () => 0,
    );
  const size = await sizeOf(String(proof).replace(/^.*?\n\n/s, ''));
  const older = (await Promise.all(checkpoints.map(sizeOf))).filter((one) => one > 0 && one < size);
  const proofs = older.map(async (one) => {
    const path = await readConsistency(async (tile) => (await read(`/log/${tile}`)).bytes, one, size);
    return [one, path.map(toBase64)] as const;
  });
  const consistency = proofs.length > 0 ? Object.fromEntries(await Promise.all(proofs)) : kept.consistency;
  return { ...kept, proof, log_key, jwks, consistency };
}

/** The execution id in a receipt; its signature is verified later. */
function idIn({ receipt }: ReceiptFile): string {
  try {
    const [, claims = ''] = receipt.split('.');
    const { execution_id } = JSON.parse(atob(claims.replaceAll('-', '+').replaceAll('_', '/'))) as { execution_id?: string };
    if (typeof execution_id === 'string') return execution_id;
  } catch {}
  throw new CliFailure('usage', 'The member receipt is not a receipt. Copy the header Execution-Receipt unchanged.');
}

/** @throws CliFailure if the text contains no receipt */
export function parseReceipt(text: string, name: string): ReceiptFile {
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === 'object' && read !== null && 'receipt' in read && typeof read.receipt === 'string') return read as ReceiptFile;
  } catch {}
  throw new CliFailure(
    'usage',
    `The file ${name} contains no receipt. It must be a JSON object with the member receipt, as written by "try --receipt".`,
  );
}
