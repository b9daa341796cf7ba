import { Agents, AgentView } from '../agents/agents.tsx';
import { Approvals, ApprovalView } from '../approvals/approvals.tsx';
import type { Route } from '../route.ts';
import { PolicyOnTrial } from '../trial/policy-trial.tsx';
import { Usage } from '../usage/usage.tsx';
import { ChangeView, History } from './history.tsx';
import { Import } from './import.tsx';
import { EditIntent, NewIntent } from './intents.tsx';
import { NewService, Services, ServiceView } from './services.tsx';

export function ConsoleView({ path: [first, second = '', third], query }: Route) {
  if (first === 'intents') return <EditIntent key={second} uid={second} />;
  if (first === 'import') return <Import />;
  if (first === 'services' && third === 'new') return <NewIntent serviceId={second} />;
  if (first === 'services' && second === 'new') return <NewService />;
  if (first === 'services') return second === '' ? <Services /> : <ServiceView key={second} id={second} query={query} />;
  if (first === 'agents')
    return second === '' ? (
      <Agents query={query} />
    ) : (
      <AgentView key={`${second} ${query.get('key')}`} id={second} thumbprint={query.get('key') ?? undefined} />
    );
  if (first === 'approvals') return second === '' ? <Approvals query={query} /> : <ApprovalView key={second} id={second} />;
  if (first === 'policy') return <PolicyOnTrial query={query} />;
  if (first === 'history') return second === '' ? <History query={query} /> : <ChangeView key={second} seq={second} />;
  return <Usage query={query} />;
}
