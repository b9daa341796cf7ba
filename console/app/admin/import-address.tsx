import { useContext } from 'preact/hooks';
import { Button, Fold } from '../components/controls.tsx';
import { FormField } from '../components/field.tsx';
import { useServices } from '../gate.ts';
import { AdminSections } from '../section.ts';
import { useDraft } from '../store.ts';

const serviceField = {
  name: 'service',
  label: 'Service',
  type: 'string',
  hint: 'If an MCP server requires a credential, register its service, set the credential there, and choose it here',
} as const;

function ServiceField(given: { text: string; onText(text: string): void }) {
  const services = useServices('admin').answer ?? [];
  const ids = { enum: services.map(({ service_id }) => service_id), labels: services.map(({ service_name }) => service_name) };
  return <FormField field={{ ...serviceField, ...ids }} {...given} />;
}

interface Props {
  isBusy: boolean;
  /** @param serviceId - the service to import into */
  onAddress(address: string, serviceId?: string): void;
}

/** The form for an address from which the gate reads what is imported. */
export function ImportAddress({ isBusy, onAddress }: Props) {
  const [draft, setDraft] = useDraft('import-address', { address: '', service: '' });
  const others = useContext(AdminSections).flatMap(({ imports = [] }) => imports);
  const address = draft.address.trim();
  const { service } = draft;
  const field = {
    name: 'address',
    label: `Or the address of ${['a document', ...others].join(' or ')}`,
    type: 'string',
    hint: 'For example https://api.example.com/openapi.json. The gate reads it.',
  } as const;
  return (
    <>
      <FormField field={field} text={draft.address} onText={(text) => setDraft({ ...draft, address: text })} />
      <Fold summary="Import into a registered service" isOpen={service !== ''}>
        {() => <ServiceField text={service} onText={(text) => setDraft({ ...draft, service: text })} />}
      </Fold>
      <p>
        <Button
          title="Read the address"
          isDisabled={isBusy || !/^https?:\/\/./i.test(address)}
          onClick={() => onAddress(address, service === '' ? undefined : JSON.parse(service))}
        />
      </p>
    </>
  );
}
