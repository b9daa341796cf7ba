import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import type { Api } from '../../../registry/api.ts';
import { decide, denyAll, readApprovals } from '../../../registry/approvals/decide.ts';
import { CliFailure, usageFailure } from '../../../registry/failure.ts';
import type { Approval, Decided } from '../../../schemas/approvals/approvals.ts';
import { type CliContext, openContext, watchOption } from '../context.ts';

/** Maximum length of the arguments in a list, in characters. */
const maxListed = 60;

/** @throws CliFailure if no call with this id is awaiting approval */
async function requireApproval(api: Api, id: string): Promise<Approval> {
  const found = (await readApprovals(api)).find((approval) => approval.id === id);
  if (found) return found;
  throw new CliFailure(
    'failure',
    'No call with this id is waiting for your approval; it may have been decided or have expired. List the calls that are waiting.',
  );
}

const shorten = (text: string): string => (text.length > maxListed ? `${text.slice(0, maxListed - 1)}…` : text);

const pricesOf = ({ prices }: Approval): string => prices.map(({ amount, currency }) => `${amount} ${currency}`).join(', ');

/** Shows a call in full, with every argument. */
function show({ terminal }: CliContext, approval: Approval): void {
  const { id, agent_id, key_thumbprint, intent_uid, intent_name, service_name, calls_as, parameters, headers, rules, since, expires_at } =
    approval;
  terminal.say(`${agent_id} requests to execute ${intent_uid} (${intent_name}, of ${service_name}).`);
  if (key_thumbprint !== undefined) terminal.say(`Its key: ${key_thumbprint}`);
  if (calls_as !== undefined) terminal.say(`The service is called as the person ${calls_as}.`);
  terminal.say(`Arguments: ${JSON.stringify(parameters, null, 2)}`);
  if (headers) terminal.say(`Header fields that the service adds: ${JSON.stringify(headers, null, 2)}`);
  for (const rule of rules) terminal.say(`Rule: ${rule}`);
  if (approval.prices.length > 0) terminal.say(`Price: ${pricesOf(approval)}`);
  terminal.say(`Waiting since ${since}; expires at ${expires_at}. Id: ${id}`);
}

interface DecideOptions {
  yes?: true;
  reason?: string;
}

async function decideOne(context: CliContext, id: string, decision: Decided['decision'], { yes, reason }: DecideOptions) {
  const { api, terminal } = context;
  const approval = await requireApproval(api, id);
  if (!yes) show(context, approval);
  await terminal.requireConfirmation(decision === 'approve' ? 'Approve exactly this call?' : 'Deny this call?', yes);
  const outcome = decision === 'approve' ? 'Approved. The call is made now, once.' : 'Denied. The call is not made.';
  terminal.result(await decide(api, approval, decision, reason), outcome);
}

async function denyAllOf({ api, terminal }: CliContext, agent: string, { yes, reason }: DecideOptions) {
  const waiting = await readApprovals(api, { agent_id: agent });
  if (waiting.length > 0) await terminal.requireConfirmation(`Deny ${waiting.length} calls of ${agent}?`, yes);
  const denied = await denyAll(api, waiting, reason);
  terminal.result(denied, `Denied ${denied.length} calls of ${agent}. To keep it from asking again, use "agents block".`);
}

export function addApprovals(program: CommandUnknownOpts): void {
  const approvals = program.command('approvals').description('Decide about calls that wait for approval');
  approvals
    .command('list')
    .description('List the calls that wait for your approval, oldest first')
    .addOption(watchOption)
    .action(async ({ watch }, command) => {
      const { api, terminal } = openContext(command);
      await terminal.watch(watch, async () => {
        const found = await readApprovals(api);
        const rows = found.map((approval) => [
          ...[approval.id, approval.agent_id, approval.intent_uid, shorten(JSON.stringify(approval.parameters))],
          ...[pricesOf(approval), approval.expires_at],
        ]);
        terminal.list(['Id', 'Agent', 'Intent', 'Arguments', 'Price', 'Expires'], rows, found);
        if (found.length === 0) terminal.remark('No calls are waiting for your approval.');
      });
    });
  approvals
    .command('show <id>')
    .description('Show a call as it will be made, with every argument')
    .action(async (id, _, command) => {
      const context = openContext(command);
      const approval = await requireApproval(context.api, id);
      show(context, approval);
      context.terminal.json(approval);
    });
  approvals
    .command('approve <id>')
    .description('Approve a call, exactly as shown; it is made once')
    .option('-y, --yes', 'skip showing the call and asking for confirmation')
    .action((id, options, command) => decideOne(openContext(command), id, 'approve', options));
  approvals
    .command('deny [id]')
    .description('Deny a call, which is then never made, or with --agent every call of an agent that waits')
    .option('--agent <agent_id>', 'deny every call of this agent, instead of one')
    .option('--reason <text>', 'shown to the agent')
    .option('-y, --yes', 'skip showing the call and asking for confirmation')
    .action((id, { agent, ...options }, command) => {
      if (id !== undefined && agent === undefined) return decideOne(openContext(command), id, 'deny', options);
      if (id === undefined && agent !== undefined) return denyAllOf(openContext(command), agent, options);
      throw usageFailure('Give either the id of a call or --agent.');
    });
}
