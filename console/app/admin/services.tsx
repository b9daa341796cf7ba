import { useEffect, useState } from 'preact/hooks';
import { type SavedService, type ShownService, serviceInput, serviceUpdate } from '../../../schemas/service.ts';
import type { Stats } from '../../../schemas/stats.ts';
import { Failure, Warnings } from '../components/failure.tsx';
import { Heading, Part } from '../components/heading.tsx';
import { Pages } from '../components/pages.tsx';
import { Table } from '../components/table.tsx';
import { Link, Time, Way } from '../components/text.tsx';
import { ask, useRead } from '../gate.ts';
import { go, linkTo } from '../route.ts';
import { openStore, useStore } from '../store.ts';
import type { IntentList, ServiceList } from '../wire.ts';
import { Act } from './act.tsx';
import { Credential } from './credential.tsx';
import { Command, fieldsOfRecord, RecordForm } from './record-form.tsx';

const pageSize = '50';

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
        rows={(answer?.value.services ?? []).map(({ service_id, service_name, intents, credential, limit, paused }) => {
          const own = stats?.services.find((one) => one.service_id === service_id);
          return [
            <>
              <Link to={linkTo(['services', service_id])} text={service_name} /> {paused && <span class="badge bad">paused</span>}
            </>,
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

const fields = fieldsOfRecord(serviceInput, {
  service_name: 'Name',
  service_url: { label: 'Address', hint: 'For example https://api.example.com' },
  description: 'Description',
  policy_url: 'Address of its own policy',
  service_logo_url: 'Address of its logo',
  service_terms_of_service_url: 'Address of its terms of service',
  service_privacy_policy_url: 'Address of its privacy policy',
  namespace: 'Namespace',
  limit: { label: 'Limit for all agents together', hint: 'Calls in a period of seconds: {"rate": 100, "period": 60}' },
  headers: {
    label: 'Header fields of every call',
    hint: 'An object, such as {"Api-Version": "2"}. Everybody can see them: include no secrets.',
  },
  paused: { label: 'Paused', hint: 'Refuses every execution of its intents, which can still be found and read' },
});

/** Of the last save: the page of a new service shows what was said before that was open. */
const saved = openStore<Pick<SavedService, 'service_id' | 'warnings'> | undefined>(undefined);

export const NewService = () => (
  <>
    <Heading title="Register a service" />
    <p>
      If it has an OpenAPI document, <a href={linkTo(['import'])}>import that</a> instead: its operations become intents.
    </p>
    <RecordForm
      name="new service"
      fields={fields}
      record={{}}
      schema={serviceInput}
      send={{ method: 'POST', path: '/api/services' }}
      command="npx intent-gate services create -f -"
      onSaved={(answer) => {
        const service = answer as SavedService;
        saved.set(service);
        go(linkTo(['services', service.service_id]));
      }}
    />
  </>
);

/** One service: its record, its credential, its intents. What is on the page stays there if it cannot be read again. */
export function ServiceView({ id, query }: { id: string; query: URLSearchParams }) {
  const path = `/api/services/${encodeURIComponent(id)}`;
  const { answer, error, reload } = useRead<ShownService>(path, {}, 'admin');
  const [note, setNote] = useState('');
  const last = useStore(saved);
  useEffect(() => () => saved.set(undefined), [id]);
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
      <Warnings texts={last?.service_id === id ? last.warnings : []} />
      <Failure error={error} retry={reload} />
      <ServiceIntents id={id} />
      <Credential id={id} facts={record.credential} suggested={query} onChanged={reload} />
      <Part title="Settings">
        <RecordForm
          name={`service ${id}`}
          fields={fields}
          record={record}
          etag={etag}
          schema={serviceUpdate}
          send={{ method: 'PUT', path }}
          read={{ path }}
          command={`npx intent-gate services update ${id} -f -`}
          onSaved={(answer) => {
            setNote('Saved.');
            saved.set(answer as SavedService);
            reload();
          }}
        />
      </Part>
      <Part title="Delete the service">
        <p>This also deletes its intents and its credential.</p>
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
    <Part title={<>Intents{pagination && ` (${pagination.total_results})`}</>}>
      <p>
        <a class="button" href={linkTo(['services', id, 'new'])}>
          Add one
        </a>
      </p>
      <Failure error={error} retry={reload} />
      <ul>
        {intents.map(({ intent_uid, intent_name, deprecated, draft }) => (
          <li key={intent_uid}>
            <Link to={linkTo(['intents', intent_uid])} text={intent_name} /> <span class="quiet">{intent_uid}</span>{' '}
            {deprecated && <span class="badge bad">deprecated</span>} {draft && <span class="badge">draft</span>}
          </li>
        ))}
      </ul>
      {pagination && <Pages page={page} of={pagination.total_pages} onPage={setPage} />}
    </Part>
  );
}
