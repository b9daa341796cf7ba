import { useState } from 'preact/hooks';
import { type ShownService, serviceInput, serviceUpdate } from '../../../../schemas/service.ts';
import type { Stats } from '../../../../schemas/stats.ts';
import { ask, useRead } from '../gate.ts';
import { Failure, Heading, Pages, Part, Shown, Table, Time, Way } from '../parts.tsx';
import { go, linkTo } from '../route.ts';
import type { IntentList, ServiceList } from '../wire.ts';
import { Act } from './act.tsx';
import { Credential } from './credential.tsx';
import { Command, type Field, RecordForm } from './record-form.tsx';

const pageSize = '50';

/** The services: how many intents each has, whether it has a credential, and how it has done in the last day. */
export function Services({ query }: { query: URLSearchParams }) {
  const asked = Object.fromEntries(query);
  const { answer, error, reload } = useRead<ServiceList>('/api/services', { page_size: pageSize, ...asked }, 'admin');
  const stats = useRead<Stats>('/api/stats', { period: 'day' }, 'admin').answer?.value;
  return (
    <>
      <Heading title="Services" />
      <p class="buttons">
        <a class="button" href={linkTo(['import'])}>
          Import a document
        </a>
        <a class="button" href={linkTo(['services', 'new'])}>
          Register a service
        </a>
      </p>
      <Failure error={error} retry={reload} />
      <Table
        label="Services"
        heads={['Service', 'Intents', 'Credential', 'Limit', 'Runs in a day', 'Failures', 'Last failure']}
        numbers={['Intents', 'Runs in a day', 'Failures']}
        rows={(answer?.value.services ?? []).map(({ service_id, service_name, intents, credential, limit }) => {
          const own = stats?.services.find((one) => one.service_id === service_id);
          return [
            <a href={linkTo(['services', service_id])}>
              <Shown text={service_name} />
            </a>,
            intents,
            credential === undefined ? '' : credential === null ? 'none' : 'set',
            limit && `${limit.rate} in ${limit.period} s`,
            own?.executions ?? 0,
            own?.upstream_failures ?? 0,
            own?.last_failure && (
              <>
                <Time at={own.last_failure.at} /> {own.last_failure.code}
              </>
            ),
          ];
        })}
      />
      <Way to={answer?.next && linkTo(['services'], answer.next)} title="More" />
      <Command text="npx intent-gate services list" />
    </>
  );
}

const fields: Field[] = [
  { name: 'service_name', label: 'Name', kind: 'line', isRequired: true },
  { name: 'service_url', label: 'Address', kind: 'line', isRequired: true, hint: 'For example https://api.example.com' },
  { name: 'description', label: 'Description', kind: 'text', isRequired: true },
  { name: 'policy_url', label: 'Address of its own policy', kind: 'line' },
  { name: 'service_logo_url', label: 'Address of its logo', kind: 'line' },
  { name: 'service_terms_of_service_url', label: 'Address of its terms of service', kind: 'line' },
  { name: 'service_privacy_policy_url', label: 'Address of its privacy policy', kind: 'line' },
  {
    name: 'namespace',
    label: 'Namespace',
    kind: 'line',
    hint: 'In which all its intents stand, and whose admins may change it. It never changes once it is set.',
  },
  {
    name: 'limit',
    label: 'Limit over all agents',
    kind: 'json',
    hint: 'At most so many calls in so many seconds: {"rate": 100, "period": 60}',
  },
  {
    name: 'headers',
    label: 'Header fields that every call carries',
    kind: 'json',
    hint: 'Nothing secret: as an object, such as {"Api-Version": "2"}',
  },
];

export const NewService = () => (
  <>
    <Heading title="Register a service" />
    <p>
      If it has an OpenAPI document, <a href={linkTo(['import'])}>import that</a> instead: its operations become intents at once.
    </p>
    <RecordForm
      name="new service"
      fields={fields}
      record={{}}
      schema={serviceInput}
      send={{ method: 'POST', path: '/api/services' }}
      command="npx intent-gate services create -f -"
      onSaved={({ service_id }) => go(linkTo(['services', String(service_id)]))}
    />
  </>
);

/** One service: its record, its credential, its intents. What is on the page stays there if it cannot be read again. */
export function ServiceView({ id, query }: { id: string; query: URLSearchParams }) {
  const path = `/api/services/${encodeURIComponent(id)}`;
  const { answer, error, reload } = useRead<ShownService>(path, {}, 'admin');
  const [note, setNote] = useState('');
  if (answer === undefined) {
    return (
      <>
        <Heading title="Service" />
        <Failure error={error} retry={reload} />
      </>
    );
  }
  const { value: record, etag } = answer;
  return (
    <article>
      <Way to={linkTo(['services'])} title="Services" />
      <Heading title={record.service_name} />
      <p role="status">{note}</p>
      <Failure error={error} retry={reload} />
      <ServiceIntents id={id} />
      <Credential id={id} facts={record.credential} suggested={query} onChanged={reload} />
      <Part title="Its record">
        <RecordForm
          name={`service ${id}`}
          fields={fields}
          record={record}
          etag={etag}
          schema={serviceUpdate}
          send={{ method: 'PUT', path }}
          read={{ path }}
          command={`npx intent-gate services update ${id} -f -`}
          onSaved={() => {
            setNote('Saved.');
            reload();
          }}
        />
      </Part>
      <Part title="Delete it">
        <p>All its intents go with it, and its credential.</p>
        <Act
          title="Delete the service"
          isDangerous
          command={`npx intent-gate services delete ${id}`}
          act={() => ask('DELETE', path, { as: 'admin' })}
          onDone={() => go(linkTo(['services']))}
        />
      </Part>
    </article>
  );
}

function ServiceIntents({ id }: { id: string }) {
  const [page, setPage] = useState(1);
  const { answer, error, reload } = useRead<IntentList>(
    `/api/services/${id}/intents`,
    { page: String(page), page_size: pageSize },
    'admin',
  );
  const { intents = [], pagination } = answer?.value ?? {};
  return (
    <Part title={<>Its intents{pagination && ` (${pagination.total_results})`}</>}>
      <p>
        <a class="button" href={linkTo(['services', id, 'new'])}>
          Add one
        </a>
      </p>
      <Failure error={error} retry={reload} />
      <ul>
        {intents.map(({ intent_uid, intent_name, deprecated, draft }) => (
          <li key={intent_uid}>
            <a href={linkTo(['intents', intent_uid])}>
              <Shown text={intent_name} />
            </a>{' '}
            <span class="quiet">{intent_uid}</span> {deprecated && <span class="badge bad">deprecated</span>}{' '}
            {draft && <span class="badge">draft</span>}
          </li>
        ))}
      </ul>
      {pagination && <Pages page={page} of={pagination.total_pages} onPage={setPage} />}
    </Part>
  );
}
