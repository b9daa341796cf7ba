import { type FullIntent, intentInput, intentUpdate, methods } from '../../../../schemas/intent.ts';
import { operand } from '../code-samples.ts';
import { ask, useRead } from '../gate.ts';
import { Failure, Heading, Part, Shown, Way } from '../parts.tsx';
import { go, linkTo } from '../route.ts';
import { Act } from './act.tsx';
import { type Field, RecordForm } from './record-form.tsx';

const parametersHint = 'A list in JSON: [{"name": "code", "type": "string", "required": true, "description": "…"}]';

const fields: Field[] = [
  { name: 'intent_name', label: 'Name', kind: 'line', isRequired: true },
  { name: 'description', label: 'Description', kind: 'text', isRequired: true },
  { name: 'tags', label: 'Tags', kind: 'list', hint: 'Separated by commas' },
  { name: 'category', label: 'Category', kind: 'line' },
  {
    name: 'endpoint/url',
    label: 'Address of its endpoint',
    kind: 'line',
    isRequired: true,
    hint: 'May hold places, such as https://api.example.com/orders/{id}{?state}',
  },
  { name: 'endpoint/method', label: 'Method', kind: 'choice', choices: methods },
  { name: 'endpoint/content_type', label: 'Media type of the body', kind: 'line', hint: 'application/json if left out' },
  { name: 'input_parameters', label: 'What it takes', kind: 'json', isRequired: true, hint: parametersHint },
  { name: 'output_parameters', label: 'What it answers', kind: 'json', isRequired: true, hint: parametersHint },
  { name: 'deprecated', label: 'Deprecated: agents are told to use another one', kind: 'check' },
  { name: 'draft', label: 'Draft: agents do not see it', kind: 'check' },
];

export const NewIntent = ({ serviceId }: { serviceId: string }) => (
  <>
    <Heading title="Add an intent" />
    <RecordForm
      name={`new intent ${serviceId}`}
      fields={[
        {
          name: 'intent_uid',
          label: 'Its uid',
          kind: 'line',
          isRequired: true,
          hint: 'namespace:name:version, such as api.example.com:get-order:v1',
        },
        ...fields,
      ]}
      record={{ input_parameters: [], output_parameters: [], tags: [], draft: true }}
      schema={intentInput}
      send={{ method: 'POST', path: `/api/services/${encodeURIComponent(serviceId)}/intents` }}
      command={`npx intent-gate intents create --service ${serviceId} -f -`}
      onSaved={({ intent_uid }) => go(linkTo(['intents', String(intent_uid)]))}
    />
  </>
);

/** One intent, to be changed or deleted. */
export function EditIntent({ uid }: { uid: string }) {
  const path = `/api/intents/${encodeURIComponent(uid)}`;
  const { answer, error, reload } = useRead<FullIntent>(path, { view: 'full' }, 'admin');
  const back = linkTo(['intents', uid]);
  return (
    <article>
      <Way to={back} title="Back to the intent" />
      <Heading title={`Edit ${uid}`}>
        Edit <Shown text={uid} />
      </Heading>
      <Failure error={error} retry={reload} />
      {answer && (
        <>
          <RecordForm
            name={`intent ${uid}`}
            fields={fields}
            record={withoutDigest(answer.value)}
            etag={answer.etag}
            schema={intentUpdate}
            send={{ method: 'PUT', path }}
            read={{ path, query: { view: 'full' } }}
            command={`npx intent-gate intents update -f - ${operand(uid)}`}
            onSaved={() => go(back)}
          />
          <Part title="Delete it">
            <Act
              title="Delete the intent"
              isDangerous
              command={`npx intent-gate intents delete ${operand(uid)}`}
              act={() => ask('DELETE', path, { as: 'admin' })}
              onDone={() => go(linkTo(['services', answer.value.service_id]))}
            />
          </Part>
        </>
      )}
    </article>
  );
}

/** The digest follows from the rest, and the terms from the policy. */
const withoutDigest = ({ digest: _, terms: __, ...record }: FullIntent): Record<string, unknown> => record;
