import type { Route } from '../route.ts';
import { type AdminSection, AdminSections } from '../section.ts';
import { Executions } from './executions.tsx';
import { featureViews } from './features.ts';
import { ChangeView, History } from './history.tsx';
import { Import } from './import.tsx';
import { EditIntent, NewIntent } from './intents.tsx';
import { Overview } from './overview.tsx';
import { EditPolicy } from './policy.tsx';
import { NewService, Services, ServiceView } from './services.tsx';

const sections: readonly AdminSection[] = [
  { path: 'overview', View: Overview },
  {
    path: 'services',
    View({ path: [, id, third], query }) {
      if (id === undefined) return <Services />;
      if (id === 'new') return <NewService />;
      return third === 'new' ? <NewIntent serviceId={id} /> : <ServiceView key={id} id={id} query={query} />;
    },
  },
  { path: 'intents', View: ({ path: [, uid = ''] }) => <EditIntent key={uid} uid={uid} /> },
  { path: 'import', View: Import },
  { path: 'executions', View: Executions },
  {
    path: 'history',
    View: ({ path: [, seq], query }) => (seq === undefined ? <History query={query} /> : <ChangeView key={seq} seq={seq} />),
  },
  { path: 'policy', View: EditPolicy },
  ...featureViews,
];

/** The view of a section for admins. */
export function AdminView(route: Route) {
  const section = sections.find(({ path }) => path === route.path[0]);
  return <AdminSections.Provider value={sections}>{section?.View && <section.View {...route} />}</AdminSections.Provider>;
}
