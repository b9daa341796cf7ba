import { readFile, writeFile } from 'node:fs/promises';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { readFailure } from '../../../client/http.ts';
import { toPrintable } from '../../../client/printable.ts';
import { type ReceiptFile, verifyReceipt } from '../../../client/receipts.ts';
import type { Api } from '../../../registry/api.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { openContext } from '../context.ts';

async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((cause: unknown) => {
    throw new CliFailure('usage', `The file ${path} cannot be read.`, { cause });
  });
}

async function readReceipt(path: string): Promise<ReceiptFile> {
  const text = await readText(path);
  try {
    const read: unknown = JSON.parse(text);
    if (typeof read === 'object' && read !== null && 'receipt' in read && typeof read.receipt === 'string') return read as ReceiptFile;
  } catch {}
  throw usageFailure(`The file ${path} has no receipt: it has to be a JSON object with the member receipt, as "try --receipt" writes it.`);
}

/** @throws Refusal or UnexpectedAnswer */
async function fetchText({ http }: Api, path: string): Promise<string> {
  const answer = await http.exchange('GET', path);
  if (answer.status !== 200) throw readFailure(answer);
  return answer.text;
}

/** The id in a receipt, whose signature is verified later. */
function idIn({ receipt }: ReceiptFile): string {
  try {
    const { execution_id } = JSON.parse(Buffer.from(receipt.split('.')[1] ?? '', 'base64url').toString()) as { execution_id?: string };
    if (typeof execution_id === 'string') return execution_id;
  } catch {}
  throw usageFailure('The member receipt is not a receipt: take the header Execution-Receipt as it was answered.');
}

export function addReceipts(program: CommandUnknownOpts): void {
  const receipts = program.command('receipt').description('Keep and verify receipts of executions');
  receipts
    .command('save <file>')
    .description('Add to the receipt in a file all that verifying it offline takes: its place in the log, and the keys of the gate')
    .action(async (file, _, command) => {
      const { api, terminal } = openContext(command);
      const kept = await readReceipt(file);
      const [proof, log_key, jwks] = await Promise.all([
        fetchText(api, `/api/executions/${encodeURIComponent(idIn(kept))}/proof`),
        fetchText(api, '/log/key'),
        fetchText(api, '/log/jwks.json'),
      ]);
      const whole: ReceiptFile = { ...kept, proof, log_key, jwks: JSON.parse(jwks) };
      await writeFile(file, `${JSON.stringify(whole, null, 2)}\n`);
      terminal.result({ file }, `Saved in ${file}. Verify it with: intent-gate receipt verify ${file}`);
    });
  receipts
    .command('verify <file>')
    .description('Verify a receipt offline: its signature, its place in the log, and the parameters and the answer if the file has them')
    .option('--log-key <file>', 'the verifier key of the log, if you have it from elsewhere')
    .option('--checkpoint <file...>', 'checkpoints of the log that you kept: one of the same size has to have the same root')
    .action(async (file, { logKey, checkpoint = [] }, command) => {
      const { terminal } = openContext(command);
      const trusted = { logKey: logKey && (await readText(logKey)), checkpoints: await Promise.all(checkpoint.map(readText)) };
      const report = await verifyReceipt(await readReceipt(file), trusted);
      const { checks, claims, isValid } = report;
      const outcomeOf = ({ problem, isSkipped }: (typeof checks)[number]) => problem ?? (isSkipped ? 'not compared' : 'fits');
      terminal.table(checks.map((one) => [one.what, toPrintable(outcomeOf(one))]));
      if (claims) for (const [name, value] of Object.entries(claims)) terminal.say(`  ${name}: ${toPrintable(String(value))}`);
      terminal.json(report);
      if (!isValid) throw new CliFailure('differences', 'The receipt does not verify.');
    });
}
