import { useState } from 'preact/hooks';
import { Badge } from './components/badge.tsx';
import { Button } from './components/button.tsx';
import { Part } from './components/heading.tsx';
import { Failure } from './components/states.tsx';
import { Shown } from './components/text.tsx';
import { linkTo } from './route.ts';
import type { ServiceList } from './wire.ts';

/** Number of cards shown at first. */
const firstCards = 12;

/** Cards of services, without logos, because the page loads nothing from third-party servers. */
export function ServiceCards({ services, error }: { services: ServiceList['services']; error: unknown }) {
  const [isAll, setAll] = useState(false);
  if (services.length === 0) return <Failure error={error} />;
  return (
    <Part title={`Services (${services.length})`}>
      <ul class="cards">
        {services.slice(0, isAll ? undefined : firstCards).map(({ service_id, service_name, description, intents, paused }) => (
          <li key={service_id}>
            <h3>
              <a href={linkTo([], { service: service_name })}>
                <Shown text={service_name} />
              </a>{' '}
              {paused && <Badge tone="bad">paused</Badge>}
            </h3>
            <p class="brief">
              <Shown text={description} />
            </p>
            <p class="quiet">
              {intents} {intents === 1 ? 'operation' : 'operations'}
            </p>
          </li>
        ))}
      </ul>
      {!isAll && services.length > firstCards && (
        <p>
          <Button title={`Show all ${services.length} services`} onClick={() => setAll(true)} />
        </p>
      )}
    </Part>
  );
}
