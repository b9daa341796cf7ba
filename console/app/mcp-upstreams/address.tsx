import { Button, Fold } from '../components/controls.tsx';
import { FormField } from '../components/field.tsx';
import { useServices } from '../gate.ts';
import type { AdminSection, ChosenImport } from '../section.ts';
import { useDraft } from '../store.ts';

const addressField = {
  name: 'address',
  label: 'Or the address of an MCP server',
  type: 'string',
  hint: 'For example https://tools.example.com/mcp. An OpenAPI document at an address is imported with npx intent-gate import URL',
} as const;

const serviceField = {
  name: 'service',
  label: 'Service',
  type: 'string',
  hint: 'Register its service, set the credential there, and choose it here',
} as const;

function ServiceField(given: { text: string; onText(text: string): void }) {
  const services = useServices('admin').answer ?? [];
  const ids = { enum: services.map(({ service_id }) => service_id), labels: services.map(({ service_name }) => service_name) };
  return <FormField field={{ ...serviceField, ...ids }} {...given} />;
}

function Address({ isBusy, onAddress }: ChosenImport) {
  const [draft, setDraft] = useDraft('mcp-server', { address: '', service: '' });
  const address = draft.address.trim();
  const { service } = draft;
  return (
    <>
      <FormField field={addressField} text={draft.address} onText={(text) => setDraft({ ...draft, address: text })} />
      <Fold summary="The server requires a credential" isOpen={service !== ''}>
        {() => <ServiceField text={service} onText={(text) => setDraft({ ...draft, service: text })} />}
      </Fold>
      <p>
        <Button
          title="Read its tools"
          isDisabled={isBusy || !/^https?:\/\/./i.test(address)}
          onClick={() => onAddress(address, service === '' ? undefined : JSON.parse(service))}
        />
      </p>
    </>
  );
}

export const mcpUpstreamsView: AdminSection = { path: 'mcp-upstreams', AboutImport: Address };
