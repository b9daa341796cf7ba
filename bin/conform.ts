import { parseArgs } from 'node:util';
import { CannotCheck, checks, runConformance } from './conform/run.ts';
import { showOutcome, showSummary } from './conform/show.ts';

const usage = `npm run conform -- ADDRESS [options]

Checks whether the service at ADDRESS does what the specification says, and names the section of each check.
  --protocol NAME     what stands for "proto" in the names of members (default proto)
  --upstream ADDRESS  a demo upstream that the service can reach, for the checks of execution; where the service runs on this
                      machine, one is started
  --only IDS          the checks to make, separated by commas; the report names the id of each
  --json              the whole report as JSON

The variable ADMIN_TOKEN holds an admin token for the checks of management. What they write they remove at the end.
Exit code: 0 all checks passed or were skipped, 1 some failed, 2 the checks could not be made.`;

interface Options {
  url: string;
  protocol?: string | undefined;
  upstreamUrl?: string | undefined;
  only?: string[] | undefined;
  isJson: boolean;
  isHelp: boolean;
}

/** The options, or nothing where they make no sense. */
function readOptions(): Options | undefined {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        protocol: { type: 'string' },
        upstream: { type: 'string' },
        only: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    });
    const { protocol, upstream: upstreamUrl, json: isJson = false, help: isHelp = false } = values;
    const only = values.only?.split(',');
    const [url = '', ...more] = positionals;
    const isKnown = only?.every((id) => checks.some((check) => check.id === id)) ?? true;
    const isUsable =
      more.length === 0 && isKnown && [url, upstreamUrl ?? url].every((address) => /^https?:/.test(address) && URL.canParse(address));
    return isUsable || isHelp ? { url, protocol, upstreamUrl, only, isJson, isHelp } : undefined;
  } catch {
    return undefined;
  }
}

async function run(): Promise<number> {
  const options = readOptions();
  if (options === undefined || options.isHelp) {
    (options ? console.log : console.error)(usage);
    return options ? 0 : 2;
  }
  const { url, isJson, ...settings } = options;
  try {
    const adminToken = process.env.ADMIN_TOKEN || undefined;
    const report = await runConformance(url, { ...settings, adminToken, ...(!isJson && { onOutcome: showOutcome }) });
    if (isJson) console.log(JSON.stringify(report, null, 2));
    else showSummary(report);
    return report.failed === 0 ? 0 : 1;
  } catch (error) {
    if (!(error instanceof CannotCheck)) throw error;
    console.error(error.message);
    return 2;
  }
}

process.exitCode = await run();
