import { text } from 'node:stream/consumers';
import type { CommandUnknownOpts } from '@commander-js/extra-typings';
import { renderUnicodeCompact } from 'uqr';
import { readAddress } from '../../../client/address.ts';
import { usageFailure } from '../../../registry/failure.ts';
import { findStackFile } from '../../local/stack-file.ts';
import { readAllOutputs } from '../../outputs.ts';
import { openContext } from '../context.ts';
import { forgetSession, type Session, saveSession } from '../session.ts';
import type { Terminal } from '../terminal.ts';

export function addLogin(program: CommandUnknownOpts): void {
  program
    .command('login')
    .description('Sign in as an admin to the user pool of a deployment, or to the local stack started by "npm start"')
    .option('--local', 'sign in as the admin of the local stack')
    .option('--region <region>', 'region of the user pool; default: read from the outputs of the deployment')
    .option('--client-id <id>', 'AdminClientId of the deployment; default: read from its outputs')
    .option('--endpoint <url>', "address of the user pool, overriding Cognito's")
    .option('--username <name>', 'user name; prompted for if omitted')
    .option('--password-stdin', 'read the password from stdin')
    .action(async (options, command) => {
      const { api, terminal } = openContext(command);
      const path = await saveSession(
        api.baseUrl,
        options.local ? signInLocally(api.baseUrl) : await signInToPool(api.baseUrl, options, terminal),
      );
      terminal.say(`Signed in to ${api.baseUrl}. The tokens are stored in ${path}, which only you can read.`);
      terminal.json({ base_url: api.baseUrl, session_file: path });
    });
  program
    .command('logout')
    .description('Delete the stored tokens for the gate')
    .action(async (_, command) => {
      const { api, terminal } = openContext(command);
      const wasSignedIn = await forgetSession(api.baseUrl);
      terminal.say(wasSignedIn ? `Signed out of ${api.baseUrl}.` : `You were not signed in to ${api.baseUrl}.`);
      terminal.json({ base_url: api.baseUrl, was_signed_in: wasSignedIn });
    });
}

function signInLocally(baseUrl: string): Session {
  const stack_file = findStackFile(baseUrl);
  if (stack_file === undefined)
    throw usageFailure('No local stack that was started in this folder is running at this address. Start one with "npm start".');
  return { kind: 'local', stack_file };
}

const describeDeployed = (urls: readonly string[]): string =>
  urls.length > 0
    ? `No deployment from this folder has this address. Known addresses: ${urls.join(', ')}.`
    : 'No deployment was made from this folder with "npm run deploy".';

/** @throws CliFailure if passwords would be sent in plain text */
function requireSafeEndpoint(text: string): void {
  try {
    readAddress(text);
  } catch {
    throw usageFailure('--endpoint must be an https address; plain http is allowed only for this machine.');
  }
}

type PoolOptions = { [Name in 'region' | 'clientId' | 'endpoint' | 'username']?: string } & { passwordStdin?: true };

async function signInToPool(baseUrl: string, options: PoolOptions, terminal: Terminal): Promise<Session> {
  const deployed = readAllOutputs();
  const outputs = deployed.find(({ ApiUrl }) => ApiUrl === baseUrl);
  const region = options.region ?? outputs?.UserPoolId?.split('_')[0];
  const clientId = options.clientId ?? outputs?.AdminClientId;
  if (region === undefined || clientId === undefined) {
    throw usageFailure(
      `Which user pool? ${describeDeployed(deployed.flatMap(({ ApiUrl }) => ApiUrl ?? []))} Give --region and --client-id (outputs UserPoolId and AdminClientId of the deployment), or --local.`,
    );
  }
  if (options.endpoint !== undefined) requireSafeEndpoint(options.endpoint);
  const username = options.username ?? (await terminal.ask('User name: '));
  const password = options.passwordStdin ? (await text(process.stdin)).replace(/\r?\n$/, '') : await terminal.askSecret('Password: ');
  const identity = { region, client_id: clientId, username, ...(options.endpoint !== undefined && { endpoint: options.endpoint }) };
  const { signIn } = await import('../cognito.ts');
  const tokens = await signIn(identity, password, {
    async newPassword() {
      terminal.remark('Your password is temporary. Choose a new one.');
      const chosen = await terminal.askSecret('New password: ');
      if (chosen !== (await terminal.askSecret('Repeat new password: '))) throw usageFailure('The passwords do not match. Sign in again.');
      return chosen;
    },
    code: () => terminal.ask('Code from your authenticator app: '),
    enrol(uri) {
      terminal.remark('The user pool requires a second factor. Scan this code with an authenticator app, or enter the address below:\n');
      terminal.remark(renderUnicodeCompact(uri));
      terminal.remark(`\n${uri}\n`);
      return terminal.ask('Code from the app: ');
    },
  });
  return { kind: 'cognito', ...identity, ...tokens };
}
