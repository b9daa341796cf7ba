import { Copyable } from './components/copyable.tsx';
import { Table } from './components/table.tsx';
import { ButtonLink, Heading, Part } from './components/text.tsx';
import { deployment } from './deployment.ts';

const { publicUrl, offersSignIn } = deployment;
const url = `${publicUrl}/mcp${offersSignIn ? '/sign-in' : ''}`;

const add = (program: string, rest: string) => <Copyable label={`Command for ${program}`} text={`${program} mcp add ${rest}`} />;

const link = (host: string, to: string) => <ButtonLink to={to} title={`Add to ${host}`} />;

/** How each known MCP host is connected to the gate's address. */
const hosts: Record<string, () => ReturnType<typeof add>> = {
  'Claude Code': () => add('claude', `--transport http intent-gate ${url}`),
  Codex: () => add('codex', `intent-gate --url ${url}`),
  Cursor: () =>
    link(
      'Cursor',
      `cursor://anysphere.cursor-deeplink/mcp/install?name=intent-gate&config=${encodeURIComponent(btoa(JSON.stringify({ url })))}`,
    ),
  'Gemini CLI': () => add('gemini', `--transport http intent-gate ${url}`),
  'VS Code': () => link('VS Code', `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name: 'intent-gate', type: 'http', url }))}`),
  'Claude, ChatGPT and other hosts': () => <Copyable label="Address" text={url} />,
};

/** How MCP hosts and programs are connected to the gate. */
export const Connect = () => (
  <>
    <Heading title="Connect" />
    <p class="lead">Add this gate to an AI agent or a program.</p>
    <Part title="MCP hosts">
      <Table label="Hosts" heads={['Host', 'Add it']} rows={Object.entries(hosts).map(([name, how]) => [name, how()])} />
      {!offersSignIn && (
        <>
          <p>This gate does not sign people in. This prints a host's configuration with a token, for example for Cursor:</p>
          <Copyable label="Command with a token" text={`INTENT_GATE_URL=${publicUrl} npx intent-gate pat --host cursor`} />
        </>
      )}
      <p>A host that starts programs can run this one, which gets its own tokens:</p>
      <Copyable label="Command for a host that starts programs" text={`npx intent-gate mcp --config ${publicUrl}`} />
    </Part>
    <Part title="Programs">
      <ul>
        <li>
          <a href="openapi.json">OpenAPI document</a>
        </li>
        <li>
          <a href="agents.json">Description for agents</a>
        </li>
        <li>
          <a href=".well-known/jwks.json">Keys that verify PATs</a>
        </li>
      </ul>
    </Part>
  </>
);
