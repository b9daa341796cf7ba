import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { openHttp } from '../../../client/http.ts';
import { version } from '../../../lib/version.ts';
import { usageFailure } from '../../../registry/failure.ts';
import { parseExact } from '../../../schemas/number.ts';
import { chooseBaseUrl, openContext } from '../context.ts';

export function addSmoke(program: CommandUnknownOpts): void {
  program
    .command('smoke <address>')
    .description('Smoke-test a deployment: check that it is up, and that a PAT can be issued, verified and used. Registers nothing')
    .option('--intent <uid>', 'also execute this intent')
    .option('--parameters <json>', 'its parameters', '{}')
    .action(async (address, { intent: intentUid, parameters }, command) => {
      const { terminal } = openContext(command);
      const baseUrl = chooseBaseUrl(address);
      const { shakeHands } = await import('../../handshake.ts');
      const startedMs = performance.now();
      const options = { intentUid, parameters: readParameters(parameters) };
      const checks = [];
      for await (const [name, { status, durationMs }, seen] of shakeHands(baseUrl, options)) {
        const ms = Math.round(durationMs);
        checks.push({ name, status, duration_ms: ms, seen });
        terminal.say(`${String(status).padStart(3)} ${`${ms} ms`.padStart(8)}  ${name.padEnd(28)} ${seen}`);
      }
      terminal.result(checks, `\nAll checks passed in ${Math.round(performance.now() - startedMs)} ms.`);
      // a gate without the feature of the documents does not say it
      const { body } = await openHttp({ url: baseUrl }).exchange('GET', '/openapi.json');
      const deployed = (body as { info?: { version: string } } | undefined)?.info?.version;
      if (deployed !== undefined && deployed !== version)
        terminal.remark(`The gate has version ${deployed}, this command line ${version}. Deploy again, or check out that version.`);
    });
}

function readParameters(text: string): object {
  try {
    return parseExact(text) as object;
  } catch {
    throw usageFailure('--parameters must be JSON.');
  }
}
