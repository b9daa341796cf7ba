import { type CommandUnknownOpts, Option } from '@commander-js/extra-typings';
import { agentOptions, connectAgent, explainForeignPolicy } from '../agent.ts';
import { openContext } from '../context.ts';

type Headers = Record<string, string>;

/** The configuration of an MCP host that connects to an address, by host. */
const hosts = {
  claude: (url: string, headers: Headers) => ({ mcpServers: { 'intent-gate': { type: 'http', url, headers } } }),
  cursor: (url: string, headers: Headers) => ({ mcpServers: { 'intent-gate': { url, headers } } }),
  gemini: (httpUrl: string, headers: Headers) => ({ mcpServers: { 'intent-gate': { httpUrl, headers } } }),
  vscode: (url: string, headers: Headers) => ({ servers: { 'intent-gate': { type: 'http', url, headers } } }),
  windsurf: (serverUrl: string, headers: Headers) => ({ mcpServers: { 'intent-gate': { serverUrl, headers } } }),
};

export function addPat(program: CommandUnknownOpts): void {
  program
    .command('pat')
    .description("Accept the policy as the agent of this machine, and print a new PAT, for example for curl's Authorization: Bearer")
    .addOption(
      new Option('--host <host>', 'print the configuration with which this MCP host sends the PAT to the address').choices(
        Object.keys(hosts) as (keyof typeof hosts)[],
      ),
    )
    .addOption(agentOptions.publicUrl)
    .addOption(agentOptions.agentDirectory)
    .addOption(agentOptions.acceptPolicy)
    .action(async ({ host, ...options }, command) => {
      const context = openContext(command);
      const { api, terminal } = context;
      const { agentId, gate } = await connectAgent(context, options, true);
      const { pat, expiresAt } = await gate.obtainPat().catch(explainForeignPolicy);
      const configuration = host && hosts[host](`${api.baseUrl}/mcp`, { Authorization: `Bearer ${pat}` });
      terminal.say(configuration ? JSON.stringify(configuration, null, 2) : pat);
      if (expiresAt) terminal.remark(`Valid until ${expiresAt.toISOString()}. A host that starts "intent-gate mcp" gets PATs by itself.`);
      terminal.json({ agent_id: agentId, pat, expires_at: expiresAt, configuration });
    });
}
