import { render } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Calls } from './calls.tsx';
import { Catalogue, useSearchKey } from './catalogue.tsx';
import { Icon } from './components/icon.tsx';
import { Heading } from './components/text.tsx';
import { Toasts } from './components/toast.tsx';
import { Consent } from './consent.tsx';
import { deployment } from './deployment.ts';
import { features } from './features.ts';
import { IntentView } from './intent.tsx';
import { PolicyView } from './policy.tsx';
import { ReferenceView } from './reference.tsx';
import { linkTo, type Route, useRoute } from './route.ts';
import { finishSignIn, session } from './session.ts';
import { Account, ForAdmins, SignInNotice } from './signed-in.tsx';
import { useStore } from './store.ts';

/** Titles of the sections, by the first segment of their route. */
const sections = {
  '': 'Catalogue',
  policy: 'Policy',
  calls: 'Your calls',
  ...Object.fromEntries(features.map(({ path, title }) => [path, title])),
  reference: 'API reference',
};
const adminSections = { services: 'Services', approvals: 'Approvals', agents: 'Agents', usage: 'Usage', history: 'History' };
const forAdmins = ['import', ...Object.keys(adminSections)];

/** The frame of every view: a sidebar with navigation, or a bar with a menu on small screens. */
function Page() {
  const route = useRoute();
  useSearchKey();
  const isAdmin = useStore(session) !== undefined;
  const main = useRef<HTMLElement>(null);
  const [isOpen, setOpen] = useState(false);
  const current = route.path[0] ?? '';
  useEffect(() => setOpen(false), [current]);
  const linksTo = (titles: Record<string, string>) =>
    Object.entries(titles).map(([name, title]) => (
      <a key={name} href={`#/${name}`} aria-current={name === current ? 'page' : undefined} onClick={() => setOpen(false)}>
        {title}
      </a>
    ));
  return (
    <div class="app">
      <button type="button" class="skip" onClick={() => main.current?.querySelector<HTMLElement>('h1')?.focus()}>
        Skip to the content
      </button>
      <header class={isOpen ? 'sidebar open' : 'sidebar'}>
        <a class="name" href={linkTo([])}>
          <Icon name="gate" /> Intent Gate
        </a>
        <button type="button" class="menu plain" aria-expanded={isOpen} aria-controls="sections" onClick={() => setOpen(!isOpen)}>
          <Icon name="menu" /> Menu
        </button>
        <nav id="sections" aria-label="Sections">
          {linksTo(sections)}
          {isAdmin && (
            <>
              <p>Manage</p>
              {linksTo(adminSections)}
            </>
          )}
        </nav>
        <div class="account">
          <Account />
        </div>
      </header>
      <main ref={main}>
        <SignInNotice />
        <View {...route} />
      </main>
      <footer>
        <p>
          For programs: <a href="openapi.json">OpenAPI document</a>, <a href="agents.json">description for agents</a>. For MCP hosts:{' '}
          <code>{deployment.publicUrl}/mcp</code>
          {deployment.offersSignIn && (
            <>
              , or <code>{deployment.publicUrl}/mcp/sign-in</code> if the host signs people in
            </>
          )}
          .
        </p>
      </footer>
      <Toasts />
      <Consent />
    </div>
  );
}

function View({ path, query }: Route) {
  const [first, second, third] = path;
  const feature = features.find((one) => one.path === first);
  if (feature) return <feature.View path={path} query={query} />;
  if (first === undefined) return <Catalogue query={query} />;
  if (forAdmins.includes(first) || (first === 'intents' && third === 'edit')) return <ForAdmins path={path} query={query} />;
  if (first === 'intents' && second !== undefined) return <IntentView key={second} uid={second} query={query} />;
  if (first === 'policy') return <PolicyView query={query} />;
  if (first === 'calls') return <Calls />;
  if (first === 'reference') return <ReferenceView selected={second ?? ''} />;
  return (
    <>
      <Heading title="Not found">Page not found</Heading>
      <p>
        <a href={linkTo([])}>Go to the catalogue</a>
      </p>
    </>
  );
}

const root = document.getElementById('console');
if (root) {
  await finishSignIn();
  root.replaceChildren();
  render(<Page />, root);
}
