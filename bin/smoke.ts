/** `npm run smoke -- <ApiUrl>`: does an agent's whole handshake against a deployment and prints what it saw. */
import { parseArgs } from 'node:util';
import { DemoFailure } from './demo/call.ts';
import { shakeHands } from './smoke/handshake.ts';

const usage = `npm run smoke -- <ApiUrl> [--intent UID --parameters JSON] [--protocol NAME]

Checks a deployment from outside: that it is up, that its policy can be signed, that a PAT is issued and verifies, that search and the refusal of a
forged PAT work. It registers nothing. With --intent it also runs that intent.`;

try {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { intent: { type: 'string' }, parameters: { type: 'string', default: '{}' }, protocol: { type: 'string', default: 'proto' } },
  });
  const [url] = positionals;
  if (!url) throw new DemoFailure(usage);
  const startedMs = performance.now();
  const options = { protocol: values.protocol, intentUid: values.intent, parameters: JSON.parse(values.parameters) };
  for await (const { name, status, durationMs, seen } of shakeHands(url.replace(/\/+$/, ''), options)) {
    console.log(`${String(status).padStart(3)} ${`${Math.round(durationMs)} ms`.padStart(8)}  ${name.padEnd(28)} ${seen}`);
  }
  console.log(`\nAll of it held. ${Math.round(performance.now() - startedMs)} ms together.`);
} catch (error) {
  if (!(error instanceof DemoFailure || error instanceof SyntaxError || error instanceof TypeError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
