import { operand } from '../../../registry/shell-words.ts';
import { type FullIntent, intentInput, intentUpdate } from '../../../schemas/intent.ts';
import { Failure } from '../components/states.tsx';
import { Heading, Part, Way } from '../components/text.tsx';
import type { Field } from '../field-values.ts';
import { ask, useRead } from '../gate.ts';
import { go, linkTo } from '../route.ts';
import { Act } from './act.tsx';
import { fieldsOfRecord, RecordForm } from './record-form.tsx';

const parametersHint = 'A list in JSON: [{"name": "code", "type": "string", "required": true, "description": "…"}]';

const fields = fieldsOfRecord(intentInput, {
  intent_name: 'Name',
  description: 'Description',
  tags: { label: 'Tags', hint: 'Separated by commas' },
  category: { label: 'Category', isRare: true },
  'endpoint/url': {
    label: 'Endpoint URL',
    format: 'uri',
    hint: 'With placeholders, such as https://api.example.com/orders/{id}{?state}',
  },
  'endpoint/method': 'Method',
  'endpoint/content_type': { label: 'Body media type', hint: 'Default: application/json', isRare: true },
  input_parameters: { label: 'Input parameters', hint: parametersHint },
  output_parameters: { label: 'Output parameters', hint: parametersHint },
  deprecated: { label: 'Deprecated', hint: 'Agents are sent to another operation' },
  draft: { label: 'Draft', hint: 'Hidden from agents' },
});

const uidField: Field = {
  name: 'intent_uid',
  label: 'Uid',
  type: 'string',
  required: true,
  hint: 'namespace:name:version, such as api.example.com:get-order:v1',
};

export const NewIntent = ({ serviceId }: { serviceId: string }) => (
  <>
    <Heading title="Add an intent" />
    <RecordForm
      name={`new intent ${serviceId}`}
      fields={[uidField, ...fields]}
      record={{ input_parameters: [], output_parameters: [], endpoint: { method: 'GET' }, tags: [], draft: true }}
      schema={intentInput}
      isNew
      path={`/api/services/${encodeURIComponent(serviceId)}/intents`}
      command={`intents create --service ${serviceId} -f -`}
      onSaved={({ intent_uid }) => go(linkTo(['intents', String(intent_uid)]))}
    />
  </>
);

export function EditIntent({ uid }: { uid: string }) {
  const path = `/api/intents/${encodeURIComponent(uid)}`;
  const { answer, error, reload } = useRead<FullIntent>(path, { view: 'full' }, 'admin');
  const back = linkTo(['intents', uid]);
  return (
    <article>
      <Way to={back} title="Back to the intent" />
      <Heading title={`Edit ${uid}`} />
      <Failure error={error} retry={reload} />
      {answer && (
        <>
          <RecordForm
            name={`intent ${uid}`}
            fields={fields}
            record={withoutDigest(answer.value)}
            etag={answer.etag}
            schema={intentUpdate}
            path={path}
            query={{ view: 'full' }}
            command={`intents update -f - ${operand(uid)}`}
            onSaved={() => go(back)}
          />
          <Part title="Delete the intent">
            <Act
              title="Delete the intent"
              isDangerous
              command={`intents delete ${operand(uid)}`}
              act={() => ask('DELETE', path, { isAdmin: true })}
              onDone={() => go(linkTo(['services', answer.value.service_id]))}
            />
          </Part>
        </>
      )}
    </article>
  );
}

/** Removes derived members: the digest, the policy's terms, and whether the service is paused. */
const withoutDigest = ({ digest: _, terms: __, paused: ___, ...record }: FullIntent): Record<string, unknown> => record;
