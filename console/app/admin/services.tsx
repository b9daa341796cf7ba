import { useContext } from 'preact/hooks';
import { namePeriod } from '../../../functions/core/policy/durations.ts';
import type { IntentList } from '../../../schemas/intent-pages.ts';
import { type SavedService, type ServiceList, type ShownService, serviceInput, serviceUpdate } from '../../../schemas/service.ts';
import { Awaited, EmptyState, Failure } from '../components/states.tsx';
import { type Column, ReadTable } from '../components/table.tsx';
import { Tabs } from '../components/tabs.tsx';
import { Badge, ButtonLink, Heading, Link, LongText, MethodBadge, Part, Way } from '../components/text.tsx';
import { showToast } from '../components/toast.tsx';
import { ask, useAll, useRead, useServices } from '../gate.ts';
import { go, linkTo, pathOf } from '../route.ts';
import { AdminSections, useColumnsOf, useSectionsAbout } from '../section.ts';
import { Act } from './act.tsx';
import { Credential, isCredentialMissing, suggestedFor } from './credential.tsx';
import { Changes } from './history.tsx';
import { fieldsOfRecord, RecordForm } from './record-form.tsx';

type Service = ServiceList['services'][number];

/** All services, for admins. */
export function Services() {
  const reading = useServices('admin');
  const added = useColumnsOf(({ service_id }: Service) => service_id, 'services');
  const columns: Column<Service>[] = [
    {
      head: 'Service',
      cell: ({ service_id, service_name, paused }) => (
        <>
          <Link to={linkTo(['services', service_id])} text={service_name} /> {paused && <Badge tone="bad">paused</Badge>}
        </>
      ),
      sortBy: ({ service_name }) => service_name.toLowerCase(),
    },
    { head: 'Operations', cell: ({ intents }) => intents, sortBy: ({ intents }) => intents, isNumber: true },
    ...added,
    {
      head: 'Credential',
      cell: ({ service_id, credential }) =>
        isCredentialMissing(service_id, credential) ? (
          <Badge tone="warn">missing</Badge>
        ) : credential === undefined ? (
          ''
        ) : credential === null ? (
          'none'
        ) : (
          'set'
        ),
      sortBy: ({ credential }) => Number(Boolean(credential)),
    },
    { head: 'Limit', cell: ({ limit }) => limit && `${limit.rate} per ${namePeriod(limit.period)}`, sortBy: ({ limit }) => limit?.rate },
  ];
  return (
    <>
      <div class="toolbar">
        <Heading title="Services" />
        <ButtonLink to={linkTo(['services', 'new'])} title="Register a service" />
        <ButtonLink to={linkTo(['import'])} title="Import a document" kind="main" />
      </div>
      <ReadTable
        label="Services"
        reading={reading}
        columns={columns}
        rows={reading.answer ?? []}
        keyOf={({ service_id }) => service_id}
        textOf={({ service_name, description }) => `${service_name} ${description}`}
        empty={
          <EmptyState title="No services yet">
            <p>Import a service's OpenAPI document so that agents can run its operations.</p>
          </EmptyState>
        }
      />
    </>
  );
}

const fields = fieldsOfRecord(serviceInput, {
  service_name: 'Name',
  service_url: { label: 'API URL', hint: 'For example https://api.example.com' },
  description: 'Description',
  policy_url: { label: 'Policy URL', isRare: true },
  service_logo_url: { label: 'Logo URL', isRare: true },
  service_terms_of_service_url: { label: 'Terms URL', isRare: true },
  service_privacy_policy_url: { label: 'Privacy URL', isRare: true },
  namespace: 'Namespace',
  'limit/rate': { label: 'Service-wide limit', hint: 'Calls by all agents together', required: false },
  'limit/period': { label: 'per … seconds', hint: 'For example 60', required: false },
  headers: { label: 'Headers sent with every call', hint: 'Public: put no secrets here', control: 'pairs', isRare: true },
});

export const NewService = () => (
  <>
    <Heading title="Register a service" />
    <p>
      If it has an OpenAPI document, <a href={linkTo(['import'])}>import the document</a> instead.
    </p>
    <RecordForm
      name="new service"
      fields={fields}
      record={{}}
      schema={serviceInput}
      isNew
      path="/api/services"
      command="services create -f -"
      onSaved={(answer) => go(linkTo(['services', (answer as SavedService).service_id]))}
    />
  </>
);

/** A service. If reading it again fails, the page keeps its content. */
export function ServiceView({ id, query }: { id: string; query: URLSearchParams }) {
  const path = `/api/services/${encodeURIComponent(id)}`;
  const reading = useRead<ShownService>(path, {}, 'admin');
  const about = useSectionsAbout();
  const sections = useContext(AdminSections);
  const { answer, error, reload } = reading;
  if (answer === undefined) {
    return (
      <>
        <Heading title="Service" />
        <Awaited reading={reading} />
      </>
    );
  }
  const { value: record, etag } = answer;
  const tab = query.get('tab') ?? 'operations';
  const suggested = suggestedFor(id);
  const added = about.map(({ path, title }) => [path, title]);
  const tabs = {
    operations: 'Operations',
    ...Object.fromEntries(added),
    credential: 'Credential',
    settings: 'Settings',
    history: 'History',
  };
  const { service_id: _, credential, ...input } = record;
  const paused = { ...input, paused: !record.paused };
  return (
    <article>
      <Way to={linkTo(['services'])} title="Services" />
      <div class="toolbar">
        <Heading title={record.service_name} />
        <ButtonLink to={linkTo(['services', id, 'new'])} title="New intent" />
      </div>
      <p>
        <LongText text={record.description} maxLength={200} /> {record.paused && <Badge tone="bad">paused</Badge>}{' '}
        {isCredentialMissing(id, credential) && (
          <a class="badge warn" href={linkTo(['services', id], { tab: 'credential' })}>
            credential missing
          </a>
        )}
      </p>
      <Failure error={error} retry={reload} />
      <Tabs label="Service" tabs={tabs} current={tab} linkOf={(name) => linkTo(['services', id], { tab: name })} />
      {tab === 'operations' && <Operations id={id} />}
      {about.map(({ path, About }) => path === tab && <About key={path} kind="service" id={id} />)}
      {/* hidden rather than unmounted, to keep what was typed */}
      <div hidden={tab !== 'credential'}>
        <Credential id={id} facts={credential} suggested={suggested} onChanged={reload} />
        {sections.map(
          ({ path, AboutCredential }) =>
            AboutCredential && <AboutCredential key={path} id={id} facts={credential} suggested={suggested} onChanged={reload} />,
        )}
      </div>
      {tab === 'history' && <Changes asked={{ id }} />}
      <div hidden={tab !== 'settings'}>
        <Part title="Settings">
          <RecordForm
            name={`service ${id}`}
            fields={fields}
            record={record}
            etag={etag}
            schema={serviceUpdate}
            path={path}
            command={`services update ${id} -f -`}
            onSaved={() => {
              showToast('The service is saved.');
              reload();
            }}
          />
        </Part>
        <Part title={record.paused ? 'Resume the service' : 'Pause the service'}>
          <p>Agents still find the operations of a paused service, but cannot run them.</p>
          <Act
            title={record.paused ? 'Resume' : 'Pause'}
            isDangerous={!record.paused}
            command={`services ${record.paused ? 'resume' : 'pause'} ${id}`}
            act={() => ask('PUT', path, { isAdmin: true, body: paused, headers: { 'If-Match': etag ?? '*' } })}
            onDone={reload}
          />
        </Part>
        <Part title="Delete the service">
          <p>This also deletes its operations and its credential.</p>
          <Act
            title="Delete the service"
            isDangerous
            command={`services delete ${id}`}
            act={() => ask('DELETE', path, { isAdmin: true })}
            onDone={() => go(linkTo(['services']))}
          />
        </Part>
      </div>
    </article>
  );
}

type Listed = IntentList['intents'][number];

function Operations({ id }: { id: string }) {
  const reading = useAll(`/api/services/${id}/intents`, ({ intents }: IntentList) => intents, 'admin');
  const added = useColumnsOf(({ intent_uid }: Listed) => intent_uid, 'intents', id);
  const columns: Column<Listed>[] = [
    {
      head: 'Operation',
      cell: ({ intent_uid, intent_name }) => (
        <span class="entry" title={`${intent_name}\n${intent_uid}`}>
          <Link to={linkTo(['intents', intent_uid])} text={intent_name} /> <small class="quiet">{intent_uid}</small>
        </span>
      ),
      sortBy: ({ intent_name }) => intent_name,
    },
    { head: 'Method', cell: ({ method }) => method && <MethodBadge method={method} />, sortBy: ({ method }) => method },
    { head: 'Path', cell: ({ url }) => url && <code>{pathOf(url)}</code>, sortBy: ({ url }) => url && pathOf(url) },
    {
      head: 'Status',
      cell: ({ deprecated, draft }) => (
        <>
          {deprecated && <Badge tone="warn">deprecated</Badge>} {draft && <Badge>draft</Badge>}
        </>
      ),
      sortBy: ({ deprecated, draft }) => (draft ? 'draft' : deprecated ? 'deprecated' : undefined),
    },
    ...added,
  ];
  return (
    <ReadTable
      label="Operations"
      reading={reading}
      columns={columns}
      rows={reading.answer ?? []}
      keyOf={({ intent_uid }) => intent_uid}
      textOf={({ intent_uid, intent_name, method, url }) => `${intent_name} ${intent_uid} ${method} ${url}`}
      empty={
        <EmptyState title="This service has no operations yet">
          <Way to={linkTo(['import'])} title="Import a document" />
        </EmptyState>
      }
    />
  );
}
