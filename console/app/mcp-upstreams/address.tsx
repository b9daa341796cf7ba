import { Button } from '../components/controls.tsx';
import { FormField } from '../components/field.tsx';
import type { AdminSection, ChosenImport } from '../section.ts';
import { useDraft } from '../store.ts';

const field = {
  name: 'address',
  label: 'Or the address of an MCP server',
  type: 'string',
  hint: 'For example https://tools.example.com/mcp. An OpenAPI document at an address is imported with npx intent-gate import URL',
} as const;

function Address({ isBusy, onAddress }: ChosenImport) {
  const [{ address }, setDraft] = useDraft('mcp-server', { address: '' });
  const isUsable = /^https?:\/\/./i.test(address.trim());
  return (
    <>
      <FormField field={field} text={address} onText={(text) => setDraft({ address: text })} problems={[]} />
      <p>
        <Button title="Read its tools" isDisabled={isBusy || !isUsable} onClick={() => onAddress(address.trim())} />
      </p>
    </>
  );
}

export const mcpUpstreamsView: AdminSection = { path: 'mcp-upstreams', AboutImport: Address };
