import { writeFile } from 'node:fs/promises';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { toPrintable } from '../../../client/printable.ts';
import { keptCheck, type ReceiptFile, verifyReceipt } from '../../../client/receipts.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import { readText } from '../../../registry/input.ts';
import { completeReceipt, parseReceipt } from '../../../registry/receipts.ts';
import { collect, openContext } from '../context.ts';

const readReceipt = async (path: string): Promise<ReceiptFile> => parseReceipt(await readText(path), path);

export function addReceipts(program: CommandUnknownOpts): void {
  const receipts = program.command('receipt').description('Keep and verify receipts of executions');
  receipts
    .command('save <file>')
    .description("Add to a receipt file everything needed to verify it offline: the proof that it is in the log, and the gate's keys")
    .option('--checkpoint <file>', 'also add a proof that the log still has everything before this checkpoint; may be repeated', collect)
    .action(async (file, { checkpoint = [] }, command) => {
      const { api, terminal } = openContext(command);
      const kept = await readReceipt(file);
      const checkpoints = await Promise.all(checkpoint.map(readText));
      // fetch everything again, because a newer proof may need a newer checkpoint
      const own = { ...kept, proof: undefined, log_key: undefined, jwks: undefined, consistency: undefined };
      const whole = await completeReceipt(own, api.http.exchange, checkpoints);
      await writeFile(file, `${JSON.stringify(whole, null, 2)}\n`);
      const { checks } = await verifyReceipt(whole, { checkpoints });
      const { problem } = checks.find((one) => one.what === keptCheck && one.problem) ?? {};
      if (problem !== undefined) throw new CliFailure('differences', `Saved in ${file}, but: ${toPrintable(problem)}`);
      terminal.result({ file }, `Saved in ${file}. Verify it with: intent-gate receipt verify ${file}`);
    });
  receipts
    .command('verify <file>')
    .description('Verify a receipt offline: its signature, its proof and, if the file has them, the parameters and the answer')
    .option('--log-key <file>', 'verifier key of the log, obtained from a trusted source')
    .option('--checkpoint <file>', 'checkpoint that you kept, given to "receipt save" as well; may be repeated', collect)
    .action(async (file, { logKey, checkpoint = [] }, command) => {
      const { terminal } = openContext(command);
      const trusted = { logKey: logKey && (await readText(logKey)), checkpoints: await Promise.all(checkpoint.map(readText)) };
      const receipt = await readReceipt(file);
      const lacking = (['jwks', 'proof', 'log_key'] as const).filter(
        (name) => receipt[name] === undefined && !(name === 'log_key' && logKey),
      );
      if (lacking.length > 0)
        throw usageFailure(
          `${file} cannot be verified yet: it lacks ${lacking.join(', ')}. Add them with: intent-gate receipt save ${file}`,
        );
      const report = await verifyReceipt(receipt, trusted);
      const { checks, claims, isValid } = report;
      const outcomeOf = ({ problem, isSkipped }: (typeof checks)[number]) => problem ?? (isSkipped ? 'not compared' : 'passed');
      terminal.table(checks.map((one) => [one.what, toPrintable(outcomeOf(one))]));
      if (claims) for (const [name, value] of Object.entries(claims)) terminal.say(`  ${name}: ${toPrintable(String(value))}`);
      terminal.json(report);
      if (!isValid) {
        const isRefuted = checks.some(({ problem, isSkipped }) => problem && !isSkipped);
        throw new CliFailure(
          'differences',
          isRefuted ? 'The receipt does not verify.' : 'The receipt was not compared with what you kept.',
        );
      }
      if (logKey === undefined)
        terminal.remark(
          'The key of the log came with the file, so a forged file would pass, too. Get the key from the operators of the gate, and pass it with --log-key.',
        );
    });
}
