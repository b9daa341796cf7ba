import type { ServiceList } from '../../../schemas/service.ts';
import type { Stats } from '../../../schemas/stats.ts';
import { Awaited, EmptyState } from '../components/states.tsx';
import { type Column, DataTable } from '../components/table.tsx';
import { Badge, Heading, Link, Time } from '../components/text.tsx';
import { useRead, useServices } from '../gate.ts';
import { linkTo } from '../route.ts';

type Service = ServiceList['services'][number];

/** All services, for admins. */
export function Services() {
  const reading = useServices('admin');
  const services = reading.answer;
  const stats = useRead<Stats>('/api/stats', { period: 'day' }, 'admin').answer?.value.services;
  const used = new Map(stats?.map((own) => [own.service_id, own]));
  const callsOf = ({ service_id }: Service) => used.get(service_id)?.executions ?? 0;
  const failuresOf = ({ service_id }: Service) => used.get(service_id)?.upstream_failures ?? 0;
  const lastOf = ({ service_id }: Service) => used.get(service_id)?.last_failure;
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
    { head: 'Calls in a day', cell: callsOf, sortBy: callsOf, isNumber: true },
    { head: 'Failures', cell: failuresOf, sortBy: failuresOf, isNumber: true },
    {
      head: 'Last failure',
      cell: (service) => {
        const last = lastOf(service);
        return (
          last && (
            <>
              <Time at={last.at} /> {last.code}
            </>
          )
        );
      },
      sortBy: (service) => lastOf(service)?.at,
    },
    {
      head: 'Credential',
      cell: ({ credential }) => (credential === undefined ? '' : credential === null ? 'none' : 'set'),
      sortBy: ({ credential }) => Number(Boolean(credential)),
    },
    { head: 'Limit', cell: ({ limit }) => limit && `${limit.rate} in ${limit.period} s`, sortBy: ({ limit }) => limit?.rate },
  ];
  return (
    <>
      <Heading title="Services" />
      <Awaited reading={reading} />
      {services && (
        <DataTable
          label="Services"
          columns={columns}
          rows={services}
          keyOf={({ service_id }) => service_id}
          textOf={({ service_name, description }) => `${service_name} ${description}`}
          tools={
            <>
              <a class="button main" href={linkTo(['import'])}>
                Import a document
              </a>
              <a class="button" href={linkTo(['services', 'new'])}>
                Register a service
              </a>
            </>
          }
          empty={
            <EmptyState title="No services yet">
              <p>Import a service's OpenAPI document so that agents can run its operations.</p>
            </EmptyState>
          }
        />
      )}
    </>
  );
}
